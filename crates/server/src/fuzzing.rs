//! Entry points for the targets in `fuzz/`, for all that clients send.

use bytes::Bytes;
use http::Request;
pub use http::Version;
pub use sandpiper_engine::OutputStream;
use sandpiper_engine::RunOptions;
use sandpiper_engine::languages::SourceFile;

use crate::execution::{CompileRequest, InputRequest, OutputText, RunRequest};
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

/// The parts of a body of `/api/run`, not yet checked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunParts {
    /// Those that a body of `/api/compile` has.
    pub parts: Parts,
    /// Arguments of the program.
    pub args: Vec<String>,
    /// Limits, and the files to return.
    pub options: RunOptions,
    /// Whether input may come while the program runs.
    pub interactive: bool,
}

/// Reads a body of `/api/run`, of a server that returns a byte of artifacts.
pub fn run_request(body: &[u8]) -> Option<RunParts> {
    let request = RunRequest::parse(&json_text(body)?).ok()?;
    let options = request.options(1).ok()?;
    let RunRequest { language, entry_file, files, stdin, .. } = request;
    let RunRequest { args, interactive, .. } = request;
    let parts = Parts { language, entry_file, files, stdin };
    Some(RunParts { parts, args, options, interactive })
}

/// Returns the text in a body that sends input to a run, and whether that ends
/// there.
pub fn input_request(body: &[u8]) -> Option<(String, bool)> {
    let request = InputRequest::parse(&json_text(body)?).ok()?;
    Some((request.text, request.end))
}

/// The output of a run as events.
#[derive(Debug, Default)]
pub struct OutputEvents(OutputText);

impl OutputEvents {
    /// Returns the events for further bytes.
    pub fn push(&mut self, stream: OutputStream, bytes: &[u8]) -> Vec<u8> {
        self.0.push(stream, bytes)
    }

    /// Returns the events for the last bytes.
    pub fn finish(&mut self, stream: OutputStream, bytes: &[u8]) -> Vec<u8> {
        let bytes = bytes.to_vec();
        let last = sandpiper_engine::Output { bytes, ..Default::default() };
        self.0.finish(stream, &last)
    }
}

/// Returns the text in which a body of JSON is read.
pub fn text(body: &[u8]) -> Option<String> {
    Some(json_text(body)?.into_owned())
}

/// Returns the name and the price of a product's body, and the answer to a PUT
/// of it.
pub fn product(body: &[u8]) -> Option<(String, f64, Bytes)> {
    crate::products::accepted(body)
}

/// The heads of a connection's requests, as they are checked before an answer.
#[derive(Debug, Default)]
pub struct RequestHeads(HeadRecorder);

impl RequestHeads {
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
