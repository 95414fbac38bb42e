//! Entry points for the targets in `fuzz/`, for all that clients send.

use bytes::Bytes;
use http::Request;
pub use http::Version;
use sandpiper_engine::languages::SourceFile;

use crate::execution::CompileRequest;
use crate::http::{HeadRecorder, json_text};

/// The parts of a body of `/api/compile`, not yet checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parts {
    /// In any letter case.
    pub language: String,
    /// One of the paths, or not.
    pub entry_file: String,
    /// The files, in their order.
    pub files: Vec<SourceFile>,
    /// Empty if there is none.
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

/// The heads of a connection, as they are checked before they are answered.
#[derive(Debug, Default)]
pub struct Heads(HeadRecorder);

impl Heads {
    /// Takes bytes that hyper receives.
    pub fn record(&mut self, received: &[u8]) {
        self.0.record(received);
    }

    /// Takes a head that hyper has read, with the length of its body. Returns
    /// whether all of the body was received, and `None` if it is refused.
    pub fn take(
        &mut self,
        version: Version,
        headers: &[(&str, &[u8])],
        body_bytes: Option<u64>,
    ) -> Option<bool> {
        let mut request = Request::builder().version(version);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let (head, ()) = request.body(()).ok()?.into_parts();
        self.0.take(&head, body_bytes).ok()
    }
}
