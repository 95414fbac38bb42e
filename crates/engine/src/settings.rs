//! What an operator chooses for the engine.

use std::time::Duration;

use sandpiper_sandbox::MAX_BOXES;

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
    /// How many boxes the host has to be ready for, besides those that run:
    /// those made ahead and, as many as run, those in removal.
    pub fn boxes_besides(&self) -> usize {
        let wanted = self.boxes_ahead() + self.boxes;
        wanted.min(MAX_BOXES.saturating_sub(self.boxes))
    }

    /// How many boxes may be made ahead.
    pub(crate) fn boxes_ahead(&self) -> usize {
        if self.warm_memory_bytes == 0 {
            return 0;
        }
        let wanted = limits::READY_BOXES + 4 * self.boxes;
        // Those that run come first.
        wanted.min(MAX_BOXES.saturating_sub(self.boxes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_besides_leave_room_for_those_that_run() {
        let check = |boxes, warm_memory_bytes, ahead, besides| {
            let settings = Settings {
                limits: Limits::default(),
                boxes,
                queue_length: 0,
                queue_wait: Duration::ZERO,
                allow_missing_limits: false,
                check_interval: Duration::ZERO,
                warm_memory_bytes,
                artifact_bytes: 0,
            };
            let found = (settings.boxes_ahead(), settings.boxes_besides());
            assert_eq!(found, (ahead, besides), "{boxes}");
        };
        check(2, 0, 0, 2);
        check(2, 1, 16, 18);
        check(64, 1, 264, 328);
        check(400, 1, 100, 100);
        check(MAX_BOXES, 1, 0, 0);
    }
}
