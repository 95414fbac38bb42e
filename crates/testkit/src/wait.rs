//! Waiting for something that happens soon.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// Longer than anything takes that happens at all; reached only by a failure.
const PATIENCE: Duration = Duration::from_secs(120);

/// Returns as soon as `is_so`.
///
/// # Panics
///
/// After two minutes, with `what` never happened.
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "never: {what}");
        sleep(Duration::from_millis(20));
    }
}
