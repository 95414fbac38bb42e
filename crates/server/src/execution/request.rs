//! Requests as they stand on the wire, and nothing else: that of `/api/compile`,
//! and the parts that `/api/run` shares with it.

use sandpiper_engine::languages::SourceFile;
use schemars::JsonSchema;
use serde::de::IgnoredAny;
use serde_json::value::RawValue;

use crate::http::json_fields;
use crate::limits::COMPILE_FILES;

/// A request whose fields are all present and of their types, but not yet
/// checked for sense.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct CompileRequest {
    /// In any letter case.
    #[schemars(example = &"python")]
    pub(crate) language: String,
    /// One of the paths in files.
    #[schemars(example = &"main.py")]
    pub(crate) entry_file: String,
    /// At least one, at most 200.
    #[schemars(with = "Vec<File>", length(min = 1, max = COMPILE_FILES))]
    pub(crate) files: Vec<SourceFile>,
    /// Standard input of the run.
    #[schemars(default)]
    pub(crate) stdin: String,
}

/// A file of a submission.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes what is read into a SourceFile")]
struct File {
    /// Relative, at most 1,024 bytes.
    #[schemars(example = &"main.py")]
    path: String,
    /// The whole text.
    #[schemars(example = &"print(1)")]
    content: String,
}

/// A mistake in a request. The text is for the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum RequestError {
    #[error("invalid JSON body")]
    NotAnObject,
    #[error("a submission must not have more than {COMPILE_FILES} files")]
    TooManyFiles,
    #[error("files must hold at least one file")]
    NoFiles,
    #[error("{field} is at most {max}")]
    AboveLimit { field: &'static str, max: u64 },
    #[error("artifacts are off on this server")]
    ArtifactsOff,
    #[error("interactive needs Accept: text/event-stream")]
    NeedsEvents,
    #[error("language {language} takes no input")]
    TakesNoInput { language: String },
    #[error("live runs are off on this server")]
    LiveOff,
    #[error("{field} is missing; it must be {expected}")]
    Missing { field: String, expected: &'static str },
    #[error("{field} must be {expected}")]
    WrongType { field: String, expected: &'static str },
}

pub(super) const STRING: &str = "a string";
pub(super) const FILES: &str = "an array of objects with path and content";
pub(super) const FILE: &str = "an object with path and content";

impl CompileRequest {
    /// Reads a body. A key that comes twice counts as it came last, but must
    /// have the right type each time.
    pub(crate) fn parse(text: &str) -> Result<Self, RequestError> {
        let names = ["language", "entryFile", "files", "stdin"];
        let [language, entry_file, files, stdin] =
            json_fields(text, names).ok_or(RequestError::NotAnObject)?;
        check_count(&files)?;
        let language = required("language", STRING, &language, string)?;
        let entry_file = required("entryFile", STRING, &entry_file, string)?;
        let files = required("files", FILES, &files, |field, raw| {
            source_files(field, raw, text_file)
        })?;
        let stdin = last("stdin", &stdin, string)?.unwrap_or_default();
        Ok(Self { language, entry_file, files, stdin })
    }
}

/// Returns the last of `occurrences`, when all of them can be read.
pub(super) fn last<T>(
    field: &str,
    occurrences: &[&RawValue],
    read: impl Fn(&str, &RawValue) -> Result<T, RequestError>,
) -> Result<Option<T>, RequestError> {
    let mut value = None;
    for raw in occurrences {
        value = Some(read(field, raw)?);
    }
    Ok(value)
}

pub(super) fn required<T>(
    field: &str,
    expected: &'static str,
    occurrences: &[&RawValue],
    read: impl Fn(&str, &RawValue) -> Result<T, RequestError>,
) -> Result<T, RequestError> {
    last(field, occurrences, read)?.ok_or_else(|| RequestError::Missing {
        field: field.to_owned(),
        expected,
    })
}

pub(super) fn string(
    field: &str,
    raw: &RawValue,
) -> Result<String, RequestError> {
    serde_json::from_str(raw.get()).map_err(|_| wrong_type(field, STRING))
}

/// Reads the list of files, each with `read`.
pub(super) fn source_files(
    field: &str,
    raw: &RawValue,
    read: impl Fn(&str, &RawValue) -> Result<SourceFile, RequestError>,
) -> Result<Vec<SourceFile>, RequestError> {
    let files: Vec<&RawValue> = serde_json::from_str(raw.get())
        .map_err(|_| wrong_type(field, FILES))?;
    if files.is_empty() {
        return Err(RequestError::NoFiles);
    }
    let files = files.iter().enumerate();
    files.map(|(index, raw)| read(&format!("{field}[{index}]"), raw)).collect()
}

fn text_file(field: &str, raw: &RawValue) -> Result<SourceFile, RequestError> {
    let [path, content] = json_fields(raw.get(), ["path", "content"])
        .ok_or_else(|| wrong_type(field, FILE))?;
    let path = required(&format!("{field}.path"), STRING, &path, string)?;
    let content =
        required(&format!("{field}.content"), STRING, &content, string)?;
    Ok(SourceFile { path, content: content.into() })
}

pub(super) fn wrong_type(field: &str, expected: &'static str) -> RequestError {
    RequestError::WrongType { field: field.to_owned(), expected }
}

/// Refuses a list of more files than a request may have.
pub(super) fn check_count(files: &[&RawValue]) -> Result<(), RequestError> {
    if files.iter().any(|raw| count(raw) > COMPILE_FILES) {
        return Err(RequestError::TooManyFiles);
    }
    Ok(())
}

/// Returns the number of elements of an array, and 0 if it is no array.
fn count(raw: &RawValue) -> usize {
    serde_json::from_str::<Vec<IgnoredAny>>(raw.get())
        .map_or(0, |elements| elements.len())
}

#[cfg(test)]
#[path = "request_tests.rs"]
mod tests;
