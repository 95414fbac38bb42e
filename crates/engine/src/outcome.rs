//! The outcome of a run: how it ended, and the texts that a client reads.

use std::time::Duration;

pub use sandpiper_languages::Stage;
use sandpiper_sandbox::{signal_name, signal_words};

use crate::limits::MIB;

/// A limit of the box that ended the run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LimitReached {
    /// Wall clock.
    WallTime(Duration),
    /// CPU time of all processes.
    CpuTime(Duration),
    /// Memory, in bytes.
    Memory(u64),
    /// stdout or stderr, in bytes.
    Output(u64),
}

/// How the last step that ran ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The main process exited with this code.
    Exited(i32),
    /// The main process died of this signal number.
    Signaled(i32),
    /// The sandbox ended the run.
    Limit(LimitReached),
}

/// The time of each part of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// The wait for a box.
    pub queue: Duration,
    /// The making of the box and the writing of the files.
    pub prepare: Duration,
    /// The compile step; `None` if the plan has none, or if its artifacts were
    /// kept.
    pub compile: Option<Duration>,
    /// The run step; `None` if the compile step failed.
    pub run: Option<Duration>,
}

/// The outcome of a submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The answer's stdout: UTF-8, cut at a character boundary.
    pub stdout: String,
    /// The answer's stderr. If the run was ended, its last line says why
    /// (`Time limit exceeded: 10 s`).
    pub stderr: String,
    /// The stage that ended last.
    pub stage: Stage,
    /// How it ended.
    pub end: End,
    /// The time of each part.
    pub timing: Timing,
    /// How it was started.
    pub start: Start,
}

/// The start of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Start {
    /// The state of its box when the submission came.
    pub kind: StartKind,
    /// Whether the submission had been compiled before.
    pub is_compiled: bool,
}

/// The state of a box when its submission came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum StartKind {
    /// The box was made for the submission.
    Cold,
    /// The box had been made ahead, without launchers.
    Blank,
    /// The box had been made ahead, and its launchers waited for the
    /// submission.
    Warm,
}

impl StartKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Cold, Self::Blank, Self::Warm];

    /// Returns its name in logs and metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::Blank => "blank",
            Self::Warm => "warm",
        }
    }
}

impl Outcome {
    /// Creates the outcome of a run from the bytes that its last step wrote. A
    /// stream of `output_bytes` was cut there.
    pub(crate) fn new(
        stage: Stage,
        end: End,
        (stdout, stderr): (Vec<u8>, Vec<u8>),
        output_bytes: u64,
        timing: Timing,
        start: Start,
    ) -> Self {
        let stdout = text(stdout, output_bytes);
        let mut stderr = text(stderr, output_bytes);
        if let Some(line) = closing_line(stage, end) {
            if !stderr.is_empty() && !stderr.ends_with('\n') {
                stderr.push('\n');
            }
            stderr.push_str(&line);
            stderr.push('\n');
        }
        Self { stdout, stderr, stage, end, timing, start }
    }

    /// Returns the end in a form for programs: `stage=run; code=3`,
    /// `stage=run; signal=SIGSEGV` or `stage=compile; limit=time`. The limits
    /// are `time`, `cpu`, `memory` and `output`.
    pub fn exit_summary(&self) -> String {
        let stage = match self.stage {
            Stage::Compile => "compile",
            Stage::Run => "run",
        };
        let end = match self.end {
            End::Exited(code) => format!("code={code}"),
            End::Signaled(signal) => format!("signal={}", signal_name(signal)),
            End::Limit(limit) => {
                let limit = match limit {
                    LimitReached::WallTime(_) => "time",
                    LimitReached::CpuTime(_) => "cpu",
                    LimitReached::Memory(_) => "memory",
                    LimitReached::Output(_) => "output",
                };
                format!("limit={limit}")
            }
        };
        format!("stage={stage}; {end}")
    }
}

/// Returns the last line of stderr if the program did not end by itself.
fn closing_line(stage: Stage, end: End) -> Option<String> {
    let line = match end {
        End::Exited(_) => return None,
        End::Signaled(signal) => signal_words(signal),
        End::Limit(LimitReached::WallTime(time)) => {
            format!("Time limit exceeded: {}", seconds(time))
        }
        End::Limit(LimitReached::CpuTime(time)) => {
            format!("CPU time limit exceeded: {}", seconds(time))
        }
        End::Limit(LimitReached::Memory(bytes)) => {
            format!("Memory limit exceeded: {}", size(bytes))
        }
        End::Limit(LimitReached::Output(bytes)) => {
            format!("Output limit exceeded: {}", size(bytes))
        }
    };
    Some(match (stage, end) {
        (Stage::Run, _) => line,
        (Stage::Compile, End::Limit(LimitReached::CpuTime(_))) => {
            format!("Compile {line}")
        }
        (Stage::Compile, End::Limit(_)) => {
            let (first, rest) = line.split_at(1);
            format!("Compile {}{rest}", first.to_lowercase())
        }
        (Stage::Compile, _) => format!("Compile step ended by: {line}"),
    })
}

fn seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

fn size(bytes: u64) -> String {
    if bytes.is_multiple_of(MIB) {
        format!("{} MiB", bytes / MIB)
    } else if bytes.is_multiple_of(1024) {
        format!("{} KiB", bytes / 1024)
    } else {
        format!("{bytes} bytes")
    }
}

/// Returns the output of a program as text. Bytes that are not UTF-8 become
/// U+FFFD, but half a character at a cut is removed.
fn text(mut bytes: Vec<u8>, cap: u64) -> String {
    if u64::try_from(bytes.len()).unwrap_or(u64::MAX) >= cap {
        bytes.truncate(bytes.len() - half_character(&bytes));
    }
    String::from_utf8(bytes).unwrap_or_else(|error| {
        String::from_utf8_lossy(error.as_bytes()).into_owned()
    })
}

/// Returns how many bytes at the end are the beginning of a character.
fn half_character(bytes: &[u8]) -> usize {
    (1..=3.min(bytes.len()))
        .find(|&length| {
            let tail = &bytes[bytes.len() - length..];
            std::str::from_utf8(tail).is_err_and(|error| {
                error.valid_up_to() == 0 && error.error_len().is_none()
            })
        })
        .unwrap_or(0)
}

#[cfg(test)]
mod tests;
