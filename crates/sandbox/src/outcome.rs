//! The end of a step, and its output.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::CompileArtifact;

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepEnd {
    /// The main process exited with this code.
    Exited(i32),
    /// This signal ended the main process.
    Signaled(i32),
    /// The limit of wall time was reached.
    WallTime,
    /// The limit of CPU time was reached, by all processes together.
    CpuTime,
    /// The limit of memory was reached.
    Memory,
    /// stdout or stderr reached its limit.
    Output,
    /// The limit of time with neither output nor input was reached.
    Idle,
    /// The caller ended the command.
    Stopped,
}

/// The result of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StepOutcome {
    /// How it ended.
    pub end: StepEnd,
    /// The output on stdout, up to the limit. If a caller took output, only the
    /// part that was not taken.
    pub stdout: Output,
    /// The output on stderr, likewise.
    pub stderr: Output,
    /// The time that writing the [`Inputs`](crate::Inputs) took. If a limit
    /// ended the step, this time is part of the wall time.
    pub inputs_time: Duration,
    /// The time from the start of the command to its end.
    pub wall_time: Duration,
    /// CPU time of all processes of the step; `None` if the host cannot measure
    /// it.
    pub cpu_time: Option<Duration>,
    /// The highest memory of the box during the step in bytes, with its files
    /// and the page cache. If the kernel cannot reset its count, earlier steps
    /// and launchers count too. `None` if it was not asked for, or if the host
    /// does not measure it.
    pub memory_peak: Option<u64>,
    /// The files that the step left, if they were asked for.
    pub files: Option<LeftFiles>,
    /// The content of /artifacts, if it was asked for and within its limits.
    pub compile_artifacts: Option<Vec<CompileArtifact>>,
}

/// The output on one stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// The bytes.
    pub bytes: Vec<u8>,
    /// The number of bytes before them that were taken already.
    pub bytes_taken: u64,
    /// Whether there was more than the limit.
    pub is_truncated: bool,
}

/// The files that a step left.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftFiles {
    /// The displays in the order of their names, then the others by path.
    pub files: Vec<LeftFile>,
    /// Files and folders that were left out: the first of them.
    pub skipped: Vec<SkippedFile>,
}

/// The path of the working directory among skipped files.
pub(crate) const WORKING_DIRECTORY: &str = ".";

impl LeftFiles {
    /// Returns no files: to read them failed or took too long.
    pub(crate) fn unreadable() -> Self {
        let path = WORKING_DIRECTORY.to_owned();
        let reason = SkipReason::Unreadable;
        let skipped = vec![SkippedFile { path, reason }];
        Self { files: Vec::new(), skipped }
    }

    /// Returns whether reading them failed or took too long. Then the box may
    /// have been ended.
    pub fn are_unreadable(&self) -> bool {
        *self == Self::unreadable()
    }
}

/// A file that a step left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftFile {
    /// The path below /box or, of a display, below /tmp/.display.
    pub path: String,
    /// Whether a runtime made it for people to see.
    pub is_display: bool,
    /// All bytes.
    #[serde(with = "serde_bytes")]
    pub content: Vec<u8>,
}

/// A file or folder that was left out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SkippedFile {
    /// The path, with escapes for characters that cannot be shown. It is `.` for
    /// the working directory.
    pub path: String,
    /// The reason.
    pub reason: SkipReason,
}

/// Why a file was left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum SkipReason {
    /// The maximum number of files was reached.
    TooMany,
    /// It has more bytes than were left.
    TooLarge,
    /// Its folder lies too deep, and was not read.
    TooDeep,
    /// It is a symbolic link.
    Link,
    /// Its name is not UTF-8, or has a control character or a backslash.
    Name,
    /// It is neither a file nor a folder.
    NotAFile,
    /// It cannot be opened or read.
    Unreadable,
}

impl SkipReason {
    /// Returns its name in answers.
    pub fn word(self) -> &'static str {
        match self {
            Self::TooMany => "too-many",
            Self::TooLarge => "too-large",
            Self::TooDeep => "too-deep",
            Self::Link => "link",
            Self::Name => "name",
            Self::NotAFile => "not-a-file",
            Self::Unreadable => "unreadable",
        }
    }
}

impl StepOutcome {
    /// Returns the outcome of a command that did not start, because the box
    /// already uses more memory than the step may have.
    pub(crate) fn without_memory() -> Self {
        Self {
            end: StepEnd::Memory,
            stdout: Output::default(),
            stderr: Output::default(),
            inputs_time: Duration::ZERO,
            wall_time: Duration::ZERO,
            cpu_time: None,
            memory_peak: None,
            files: None,
            compile_artifacts: None,
        }
    }
}
