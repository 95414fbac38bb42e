//! One program and what is expected of it.

use serde_json::json;

/// A program to send.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    language: &'static str,
    files: Vec<(String, String)>,
    stdin: String,
}

/// The answer of a server.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    /// The `Sandpiper-Exit` header.
    pub(crate) exit: String,
    /// The `Server-Timing` header.
    pub(crate) timing: String,
}

impl Case {
    /// A program of these files, the first of which is the entry.
    pub(crate) fn new(language: &'static str, files: &[(&str, &str)]) -> Self {
        let files = files
            .iter()
            .map(|&(path, content)| (path.to_owned(), content.to_owned()))
            .collect();
        Self { language, files, stdin: String::new() }
    }

    pub(crate) fn stdin(mut self, stdin: &str) -> Self {
        stdin.clone_into(&mut self.stdin);
        self
    }

    pub(crate) fn request(&self) -> serde_json::Value {
        let files: Vec<_> = self
            .files
            .iter()
            .map(|(path, content)| json!({"path": path, "content": content}))
            .collect();
        json!({
            "language": self.language,
            "entryFile": self.files[0].0,
            "files": files,
            "stdin": self.stdin,
        })
    }
}

impl Answer {
    /// Exactly this output, nothing on stderr, exit code 0.
    pub(crate) fn prints(&self, stdout: &str) {
        assert_eq!(self.stdout, stdout, "{self:?}");
        assert_eq!(self.stderr, "", "{self:?}");
        assert_eq!(self.exit, "stage=run; code=0", "{self:?}");
    }
}
