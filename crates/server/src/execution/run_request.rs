//! The request of `/api/run` as it stands on the wire.

use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sandpiper_engine::languages::{MAX_ARG_BYTES, MAX_ARGS, SourceFile};
use sandpiper_engine::limits::MIB;
use sandpiper_engine::{FilesWanted, Limits, LowerLimits, RunOptions};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::value::RawValue;

use super::request::{
    CompileRequest, FILE, FILES, RequestError, STRING, check_count, last,
    required, source_files, string, wrong_type,
};
use crate::http::json_fields;
use crate::limits::{ARTIFACT_PATTERN_BYTES, ARTIFACT_PATTERNS, COMPILE_FILES};

/// A request whose fields are all present and of their types, but not yet
/// checked for sense.
#[derive(Clone, Debug, PartialEq, Eq, JsonSchema)]
#[schemars(rename_all = "camelCase")]
pub(crate) struct RunRequest {
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
    /// Arguments of the program, of at most 32,768 bytes together.
    #[schemars(
        default,
        length(max = MAX_ARGS),
        inner(length(max = MAX_ARG_BYTES))
    )]
    pub(crate) args: Vec<String>,
    /// Limits below the server's.
    #[schemars(default)]
    pub(crate) limits: RequestedLimits,
    /// The files to return.
    #[schemars(
        with = "Artifacts",
        default,
        skip_serializing_if = "Option::is_none"
    )]
    pub(crate) artifacts: Option<Vec<String>>,
    /// Return the messages of a compile step that succeeds.
    #[schemars(default)]
    pub(crate) warnings: bool,
    /// Whether input may come while the program runs. Needs `Accept:
    /// text/event-stream`.
    #[schemars(default)]
    pub(crate) interactive: bool,
    /// The place of the framework that a document contains.
    #[schemars(default)]
    pub(crate) framework: FrameworkPlace,
}

/// A file of a submission.
#[derive(JsonSchema)]
#[expect(dead_code, reason = "describes what is read into a SourceFile")]
struct File {
    /// Relative, at most 1,024 bytes.
    #[schemars(example = &"main.py")]
    path: String,
    /// The whole file.
    #[schemars(example = &"print(1)")]
    content: String,
    /// The encoding of content.
    #[schemars(default)]
    encoding: Encoding,
}

/// The encoding of a file's content.
#[derive(Clone, Copy, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Encoding {
    /// Text.
    #[default]
    Utf8,
    /// Any bytes, as RFC 4648 encodes them, with padding.
    Base64,
}

/// The place of the framework that a document contains.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub(crate) enum FrameworkPlace {
    /// In the document.
    #[default]
    Inline,
    /// At an address of its own, which an event stream names in its place.
    External,
}

/// Limits of the run step. Each is an integer from 1 to the server's own limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, JsonSchema)]
#[serde(default)]
pub(crate) struct RequestedLimits {
    /// Wall clock in milliseconds.
    #[schemars(
        with = "u64",
        range(min = 1),
        skip_serializing_if = "Option::is_none"
    )]
    wall_ms: Option<u64>,
    /// CPU time of all processes in milliseconds.
    #[schemars(
        with = "u64",
        range(min = 1),
        skip_serializing_if = "Option::is_none"
    )]
    cpu_ms: Option<u64>,
    /// stdout and stderr, each, in KiB.
    #[schemars(
        with = "u64",
        range(min = 1),
        skip_serializing_if = "Option::is_none"
    )]
    output_kib: Option<u64>,
    /// Memory in MiB. The run starts in a new box.
    #[schemars(
        with = "u64",
        range(min = 1),
        skip_serializing_if = "Option::is_none"
    )]
    memory_mib: Option<u64>,
}

/// The files to return: none, all that are new or changed, or those whose paths
/// match.
#[derive(JsonSchema)]
#[serde(untagged)]
#[expect(dead_code, reason = "describes what is read into a list")]
enum Artifacts {
    All(bool),
    Matching {
        /// At most 16 patterns of at most 256 bytes.
        #[schemars(
            example = &["*.png", "out/**"],
            length(min = 1, max = ARTIFACT_PATTERNS),
            inner(length(min = 1, max = ARTIFACT_PATTERN_BYTES))
        )]
        paths: Vec<String>,
    },
}

