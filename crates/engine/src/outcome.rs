//! How a run ended, and what it wrote.

use std::time::Duration;

pub use sandpiper_languages::Stage;

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

/// Where the time went. `compile` is `None` where the plan has no such step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// Waiting for a box.
    pub queue: Duration,
    /// Making the box and writing the files.
    pub prepare: Duration,
    /// The compile step.
    pub compile: Option<Duration>,
    /// The run step; `None` when the compile step failed.
    pub run: Option<Duration>,
}

/// What happened to a submission.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// The answer's stdout: UTF-8, cut at a character boundary.
    pub stdout: String,
    /// The answer's stderr, with the closing line where the run was ended
    /// (`Time limit exceeded: 10 s`).
    pub stderr: String,
    /// The stage that ended last.
    pub stage: Stage,
    /// How it ended.
    pub end: End,
    /// Where the time went.
    pub timing: Timing,
}

impl Outcome {
    /// The value of the `Sandpiper-Exit` header, such as `stage=run; code=3`.
    pub fn exit_summary(&self) -> String {
        String::new()
    }
}
