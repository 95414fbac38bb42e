//! The operator's settings of the engine.

use std::time::Duration;

use sandpiper_sandbox::MAX_BOXES;

use crate::{Limits, limits};

/// The operator's settings of the engine.
#[derive(Clone, Debug)]
pub struct EngineSettings {
    /// The limits of one run.
    pub limits: Limits,
    /// Boxes that run at once.
    pub boxes: usize,
    /// Boxes of live runs, besides. With 0, there are no live runs.
    pub live_boxes: usize,
    /// Runs that may wait for a box.
    pub queue_length: usize,
    /// The time that a run may wait for a box.
    pub queue_wait: Duration,
    /// Whether programs run even if the host cannot limit memory and processes.
    pub allow_missing_limits: bool,
    /// The time from the last success of a language to its next self-test.
    pub check_interval: Duration,
    /// The memory of the pool, in bytes. With 0, no box is made ahead.
    pub pool_memory_bytes: u64,
    /// The size of the compile cache, in bytes. With 0, no compile artifacts
    /// are kept.
    pub compile_cache_bytes: u64,
}

impl EngineSettings {
    /// Returns the number of boxes that there can be besides those that run:
    /// those of the pool, those of live runs, and as many in removal as
    /// can run.
    pub fn boxes_besides(&self) -> usize {
        let wanted = self.pool_boxes() + self.boxes + 2 * self.live_boxes;
        wanted.min(MAX_BOXES.saturating_sub(self.boxes))
    }

    /// Returns the number of boxes that may be made ahead.
    pub(crate) fn pool_boxes(&self) -> usize {
        if self.pool_memory_bytes == 0 {
            return 0;
        }
        let wanted = limits::POOL_BOXES + 4 * self.boxes;
        // The boxes that run come first.
        wanted.min(MAX_BOXES.saturating_sub(self.boxes))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn boxes_besides_leave_room_for_those_that_run() {
        let check = |boxes, pool_memory_bytes, ahead, besides| {
            let settings = EngineSettings {
                limits: Limits::default(),
                boxes,
                live_boxes: 0,
                queue_length: 0,
                queue_wait: Duration::ZERO,
                allow_missing_limits: false,
                check_interval: Duration::ZERO,
                pool_memory_bytes,
                compile_cache_bytes: 0,
            };
            let found = (settings.pool_boxes(), settings.boxes_besides());
            assert_eq!(found, (ahead, besides), "{boxes}");
        };
        check(2, 0, 0, 2);
        check(2, 1, 24, 26);
        check(64, 1, 272, 336);
        check(400, 1, 100, 100);
        check(MAX_BOXES, 1, 0, 0);
    }
}
