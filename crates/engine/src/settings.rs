//! What an operator chooses for the engine.

use std::time::Duration;

use crate::{Limits, limits};

/// Settings of the engine, from the operator.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What one run may use.
    pub limits: Limits,
    /// Boxes running at once.
    pub boxes: usize,
    /// Runs that may wait for a box.
    pub queue_length: usize,
    /// How long a run may wait.
    pub queue_wait: Duration,
    /// Run also where the host cannot limit memory and processes.
    pub allow_missing_limits: bool,
    /// From one proof that a language runs to the next run of its starter
    /// program.
    pub check_interval: Duration,
    /// Memory that boxes made ahead of requests may have, in bytes; 0: none
    /// are made.
    pub warm_memory_bytes: u64,
    /// Artifacts of compile steps that are kept, in bytes; 0: none are.
    pub artifact_bytes: u64,
}

impl Settings {
    /// How many boxes the host has to be ready for, besides those that run.
    pub fn boxes_ahead(&self) -> usize {
        if self.warm_memory_bytes == 0 {
            return 0;
        }
        limits::READY_BOXES + 4 * self.boxes
    }
}