const ENCODING: &str = "\"utf8\" or \"base64\"";
const BASE64: &str = "base64";
const ARGS: &str = "an array of strings";
const LIMITS: &str = "an object";
const LIMIT: &str = "an integer from 1";
const ARTIFACTS: &str = "true, false or an object with paths";
const PATTERNS: &str = "an array of 1 to 16 strings of 1 to 256 bytes";
const FRAMEWORK: &str = "\"inline\" or \"external\"";
const BOOLEAN: &str = "true or false";

impl RunRequest {
    /// Reads a body, as [`CompileRequest::parse`] does.
    pub(crate) fn parse(text: &str) -> Result<Self, RequestError> {
        let names = [
            "language",
            "entryFile",
            "files",
            "stdin",
            "args",
            "limits",
            "artifacts",
            "warnings",
            "interactive",
            "framework",
        ];
        let [
            language,
            entry,
            files,
            stdin,
            args,
            limits,
            artifacts,
            warnings,
            interactive,
            framework,
        ] = json_fields(text, names).ok_or(RequestError::NotAnObject)?;
        check_count(&files)?;
        let language = required("language", STRING, &language, string)?;
        let entry_file = required("entryFile", STRING, &entry, string)?;
        let files = required("files", FILES, &files, |field, raw| {
            source_files(field, raw, file)
        })?;
        let args = last("args", &args, |field, raw| read(field, raw, ARGS))?;
        let boolean = |field: &str, raw: &_| read(field, raw, BOOLEAN);
        let warnings = last("warnings", &warnings, boolean)?;
        let interactive = last("interactive", &interactive, boolean)?;
        let framework = last("framework", &framework, |field, raw| {
            read(field, raw, FRAMEWORK)
        })?;
        Ok(Self {
            language,
            entry_file,
            files,
            stdin: last("stdin", &stdin, string)?.unwrap_or_default(),
            args: args.unwrap_or_default(),
            limits: last("limits", &limits, RequestedLimits::read)?
                .unwrap_or_default(),
            artifacts: last("artifacts", &artifacts, patterns)?.flatten(),
            warnings: warnings.unwrap_or_default(),
            interactive: interactive.unwrap_or_default(),
            framework: framework.unwrap_or_default(),
        })
    }

    /// Returns the options beside the submission, on a server that returns up to
    /// this many bytes of artifacts.
    ///
    /// # Errors
    ///
    /// Returns an error if artifacts are wanted and the server returns none.
    pub(crate) fn options(
        &self,
        artifact_bytes: u64,
    ) -> Result<RunOptions, RequestError> {
        if self.artifacts.is_some() && artifact_bytes == 0 {
            return Err(RequestError::ArtifactsOff);
        }
        let files = self.artifacts.clone().map(|patterns| FilesWanted {
            patterns,
            max_bytes: artifact_bytes,
        });
        Ok(RunOptions {
            limits: self.limits.wanted(),
            files,
            warnings: self.warnings,
            crash: true,
            measure_memory: true,
        })
    }
}

/// A request without any of the options that only `/api/run` takes.
impl From<CompileRequest> for RunRequest {
    fn from(request: CompileRequest) -> Self {
        let CompileRequest { language, entry_file, files, stdin } = request;
        Self {
            language,
            entry_file,
            files,
            stdin,
            args: Vec::new(),
            limits: RequestedLimits::default(),
            artifacts: None,
            warnings: false,
            interactive: false,
            framework: FrameworkPlace::default(),
        }
    }
}

