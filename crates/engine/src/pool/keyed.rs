//! The boxes of the pool that have one key.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use sandpiper_sandbox::Sandbox;

use super::allocation::{Demand, RecentRequests};
use super::key::PoolKey;
use crate::limits::MIB;

/// The assumed memory of a box until one with its key has been made.
const UNKNOWN_COST: u64 = MIB;
/// The time from a failure to make a box to the next try. It doubles with every
/// failure.
const MIN_RETRY: Duration = Duration::from_secs(5);
const MAX_RETRY: Duration = Duration::from_secs(300);
/// A key is quick if one of its boxes was made within this time. Quick boxes
/// are made even while runs wait for a box, one at a time, because a run that
/// finds none would take as long to make it. A box that takes longer no longer
/// keeps others back.
const QUICK: Duration = Duration::from_millis(50);
/// The time between two checks whether the boxes still live.
const LIVENESS_INTERVAL: Duration = Duration::from_secs(1);

/// The boxes with one key, those being made, and the demand for them.
#[derive(Debug)]
pub(super) struct KeyedPool {
    pub(super) key: PoolKey,
    pub(super) languages: Vec<String>,
    pub(super) boxes: VecDeque<WaitingBox>,
    /// How many are being made, and since when the last.
    pub(super) making: usize,
    pub(super) making_since: Option<Instant>,
    pub(super) requests: RecentRequests,
    /// The memory of the last box that was made, in bytes.
    pub(super) cost: Option<u64>,
    /// The shortest time in which a box was made.
    pub(super) min_time: Duration,
    pub(super) failures: u32,
    pub(super) retry_at: Option<Instant>,
    /// The time of the last check whether its boxes live.
    pub(super) checked_at: Option<Instant>,
}

/// A box that waits for a submission.
#[derive(Debug)]
pub(super) struct WaitingBox {
    pub(super) sandbox: Sandbox,
    pub(super) since: Instant,
}

impl KeyedPool {
    pub(super) fn new(key: PoolKey, languages: Vec<String>) -> Self {
        Self {
            key,
            languages,
            boxes: VecDeque::new(),
            making: 0,
            making_since: None,
            requests: RecentRequests::new(Instant::now()),
            cost: None,
            min_time: Duration::MAX,
            failures: 0,
            retry_at: None,
            checked_at: None,
        }
    }

    /// Drops the boxes that ended while they waited.
    pub(super) fn reap_dead(&mut self, now: Instant) {
        let is_soon = self.checked_at.is_some_and(|at| {
            now.saturating_duration_since(at) < LIVENESS_INTERVAL
        });
        if is_soon {
            return;
        }
        self.checked_at = Some(now);
        let before = self.boxes.len();
        self.boxes.retain(|waiting| waiting.sandbox.is_alive());
        if self.boxes.len() < before {
            self.fail("a box ended while it waited", now);
        }
    }

    /// Puts off the next try, for longer with each failure since the last box
    /// that was used.
    pub(super) fn fail(&mut self, error: &str, now: Instant) {
        if self.failures == 0 {
            let languages = self.languages.join(", ");
            tracing::warn!(
                %languages, %error,
                "cannot make a box ahead; programs start cold"
            );
        }
        let pause = MIN_RETRY * 2_u32.pow(self.failures.min(10));
        self.failures += 1;
        self.retry_at = Some(now + pause.min(MAX_RETRY));
    }

    pub(super) fn demand(&self, now: Instant) -> Demand {
        let cost = self.cost.unwrap_or(UNKNOWN_COST);
        Demand { requests: self.requests.at(now), cost }
    }

    /// Records the time in which a box was made.
    pub(super) fn record_time(&mut self, time: Duration) {
        self.min_time = self.min_time.min(time);
    }

    pub(super) fn is_quick(&self) -> bool {
        self.min_time <= QUICK
    }

    /// Returns whether a box is being made that may still be quick.
    pub(super) fn has_begun_recently(&self, now: Instant) -> bool {
        let since = self.making_since.filter(|_| self.making > 0);
        since.is_some_and(|at| now.saturating_duration_since(at) <= QUICK)
    }

    /// Returns the requests for each box. The pool with the most is filled
    /// first.
    pub(super) fn urgency(&self, now: Instant) -> f64 {
        let has = u32::try_from(self.boxes.len() + self.making + 1);
        self.requests.at(now) / has.map_or(f64::MAX, f64::from)
    }
}
