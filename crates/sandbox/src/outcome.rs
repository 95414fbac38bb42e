//! How a step ended and what it left.

use std::time::Duration;

use crate::Artifact;

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
    /// The main process exited with this code.
    Exited(i32),
    /// The main process died of this signal.
    Signaled(i32),
    /// The wall clock ran out.
    WallTime,
    /// The CPU time of all processes ran out.
    CpuTime,
    /// The memory ran out and the kernel killed.
    Memory,
    /// stdout or stderr went over its cap.
    Output,
}

/// What happened in one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub stop: Stop,
    /// What was written to stdout, up to the cap.
    pub stdout: Vec<u8>,
    /// What was written to stderr, up to the cap.
    pub stderr: Vec<u8>,
    /// How long it took to write its [`Inputs`](crate::Inputs). Where a limit
    /// ended it that is in the wall time.
    pub fill_time: Duration,
    /// From the start of the command to its end.
    pub wall_time: Duration,
    /// CPU time of all processes of the step; `None` where the host cannot
    /// account for it.
    pub cpu_time: Option<Duration>,
    /// What is in /artifacts, where that was asked for and could be had.
    pub artifacts: Option<Vec<Artifact>>,
}

impl Outcome {
    /// Of a command that did not start: what is in the box already takes more
    /// memory than it may have.
    pub(crate) fn without_memory() -> Self {
        Self {
            stop: Stop::Memory,
            stdout: Vec::new(),
            stderr: Vec::new(),
            fill_time: Duration::ZERO,
            wall_time: Duration::ZERO,
            cpu_time: None,
            artifacts: None,
        }
    }
}
