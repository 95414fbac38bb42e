//! The time-outs of calls in a row, which show that a Valkey is gone.

use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::time::Instant;

/// A single time-out can be a pause of any program on the way.
const MAX_TIMEOUTS: u32 = 3;

/// The time-outs since the last answer.
#[derive(Default)]
pub(crate) struct Timeouts(Mutex<Row>);

#[derive(Default)]
struct Row {
    count: u32,
    /// The moment at which the last one was counted.
    last: Option<Instant>,
}

impl Timeouts {
    /// Counts the time-out of a call that began then. Returns whether Valkey is
    /// gone. Calls that wait at one moment count once.
    pub(crate) fn count(&self, begun: Instant) -> bool {
        let mut row = self.row();
        if row.last.is_none_or(|last| last <= begun) {
            row.count += 1;
            row.last = Some(Instant::now());
        }
        row.count >= MAX_TIMEOUTS
    }

    /// Begins anew, since there was an answer.
    pub(crate) fn reset(&self) {
        *self.row() = Row::default();
    }

    fn row(&self) -> MutexGuard<'_, Row> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
