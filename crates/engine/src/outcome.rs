//! The outcome of a run: how it ended, and the texts that a client reads.

use std::borrow::Cow;
use std::time::Duration;

pub use sandpiper_languages::Stage;
use sandpiper_sandbox::{Output, signal_name, signal_words};

use crate::crash::SourceLine;
use crate::files::RunFiles;
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
    /// Time with neither output nor input.
    Idle(Duration),
}

impl LimitReached {
    /// Returns its name in answers, logs and metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::WallTime(_) => "time",
            Self::CpuTime(_) => "cpu",
            Self::Memory(_) => "memory",
            Self::Output(_) => "output",
            Self::Idle(_) => "idle",
        }
    }
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
    /// The client ended the run, or the server stopped while it was live.
    Stopped,
}

/// The time of each part of a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// The wait for a box.
    pub queue: Duration,
    /// The making of the box and the writing of the files.
    pub prepare: Duration,
    /// The compile step; `None` if the plan has none, or if its compile
    /// artifacts were kept.
    pub compile: Option<Duration>,
    /// The run step; `None` if the compile step did not succeed, or if the run
    /// was stopped before it had a box.
    pub run: Option<Duration>,
}

/// The outcome of a submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// stdout of the last step, cut at a character boundary. If a caller took
    /// output, only the part that was not taken.
    pub stdout: Output,
    /// stderr of the last step, likewise.
    pub stderr: Output,
    /// The messages of a compile step that succeeded, if they were asked for:
    /// its stdout and stderr.
    pub warnings: Option<String>,
    /// The stage that ended last.
    pub stage: Stage,
    /// How it ended.
    pub end: End,
    /// The time of each part.
    pub timing: Timing,
    /// The place where the program crashed, if it was asked for and found.
    pub crash: Option<SourceLine>,
    /// How it was started; `None` if it was stopped before it had a box.
    pub start: Option<Start>,
    /// CPU time of the last step; `None` if the host does not measure it.
    pub cpu_time: Option<Duration>,
    /// The highest memory of the box in the last step, in bytes; `None` if it was
    /// not asked for, or if the host does not measure it.
    pub memory_peak: Option<u64>,
    /// The files that the run left, if they were asked for and no limit ended
    /// it.
    pub files: Option<RunFiles>,
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
    /// Returns the outcome of a run that was stopped before it had a box.
    pub(crate) fn stopped_in_queue(queue: Duration) -> Self {
        Self {
            stdout: Output::default(),
            stderr: Output::default(),
            warnings: None,
            stage: Stage::Run,
            end: End::Stopped,
            timing: Timing { queue, ..Timing::default() },
            crash: None,
            start: None,
            cpu_time: None,
            memory_peak: None,
            files: None,
        }
    }

    /// Returns why the run did not end by itself, in the words that a client
    /// reads (`Time limit exceeded: 10 s`).
    pub fn message(&self) -> Option<String> {
        closing_line(self.stage, self.end)
    }

    /// Returns stdout as text. Bytes that are not UTF-8 become U+FFFD.
    pub fn stdout_text(&self) -> Cow<'_, str> {
        output_text(&self.stdout.bytes)
    }

    /// Returns stderr as text, in the same way.
    pub fn stderr_text(&self) -> Cow<'_, str> {
        output_text(&self.stderr.bytes)
    }

    /// Returns stderr as text. If the run did not end by itself, its last line
    /// says why.
    pub fn stderr_with_message(&self) -> Cow<'_, str> {
        let mut stderr = self.stderr_text();
        if let Some(line) = self.message() {
            let stderr = stderr.to_mut();
            if !stderr.is_empty() && !stderr.ends_with('\n') {
                stderr.push('\n');
            }
            stderr.push_str(&line);
            stderr.push('\n');
        }
        stderr
    }

    /// Returns the end in a form for programs: `stage=run; code=3`,
    /// `stage=run; signal=SIGSEGV`, `stage=compile; limit=time` or `stage=run;
    /// stopped=true`. The limits are `time`, `cpu`, `memory`, `output` and, of
    /// live runs, `idle`.
    pub fn exit_summary(&self) -> String {
        let stage = self.stage.word();
        let end = match self.end {
            End::Exited(code) => format!("code={code}"),
            End::Signaled(signal) => format!("signal={}", signal_name(signal)),
            End::Stopped => "stopped=true".to_owned(),
            End::Limit(limit) => {
                format!("limit={}", limit.word())
            }
        };
        format!("stage={stage}; {end}")
    }
}

/// Returns output as text. Bytes that are not UTF-8 become U+FFFD.
///
/// A document of a megabyte is usual, and `from_utf8_lossy` looks at each byte,
/// while `from_utf8` reads ASCII by words.
pub fn output_text(bytes: &[u8]) -> Cow<'_, str> {
    str::from_utf8(bytes)
        .map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
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
        End::Limit(LimitReached::Idle(time)) => {
            format!("Nobody typed for {}", seconds(time))
        }
        End::Stopped => "Stopped".to_owned(),
    };
    Some(match (stage, end) {
        (Stage::Run, _) | (_, End::Stopped) => line,
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

/// Returns a stream of a program without half a character at a cut.
pub(crate) fn cut_at_character(mut output: Output) -> Output {
    if output.is_truncated {
        let half = half_character(&output.bytes);
        output.bytes.truncate(output.bytes.len() - half);
    }
    output
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
