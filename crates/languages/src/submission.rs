//! A submission: what a client wants to run, checked once.

use std::sync::Arc;

use crate::{Catalog, Language, path};

/// One submitted file.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
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
    language: Arc<Language>,
    entry_file: String,
    files: Vec<SourceFile>,
    stdin: String,
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
        /// What was asked for, fit to be shown.
        given: String,
        /// The id that looks most like it.
        nearest: String,
        /// Every id.
        known: String,
    },
    /// A path that no file may have.
    #[error("path {path} {fault}")]
    BadPath {
        /// The path, fit to be shown.
        path: String,
        /// What is wrong with it.
        fault: &'static str,
    },
    /// The entry file is not among the files.
    #[error("entryFile {entry_file} is not one of the files")]
    NoEntryFile {
        /// What was asked for, fit to be shown.
        entry_file: String,
    },
}

impl Submission {
    /// Checks the parts of a submission, in this order: the language, the
    /// paths, the entry file.
    ///
    /// # Errors
    /// The first part that is wrong.
    pub fn check(
        catalog: &Catalog,
        language: &str,
        entry_file: String,
        files: Vec<SourceFile>,
        stdin: String,
    ) -> Result<Self, SubmissionError> {
        let Some(found) = catalog.find_shared(language) else {
            return Err(unknown_language(catalog, language));
        };
        Self::in_language(found, entry_file, files, stdin)
    }

    /// The language.
    pub fn language(&self) -> &Language {
        &self.language
    }

    /// The path of the file to run: one of the files.
    pub fn entry_file(&self) -> &str {
        &self.entry_file
    }

    /// Every file, in the order given.
    pub fn files(&self) -> &[SourceFile] {
        &self.files
    }

    /// What the client sent as standard input; a plan leaves it out where the
    /// language takes none.
    pub fn stdin(&self) -> &str {
        &self.stdin
    }

    /// The checks that follow the language's.
    pub(crate) fn in_language(
        language: Arc<Language>,
        entry_file: String,
        files: Vec<SourceFile>,
        stdin: String,
    ) -> Result<Self, SubmissionError> {
        path::check_all(&files)?;
        if !files.iter().any(|file| file.path == entry_file) {
            let entry_file = shown(&entry_file);
            return Err(SubmissionError::NoEntryFile { entry_file });
        }
        Ok(Self { language, entry_file, files, stdin })
    }
}

impl SubmissionError {
    pub(crate) fn path(path: &str, fault: &'static str) -> Self {
        Self::BadPath { path: shown(path), fault }
    }
}

fn unknown_language(catalog: &Catalog, given: &str) -> SubmissionError {
    let known: Vec<&str> = catalog.languages().map(Language::id).collect();
    SubmissionError::UnknownLanguage {
        given: shown(given),
        nearest: catalog
            .nearest(given)
            .map(|language| language.id().to_owned())
            .unwrap_or_default(),
        known: known.join(", "),
    }
}

/// What a client sent, fit for a message: quoted, on one line, whatever it
/// holds, and not longer than a reader wants.
fn shown(text: &str) -> String {
    const LONGEST: usize = 80;
    match text.char_indices().nth(LONGEST) {
        None => format!("{text:?}"),
        Some((end, _)) => format!("{:?}", format!("{}…", &text[..end])),
    }
}
