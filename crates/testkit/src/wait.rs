//! Waiting for something that happens soon.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// Longer than anything takes that happens at all; reached only by a failure.
const PATIENCE: Duration = Duration::from_secs(120);

/// Between looks. Each look takes CPU time from what is waited for, and more so
/// the longer that takes.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const MAX_PAUSE: Duration = Duration::from_millis(100);

/// Returns as soon as `is_so`.
///
/// # Panics
///
/// After two minutes, with `what` never happened.
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    let mut pause = FIRST_PAUSE;
    while !is_so() {
        assert!(Instant::now() < deadline, "never: {what}");
        sleep(pause);
        pause = (pause * 2).min(MAX_PAUSE);
    }
}
