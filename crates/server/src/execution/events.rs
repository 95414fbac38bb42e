//! The events of a run as server-sent events, and output as text.

use std::mem;
use std::str;

use sandpiper_engine::{
    End, Limits, Outcome, Output, OutputStream, Refusal, Stage, output_text,
};
use serde::Serialize;

use super::error::ExecutionError;
use super::run_answer::{
    Artifact, Skipped, StepReport, Stream, artifacts, skipped,
};
use crate::embed::Framework;

/// Bytes of text in one event.
const MAX_TEXT: usize = 16 << 10;

/// One event; the comments name the type on the wire.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum Event<'a> {
    /// `begin`: the run has its box.
    Begin {
        language: &'a str,
        /// The id for input and stop; null if the run takes neither.
        run: Option<String>,
        limits: EventLimits,
    },
    /// `stage`: a step begins.
    Stage { stage: &'static str },
    /// `output`: the program wrote this.
    Output { stream: Stream, text: &'a str },
    /// `framework`: stdout goes on with the text at this address, relative to
    /// that of the service.
    Framework { path: String, integrity: &'a str },
    /// `artifact`: the run left this file.
    Artifact(&'a Artifact),
    /// `end`: the run has ended. It is the last event.
    End {
        stage: &'static str,
        #[serde(flatten)]
        step: StepReport,
        #[serde(skip_serializing_if = "Option::is_none")]
        warnings: Option<&'a str>,
        skipped: Vec<Skipped<'a>>,
    },
    /// `error`: the service failed. It is the last event.
    Error { error: &'a str },
}

/// The limits of a run, as its events have them.
#[derive(Debug, Serialize)]
struct EventLimits {
    wall_ms: u128,
    /// Null if the run is not interactive.
    idle_ms: Option<u128>,
    cpu_ms: u128,
    output_kib: u64,
}

/// An empty comment, so that proxies and clients see that the connection lives.
pub(super) const PING: &[u8] = b":\n\n";

impl Event<'_> {
    /// Returns the event as it goes over the wire.
    fn encode(&self) -> Vec<u8> {
        let name = match self {
            Self::Begin { .. } => "begin",
            Self::Stage { .. } => "stage",
            Self::Output { .. } => "output",
            Self::Framework { .. } => "framework",
            Self::Artifact(_) => "artifact",
            Self::End { .. } => "end",
            Self::Error { .. } => "error",
        };
        let mut bytes = format!("event: {name}\ndata: ").into_bytes();
        // JSON has no line break of its own, so the data is always one line.
        if let Err(error) = serde_json::to_writer(&mut bytes, self) {
            tracing::error!(%error, "an event cannot be written");
        }
        bytes.extend_from_slice(b"\n\n");
        bytes
    }
}

impl EventLimits {
    fn new(limits: &Limits, is_interactive: bool) -> Self {
        let idle = limits.live_idle_time.as_millis();
        Self {
            wall_ms: limits.run_wall_time.as_millis(),
            idle_ms: is_interactive.then_some(idle),
            cpu_ms: limits.run_cpu_time.as_millis(),
            output_kib: limits.output_bytes >> 10,
        }
    }
}

/// Returns the event of a run that has its box. `run` is its id, if it has one.
pub(super) fn begin(
    language: &str,
    run: Option<String>,
    limits: &Limits,
    is_interactive: bool,
) -> Vec<u8> {
    let limits = EventLimits::new(limits, is_interactive);
    Event::Begin { language, run, limits }.encode()
}

/// Returns the event of a run that failed.
pub(super) fn failed(error: &ExecutionError) -> Vec<u8> {
    let message = match error {
        ExecutionError::Engine(refusal) if *refusal != Refusal::Failed => {
            refusal.to_string()
        }
        _ => "internal error".to_owned(),
    };
    Event::Error { error: &message }.encode()
}

/// Returns the event of a step that begins.
pub(super) fn stage(stage: Stage) -> Vec<u8> {
    Event::Stage { stage: stage.word() }.encode()
}

/// Returns the events at the end of a run: its artifacts, and its end. If the
/// server `is_stopping`, that stopped the run.
pub(super) fn end(outcome: &Outcome, is_stopping: bool) -> Vec<u8> {
    let mut step = StepReport::of_last(outcome);
    if is_stopping && outcome.end == End::Stopped {
        step.message = Some("The server stopped".to_owned());
    }
    let mut bytes = Vec::new();
    if let Some(left) = &outcome.files {
        for artifact in artifacts(left) {
            bytes.extend(Event::Artifact(&artifact).encode());
        }
    }
    let left = outcome.files.as_ref();
    let end = Event::End {
        stage: outcome.stage.word(),
        step,
        warnings: outcome.warnings.as_deref(),
        skipped: left.map(skipped).unwrap_or_default(),
    };
    bytes.extend(end.encode());
    bytes
}

/// Makes text of the two output streams as it comes in pieces. A character that
/// a piece cuts is held back until the next one.
#[derive(Debug, Default)]
pub(crate) struct OutputText {
    stdout: Vec<u8>,
    stderr: Vec<u8>,
}

impl OutputText {
    /// Returns the events for further bytes of a stream.
    pub(crate) fn push(
        &mut self,
        stream: OutputStream,
        bytes: &[u8],
    ) -> Vec<u8> {
        let held = self.held(stream);
        held.extend_from_slice(bytes);
        let whole = held.len() - unfinished(held);
        let rest = held.split_off(whole);
        let bytes = mem::replace(held, rest);
        encode_output(stream, &output_text(&bytes))
    }

    /// Returns the events for the last bytes of a stream. If it was truncated,
    /// half a character at its end is dropped.
    pub(crate) fn finish(
        &mut self,
        stream: OutputStream,
        Output { bytes, is_truncated, .. }: &Output,
    ) -> Vec<u8> {
        let mut held = mem::take(self.held(stream));
        held.extend_from_slice(bytes);
        if *is_truncated {
            held.truncate(held.len() - unfinished(&held));
        }
        encode_output(stream, &output_text(&held))
    }

    /// Returns the events for a whole document. If it contains this framework,
    /// one names the framework in its place.
    pub(super) fn document(
        &mut self,
        document: &Output,
        framework: &Framework,
    ) -> Vec<u8> {
        let Some((before, rest)) = framework.split(&document.bytes) else {
            return self.finish(OutputStream::Stdout, document);
        };
        let is_truncated = document.is_truncated;
        let part = |bytes: &[u8]| Output {
            bytes: bytes.to_vec(),
            ..Output::default()
        };
        let (path, integrity) = (framework.path(), framework.integrity());
        let mut events = self.finish(OutputStream::Stdout, &part(before));
        events.extend(Event::Framework { path, integrity }.encode());
        let rest = Output { is_truncated, ..part(rest) };
        events.extend(self.finish(OutputStream::Stdout, &rest));
        events
    }

    fn held(&mut self, stream: OutputStream) -> &mut Vec<u8> {
        match stream {
            OutputStream::Stdout => &mut self.stdout,
            OutputStream::Stderr => &mut self.stderr,
        }
    }
}

fn encode_output(stream: OutputStream, mut text: &str) -> Vec<u8> {
    let stream = match stream {
        OutputStream::Stdout => Stream::Stdout,
        OutputStream::Stderr => Stream::Stderr,
    };
    let mut events = Vec::new();
    while !text.is_empty() {
        let (piece, rest) = text.split_at(text.floor_char_boundary(MAX_TEXT));
        events.extend(Event::Output { stream, text: piece }.encode());
        text = rest;
    }
    events
}

/// Returns how many bytes at the end are the beginning of a character.
fn unfinished(bytes: &[u8]) -> usize {
    let last = bytes.utf8_chunks().last();
    let invalid = last.map_or(&[][..], |chunk| chunk.invalid());
    let could_go_on =
        str::from_utf8(invalid).is_err_and(|error| error.error_len().is_none());
    if could_go_on { invalid.len() } else { 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUT: OutputStream = OutputStream::Stdout;

    fn texts(events: &[u8]) -> Vec<String> {
        let text = str::from_utf8(events).unwrap();
        let events = text.split_terminator("\n\n");
        events
            .map(|event| {
                let (name, data) = event.split_once('\n').unwrap();
                assert_eq!(name, "event: output");
                let data = data.strip_prefix("data: ").unwrap();
                let data: serde_json::Value =
                    serde_json::from_str(data).unwrap();
                data["text"].as_str().unwrap().to_owned()
            })
            .collect()
    }

    #[test]
    fn output_is_cut_at_characters() {
        let check = |pieces: &[&[u8]], last: &[u8], expected: &[&str]| {
            let mut output = OutputText::default();
            let mut found = Vec::new();
            for piece in pieces {
                found.extend(texts(&output.push(OUT, piece)));
            }
            let last = Output { bytes: last.to_vec(), ..Output::default() };
            found.extend(texts(&output.finish(OUT, &last)));
            assert_eq!(found, expected, "{pieces:x?} {last:x?}");
        };
        check(&[b"ab", b"c"], b"", &["ab", "c"]);
        check(&[b"a\xc3", b"\xb1b"], b"", &["a", "ñb"]);
        check(&[b"\xf0", b"\x9f\x98", b"\x80"], b"", &["😀"]);
        check(&[b"a\xc3"], b"\xb1", &["a", "ñ"]);
        check(&[b"a\xc3"], b"", &["a", "\u{fffd}"]);
        check(&[b"\xff\xc3", b"a"], b"", &["\u{fffd}", "\u{fffd}a"]);
        let long = "é".repeat(MAX_TEXT);
        let part = &*"é".repeat(MAX_TEXT / 2);
        check(&[long.as_bytes()], b"", &[part, part]);
    }

    #[test]
    fn the_streams_are_apart() {
        let mut output = OutputText::default();
        assert!(output.push(OUT, b"\xc3").is_empty());
        let err = OutputStream::Stderr;
        assert_eq!(texts(&output.push(err, b"a")), ["a"]);
        let mut last = Output { bytes: b"\xb1".to_vec(), ..Output::default() };
        assert_eq!(texts(&output.finish(OUT, &last)), ["ñ"]);
        // A character that the limit cut is no character.
        assert!(output.push(OUT, b"\xc3").is_empty());
        last = Output { is_truncated: true, ..Output::default() };
        assert!(output.finish(OUT, &last).is_empty());
    }

    #[test]
    fn no_output_begins_an_event() {
        let text = "a\n\nevent: end\r\ndata: {}\n\n\u{2028}:";
        let events = encode_output(OUT, text);
        assert_eq!(texts(&events), [text]);
        assert_eq!(events.iter().filter(|&&byte| byte == b'\n').count(), 3);
        assert!(!events.contains(&b'\r'));
    }
}
