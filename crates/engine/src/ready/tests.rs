//! When the shelves are filled again.

use std::pin::pin;

use tokio::time::{Instant, sleep};

use super::*;

/// How long after a run took a box the shelves are filled, when the run lasts
/// so long.
async fn filled_after(run_time: Duration) -> Duration {
    let ready = ReadyBoxes::new(MIB, 1);
    let mut changed = pin!(ready.shared.changed.notified());
    changed.as_mut().enable();
    let begun = Instant::now();
    let of_run = ready.clone();
    tokio::spawn(async move {
        let refill = of_run.refill_later();
        of_run.beside(sleep(run_time)).await;
        drop(refill);
    });
    changed.await;
    begun.elapsed()
}

#[tokio::test(start_paused = true)]
async fn shelves_are_filled_when_the_run_is_over_or_long() {
    // The clock is as fine as a millisecond.
    let check = async |run_ms: u64, expected_ms: u64| {
        let after = filled_after(Duration::from_millis(run_ms)).await;
        let expected = Duration::from_millis(expected_ms);
        let late = after.checked_sub(expected);
        let is_right = late.is_some_and(|late| late.as_millis() <= 1);
        assert!(is_right, "a run of {run_ms} ms: after {after:?}");
    };
    check(0, 0).await;
    check(3, 3).await;
    check(90, 90).await;
    check(5_000, 100).await;
}
