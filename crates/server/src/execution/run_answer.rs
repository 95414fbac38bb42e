//! The answer of `/api/run` to a run that was started.

use std::borrow::Cow;
use std::time::Duration;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sandpiper_engine::{
    End, Outcome, Output, RunFile, RunFiles, Stage, signal_name,
};
use schemars::JsonSchema;
use serde::Serialize;

use super::media_type::media_type;

/// The result of a run.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct RunResponse<'a> {
    /// The language's id.
    language: &'a str,
    /// The compile step, if it failed, or if its warnings were asked for.
    compile: Option<StepResult<'a>>,
    /// The run step; null if the compile step failed.
    run: Option<StepResult<'a>>,
    timings: Timings,
    /// The files that the run left: first those that it showed.
    artifacts: Vec<Artifact>,
    /// Files that are not among the artifacts.
    skipped: Vec<Skipped<'a>>,
}

/// The end of one step, and its output.
#[derive(Debug, Default, Serialize, JsonSchema)]
struct StepResult<'a> {
    /// The output of the program alone.
    stdout: Cow<'a, str>,
    stderr: Cow<'a, str>,
    #[serde(flatten)]
    end: StepReport,
}

/// The end of one step.
#[derive(Debug, Default, Serialize, JsonSchema)]
pub(super) struct StepReport {
    exit: Exit,
    /// Why the step did not end by itself, in words.
    pub(super) message: Option<String>,
    /// The line where the program crashed, if it is known: that of the innermost
    /// call in a submitted file.
    crash: Option<Place>,
    /// The streams that were cut at their limit.
    truncated: Vec<Stream>,
    /// Wall clock; null if the run was stopped before it had a box.
    wall_ms: Option<f64>,
    /// CPU time of all processes; null if the host does not measure it.
    cpu_ms: Option<f64>,
    /// The highest memory of the box, its files included; null if the host does
    /// not measure it.
    memory_peak_kib: Option<u64>,
}

/// How a step ended.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
enum Exit {
    /// The exit code.
    Code(i32),
    /// The name of the signal that ended the program.
    Signal(String),
    /// The limit that was reached: `time`, `cpu`, `memory`, `output` or `idle`.
    Limit(&'static str),
    /// The client stopped the run, or the server stops.
    Stopped(bool),
}

/// A line of a submitted file.
#[derive(Debug, Serialize, JsonSchema)]
struct Place {
    path: String,
    /// From 1.
    line: u32,
}

#[derive(Clone, Copy, Debug, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(super) enum Stream {
    Stdout,
    Stderr,
}

/// Times before the first step, in milliseconds.
#[derive(Debug, Serialize, JsonSchema)]
struct Timings {
    /// The wait for a box.
    queue_ms: f64,
    /// The making of the box and the writing of the files.
    prepare_ms: f64,
}

/// A file that the run left.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Artifact {
    path: String,
    /// The number of the display, from 1. A drawing and its recording have the
    /// same.
    #[serde(skip_serializing_if = "Option::is_none")]
    display: Option<usize>,
    /// The media type.
    r#type: &'static str,
    /// Bytes of the file.
    size: usize,
    encoding: &'static str,
    content: String,
}

/// A file or folder that is not among the artifacts.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct Skipped<'a> {
    /// Escaped if it cannot be shown; `.` is the working directory.
    path: &'a str,
    /// Why: `too-many`, `too-large`, `too-deep`, `link`, `name`, `not-a-file`
    /// or `unreadable`.
    reason: &'static str,
}

impl<'a> RunResponse<'a> {
    pub(super) fn new(language: &'a str, outcome: &'a Outcome) -> Self {
        let last = StepResult::of_last(outcome);
        let (compile, run) = match outcome.stage {
            Stage::Compile => (Some(last), None),
            Stage::Run => (StepResult::with_warnings(outcome), Some(last)),
        };
        let timing = &outcome.timing;
        let left = outcome.files.as_ref();
        Self {
            language,
            compile,
            run,
            timings: Timings {
                queue_ms: milliseconds(timing.queue),
                prepare_ms: milliseconds(timing.prepare),
            },
            artifacts: left.map(artifacts).unwrap_or_default(),
            skipped: left.map(skipped).unwrap_or_default(),
        }
    }
}

impl<'a> StepResult<'a> {
    fn of_last(outcome: &'a Outcome) -> Self {
        Self {
            stdout: outcome.stdout_text(),
            stderr: outcome.stderr_text(),
            end: StepReport::of_last(outcome),
        }
    }

