//! One program and what is expected of it.

use serde_json::json;

use crate::service;

/// A program to send.
#[derive(Clone, Debug)]
pub(crate) struct Case {
    language: &'static str,
    files: Vec<(String, String)>,
    stdin: String,
}

/// What came back.
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

/// Runs a program on the shared service.
pub(crate) fn run(case: &Case) -> Answer {
    service::compile(service::shared(), &case.request())
}

impl Answer {
    /// Exactly this output, nothing on stderr, exit code 0.
    pub(crate) fn prints(&self, stdout: &str) -> &Self {
        assert_eq!(self.stdout, stdout, "{self:?}");
        assert_eq!(self.stderr, "", "{self:?}");
        self.ends("stage=run; code=0")
    }

    /// Exactly this on stdout.
    pub(crate) fn stdout(&self, stdout: &str) -> &Self {
        assert_eq!(self.stdout, stdout, "{self:?}");
        self
    }

    /// Exactly this on stderr.
    pub(crate) fn stderr(&self, stderr: &str) -> &Self {
        assert_eq!(self.stderr, stderr, "{self:?}");
        self
    }

    /// This as the last line of stderr.
    pub(crate) fn stderr_ends(&self, line: &str) -> &Self {
        let last = self.stderr.lines().last();
        assert_eq!(last, Some(line), "{self:?}");
        assert!(self.stderr.ends_with('\n'), "{self:?}");
        self
    }

    /// This value of `Sandpiper-Exit`.
    pub(crate) fn ends(&self, exit: &str) -> &Self {
        assert_eq!(self.exit, exit, "{self:?}");
        self
    }
}
