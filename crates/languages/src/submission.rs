//! A submission: what a client wants to run, checked once.

/// One submitted file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceFile {
    /// Relative path, with `/` between its segments.
    pub path: String,
    /// The whole text.
    pub content: String,
}

/// A checked submission; its fields are private so that nothing unchecked
/// reaches the engine.
#[derive(Clone, Debug)]
pub struct Submission {
    language: String,
    entry_file: String,
    files: Vec<SourceFile>,
    stdin: String,
}

/// Why a submission was refused; the text is for the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct SubmissionError {
    message: String,
}
