//! Waits for events by polling.

use std::thread::sleep;
use std::time::{Duration, Instant};

/// The longest wait, which only a failure reaches.
const PATIENCE: Duration = Duration::from_secs(120);

/// The pauses between checks, which double. Each check takes CPU time from the
/// server that is waited for.
const FIRST_PAUSE: Duration = Duration::from_millis(5);
const MAX_PAUSE: Duration = Duration::from_millis(100);

/// Waits until `is_so` returns `true`.
///
/// # Panics
///
/// After two minutes, with `what` as the message.
pub fn eventually(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    let mut pause = FIRST_PAUSE;
    while !is_so() {
        assert!(Instant::now() < deadline, "never: {what}");
        sleep(pause);
        pause = (pause * 2).min(MAX_PAUSE);
    }
}