impl RequestedLimits {
    fn read(field: &str, raw: &RawValue) -> Result<Self, RequestError> {
        let names = ["wall_ms", "cpu_ms", "output_kib", "memory_mib"];
        let found = json_fields(raw.get(), names)
            .ok_or_else(|| wrong_type(field, LIMITS))?;
        let mut values = [None; 4];
        let fields = names.iter().zip(&found);
        for ((name, raw), value) in fields.zip(&mut values) {
            let field = format!("{field}.{name}");
            *value = last(&field, raw, |field, raw| {
                match read(field, raw, LIMIT)? {
                    0 => Err(wrong_type(field, LIMIT)),
                    value => Ok(value),
                }
            })?;
        }
        let [wall_ms, cpu_ms, output_kib, memory_mib] = values;
        Ok(Self { wall_ms, cpu_ms, output_kib, memory_mib })
    }

    /// Checks them against the server's own.
    ///
    /// # Errors
    ///
    /// Returns an error if one is above the server's.
    pub(crate) fn check(&self, own: &Limits) -> Result<(), RequestError> {
        let milliseconds = |time: Duration| {
            u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
        };
        let all = [
            ("limits.wall_ms", self.wall_ms, milliseconds(own.run_wall_time)),
            ("limits.cpu_ms", self.cpu_ms, milliseconds(own.run_cpu_time)),
            ("limits.output_kib", self.output_kib, own.output_bytes >> 10),
            ("limits.memory_mib", self.memory_mib, own.memory_bytes / MIB),
        ];
        for (field, value, max) in all {
            if value.is_some_and(|value| value > max) {
                return Err(RequestError::AboveLimit { field, max });
            }
        }
        Ok(())
    }

    fn wanted(&self) -> LowerLimits {
        LowerLimits {
            wall_time: self.wall_ms.map(Duration::from_millis),
            cpu_time: self.cpu_ms.map(Duration::from_millis),
            output_bytes: self.output_kib.map(|kib| kib.saturating_mul(1024)),
            memory_bytes: self.memory_mib.map(|mib| mib.saturating_mul(MIB)),
        }
    }
}

fn file(field: &str, raw: &RawValue) -> Result<SourceFile, RequestError> {
    let [path, content, encoding] =
        json_fields(raw.get(), ["path", "content", "encoding"])
            .ok_or_else(|| wrong_type(field, FILE))?;
    let path = required(&format!("{field}.path"), STRING, &path, string)?;
    let content_field = format!("{field}.content");
    let content = required(&content_field, STRING, &content, string)?;
    let encoding =
        last(&format!("{field}.encoding"), &encoding, |field, raw| {
            read::<Encoding>(field, raw, ENCODING)
        })?;
    let content = match encoding.unwrap_or_default() {
        Encoding::Utf8 => content.into_bytes(),
        Encoding::Base64 => BASE64_STANDARD
            .decode(content)
            .map_err(|_| wrong_type(&content_field, BASE64))?,
    };
    Ok(SourceFile { path, content })
}

/// Reads `artifacts`: `None` for `false`, no pattern for `true`.
fn patterns(
    field: &str,
    raw: &RawValue,
) -> Result<Option<Vec<String>>, RequestError> {
    if let Ok(all) = serde_json::from_str::<bool>(raw.get()) {
        return Ok(all.then(Vec::new));
    }
    let [paths] = json_fields(raw.get(), ["paths"])
        .ok_or_else(|| wrong_type(field, ARTIFACTS))?;
    let field = format!("{field}.paths");
    let paths = required(&field, PATTERNS, &paths, |field, raw| {
        let paths: Vec<String> = read(field, raw, PATTERNS)?;
        let is_good = (1..=ARTIFACT_PATTERNS).contains(&paths.len())
            && paths
                .iter()
                .all(|path| (1..=ARTIFACT_PATTERN_BYTES).contains(&path.len()));
        if is_good { Ok(paths) } else { Err(wrong_type(field, PATTERNS)) }
    })?;
    Ok(Some(paths))
}

/// Reads a value of one type.
fn read<T: for<'de> Deserialize<'de>>(
    field: &str,
    raw: &RawValue,
    expected: &'static str,
) -> Result<T, RequestError> {
    serde_json::from_str(raw.get()).map_err(|_| wrong_type(field, expected))
}

#[cfg(test)]
#[path = "run_request_tests.rs"]
mod tests;