    /// Returns the compile step that succeeded, if its warnings were asked for.
    fn with_warnings(outcome: &'a Outcome) -> Option<Self> {
        let stderr = outcome.warnings.as_deref()?.into();
        let wall_ms = outcome.timing.compile.map(milliseconds);
        let end = StepReport { wall_ms, ..StepReport::default() };
        Some(Self { stdout: Cow::default(), stderr, end })
    }
}

impl StepReport {
    /// Returns the end of the last step of a run.
    pub(super) fn of_last(outcome: &Outcome) -> Self {
        let wall_time = match outcome.stage {
            Stage::Compile => outcome.timing.compile,
            Stage::Run => outcome.timing.run,
        };
        let exit = match outcome.end {
            End::Exited(code) => Exit::Code(code),
            End::Signaled(signal) => Exit::Signal(signal_name(signal)),
            End::Limit(limit) => Exit::Limit(limit.word()),
            End::Stopped => Exit::Stopped(true),
        };
        let cut =
            |output: &Output, stream| output.is_truncated.then_some(stream);
        let stdout = cut(&outcome.stdout, Stream::Stdout);
        let stderr = cut(&outcome.stderr, Stream::Stderr);
        Self {
            exit,
            message: outcome.message(),
            crash: outcome.crash.as_ref().map(Place::from),
            truncated: stdout.into_iter().chain(stderr).collect(),
            wall_ms: wall_time.map(milliseconds),
            cpu_ms: outcome.cpu_time.map(milliseconds),
            memory_peak_kib: outcome.memory_peak.map(|bytes| bytes >> 10),
        }
    }
}

impl From<&sandpiper_engine::SourceLine> for Place {
    fn from(place: &sandpiper_engine::SourceLine) -> Self {
        Self { path: place.path.clone(), line: place.line }
    }
}

impl Default for Exit {
    fn default() -> Self {
        Self::Code(0)
    }
}

/// Returns milliseconds, rounded to a thousandth.
fn milliseconds(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e6).round() / 1e3
}

/// Returns the files that a run left.
pub(super) fn artifacts(files: &RunFiles) -> Vec<Artifact> {
    files.files.iter().map(artifact).collect()
}

fn artifact(file: &RunFile) -> Artifact {
    let content = &file.content;
    let media_type = media_type(&file.path, content);
    // A control character takes six bytes of JSON, base64 at most two.
    let is_plain = |text: &&str| {
        media_type.is_text
            && !text.contains(|c: char| c < ' ' && !"\t\n\r".contains(c))
    };
    let text = std::str::from_utf8(content).ok().filter(is_plain);
    let (encoding, content) = match text {
        Some(text) => ("utf8", text.to_owned()),
        None => ("base64", BASE64_STANDARD.encode(content)),
    };
    Artifact {
        path: file.path.clone(),
        display: file.display,
        r#type: media_type.name,
        size: file.content.len(),
        encoding,
        content,
    }
}

/// Returns the files that are not among the artifacts.
pub(super) fn skipped(left: &RunFiles) -> Vec<Skipped<'_>> {
    let files = left.skipped.iter();
    files
        .map(|file| Skipped { path: &file.path, reason: file.reason.word() })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_become_artifacts() {
        let check = |path: &str, display, content: &[u8], expected: &str| {
            let (path, content) = (path.to_owned(), content.to_vec());
            let file = RunFile { path, display, content };
            let artifact = serde_json::to_string(&artifact(&file)).unwrap();
            assert_eq!(artifact, expected);
        };
        check(
            "out/a.csv",
            None,
            b"a,\"b",
            r#"{"path":"out/a.csv","type":"text/csv","size":4,"encoding":"utf8","content":"a,\"b"}"#,
        );
        check(
            "figure-1.svg",
            Some(1),
            b"<svg/>",
            r#"{"path":"figure-1.svg","display":1,"type":"image/svg+xml","size":6,"encoding":"utf8","content":"<svg/>"}"#,
        );
        check(
            "turtle.json",
            Some(1),
            b"{}",
            r#"{"path":"turtle.json","display":1,"type":"application/json","size":2,"encoding":"utf8","content":"{}"}"#,
        );
        // Neither the name nor UTF-8 makes a picture or a text.
        check(
            "a.png",
            None,
            b"<script>",
            r#"{"path":"a.png","type":"application/octet-stream","size":8,"encoding":"base64","content":"PHNjcmlwdD4="}"#,
        );
        check(
            "a.txt",
            None,
            b"\0",
            r#"{"path":"a.txt","type":"text/plain","size":1,"encoding":"base64","content":"AA=="}"#,
        );
        check(
            "a.txt",
            None,
            b"\xff",
            r#"{"path":"a.txt","type":"text/plain","size":1,"encoding":"base64","content":"/w=="}"#,
        );
    }
}
