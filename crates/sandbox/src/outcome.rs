//! The end of a step, and its output.

use std::time::Duration;

use crate::Artifact;

/// How a step ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stop {
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
}

/// The result of one step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// How it ended.
    pub stop: Stop,
    /// The output on stdout, up to the limit.
    pub stdout: Vec<u8>,
    /// The output on stderr, up to the limit.
    pub stderr: Vec<u8>,
    /// The time that writing the [`Inputs`](crate::Inputs) took. If a limit
    /// ended the step, this time is part of the wall time.
    pub fill_time: Duration,
    /// The time from the start of the command to its end.
    pub wall_time: Duration,
    /// CPU time of all processes of the step; `None` if the host cannot measure
    /// it.
    pub cpu_time: Option<Duration>,
    /// The content of /artifacts, if it was asked for and within its limits.
    pub artifacts: Option<Vec<Artifact>>,
}

impl Outcome {
    /// Returns the outcome of a command that did not start, because the box
    /// already uses more memory than the step may have.
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
