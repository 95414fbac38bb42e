//! A submission: the program that a client sent, checked once.

use std::sync::Arc;

use crate::file::{BadPath, check_paths};
use crate::{Language, Plan, SourceFile};

/// A checked submission. Its fields are private, so that no unchecked one
/// reaches the engine.
#[derive(Clone, Debug)]
pub struct Submission {
    language: Arc<Language>,
    entry_file: String,
    files: Vec<SourceFile>,
    stdin: String,
    args: Vec<String>,
}

/// Why a submission was refused; the text is for the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubmissionError {
    /// No language has this id or alias.
    #[error(
        "unknown language {given}: the nearest is {nearest:?}; \
         the languages are {known}"
    )]
    UnknownLanguage {
        /// The value in the request, fit to be shown.
        given: String,
        /// The most similar id.
        nearest: String,
        /// Every id.
        known: String,
    },
    /// A path that no file may have.
    #[error("path {path} {fault}")]
    BadPath {
        /// The path, fit to be shown.
        path: String,
        /// The end of a sentence that begins with the path.
        fault: &'static str,
    },
    /// The entry file is not among the files.
    #[error("entryFile {entry_file} is not one of the files")]
    NoEntryFile {
        /// The value in the request, fit to be shown.
        entry_file: String,
    },
    /// There are arguments, and the language's programs take none.
    #[error("language {language} takes no args")]
    TakesNoArgs {
        /// The language's id.
        language: String,
    },
    /// Arguments that no program can get.
    #[error("args {fault}")]
    BadArgs {
        /// The end of a sentence that begins with args.
        fault: &'static str,
    },
}

/// Maximum number of arguments of a program.
pub const MAX_ARGS: usize = 64;
/// Maximum bytes of one argument.
pub const MAX_ARG_BYTES: usize = 4 << 10;
/// Maximum bytes of all arguments together.
pub const MAX_ARGS_BYTES: usize = 32 << 10;

impl Submission {
    /// Checks the paths, then the entry file, then the arguments.
    pub(crate) fn check(
        language: Arc<Language>,
        entry_file: String,
        files: Vec<SourceFile>,
        stdin: String,
        args: Vec<String>,
    ) -> Result<Self, SubmissionError> {
        check_paths(&files).map_err(|BadPath { path, fault }| {
            SubmissionError::BadPath { path: shown(path), fault }
        })?;
        if !files.iter().any(|file| file.path == entry_file) {
            let entry_file = shown(&entry_file);
            return Err(SubmissionError::NoEntryFile { entry_file });
        }
        check_args(&language, &args)?;
        Ok(Self { language, entry_file, files, stdin, args })
    }

    /// Returns the language.
    pub fn language(&self) -> &Language {
        &self.language
    }

    /// Returns the path of the file to run: one of the files.
    pub fn entry_file(&self) -> &str {
        &self.entry_file
    }

    /// Returns every file, in the order given.
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// Returns the standard input that the client sent. A plan leaves it out if
    /// the language takes none.
    pub fn stdin(&self) -> &str {
        &self.stdin
    }

    /// Returns the arguments of the program.
    pub fn args(&self) -> &[String] {
        &self.args
    }

    /// Returns the steps that run this submission.
    pub fn plan(&self) -> Plan {
        let mut plan = self.language.plan(&self.entry_file, &self.files);
        if self.language.takes_stdin() {
            self.stdin.clone_into(&mut plan.stdin);
        }
        self.args.clone_into(&mut plan.args);
        plan
    }
}

fn check_args(
    language: &Language,
    args: &[String],
) -> Result<(), SubmissionError> {
    if !args.is_empty() && !language.takes_args() {
        let language = language.id().to_owned();
        return Err(SubmissionError::TakesNoArgs { language });
    }
    let fault = if args.len() > MAX_ARGS {
        "must be at most 64 strings"
    } else if args.iter().any(|arg| arg.contains('\0')) {
        "must not hold a NUL character"
    } else if args.iter().any(|arg| arg.len() > MAX_ARG_BYTES) {
        "must have at most 4096 bytes each"
    } else if args.iter().map(String::len).sum::<usize>() > MAX_ARGS_BYTES {
        "must have at most 32768 bytes together"
    } else {
        return Ok(());
    };
    Err(SubmissionError::BadArgs { fault })
}

/// Returns a client's text, fit for a message: quoted, on one line, and cut
/// after 80 characters.
pub(crate) fn shown(text: &str) -> String {
    const MAX: usize = 80;
    match text.char_indices().nth(MAX) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}", format!("{}…", &text[..end])),
    }
}
