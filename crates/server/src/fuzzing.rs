//! Doors for the targets in `fuzz/`: what clients send.

use bytes::Bytes;
use sandpiper_engine::languages::SourceFile;

use crate::compile::CompileRequest;
use crate::http::{Heads, json_text};

/// What a body of `/api/compile` asks for, not yet checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// In any letter case.
    pub language: String,
    /// One of the paths, or not.
    pub entry_file: String,
    /// The files, in their order.
    pub files: Vec<SourceFile>,
    /// Empty where there is none.
    pub stdin: String,
}

/// Reads a body of `/api/compile`.
pub fn compile_request(body: &[u8]) -> Option<Parts> {
    let request = CompileRequest::parse(&json_text(body)?).ok()?;
    let CompileRequest { language, entry_file, files, stdin } = request;
    Some(Parts { language, entry_file, files, stdin })
}

/// The text in which a body of JSON is read.
pub fn text(body: &[u8]) -> Option<String> {
    Some(json_text(body)?.into_owned())
}

/// The name and the price of a product's body, and the answer to a PUT of it.
pub fn product(body: &[u8]) -> Option<(String, f64, Bytes)> {
    crate::products::accepted(&Bytes::copy_from_slice(body))
}

/// What hyper reads of a connection whose bytes come in pieces of this size.
/// What it reads behind a refused head is left out.
pub fn heads(bytes: &[u8], size: usize) -> Vec<u8> {
    let mut heads = Heads::new();
    let mut read = bytes.to_vec();
    for piece in read.chunks_mut(size) {
        heads.read(piece);
    }
    read
}
