//! When the shelves are filled again.

use std::path::PathBuf;
use std::pin::pin;

use sandpiper_sandbox::BoxSpec;
use tokio::time::sleep;

use super::*;

/// How long after a run took a box the shelves are filled, when the run lasts
/// so long.
async fn filled_after(run_time: Duration) -> Duration {
    let ready = ReadyBoxes::new(MIB, 1);
    let mut changed = pin!(ready.shared.changed.notified());
    changed.as_mut().enable();
    let begun = tokio::time::Instant::now();
    let of_run = ready.clone();
    tokio::spawn(async move {
        let refill = of_run.refill_later();
        of_run.beside(pin!(sleep(run_time))).await;
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

/// Shelves without a box, one for each language: in how many ms one was made
/// before, and since how many another is being made; 0: never, and none is.
/// More of each than one is wanted, of the first most.
fn shelves(of: &[(&str, u64, u64)], now: Instant) -> ReadyBoxes {
    let ready = ReadyBoxes::new(64 * MIB, 8);
    let kind = |language: &str| {
        Kind::of_spec(BoxSpec {
            rootfs: PathBuf::from(language),
            memory_bytes: 0,
            processes: 0,
            disk_bytes: 0,
            inodes: 0,
        })
    };
    let offered = of.iter().map(|(name, ..)| ((*name).to_owned(), kind(name)));
    ready.offer(offered.collect());
    let ms = Duration::from_millis;
    let asked_for = (1..=20).rev();
    let mut shelves = ready.shelves();
    let all = shelves.iter_mut().zip(of).zip(asked_for);
    for ((shelf, &(_, took, since)), asked_for) in all {
        shelf.cost = Some(MIB);
        if took > 0 {
            // The least of them counts.
            shelf.took(ms(took));
            shelf.took(ms(2_000));
        }
        if since > 0 {
            shelf.making = 1;
            shelf.making_since = now.checked_sub(ms(since));
        }
        (0..asked_for).for_each(|_| shelf.demand.add(now));
    }
    drop(shelves);
    ready
}

#[test]
fn while_runs_wait_only_what_is_quick_is_made_and_one_at_a_time() {
    let check = |of: &[(&str, u64, u64)], is_contended, expected: &str| {
        let now = Instant::now();
        let ready = shelves(of, now);
        let work = |now| match ready.next(now, is_contended) {
            Work::Make(kind) => kind.spec.rootfs.display().to_string(),
            Work::Destroy(_) => "destroy".to_owned(),
            Work::Wait(time) => format!("{} ms", time.as_millis()),
        };
        let (first, second) = (work(now), work(now));
        assert_eq!(format!("{first}, {second}"), expected, "{of:?}");
    };
    check(&[("java", 900, 0)], false, "java, java");
    check(&[("java", 900, 0)], true, "100 ms, 100 ms");
    check(&[("never", 0, 0)], true, "100 ms, 100 ms");
    check(&[("java", 900, 1), ("c", 2, 0)], false, "c, java");
    check(&[("java", 900, 1), ("c", 2, 0)], true, "c, 100 ms");
    check(&[("java", 900, 0), ("c", 2, 1)], true, "100 ms, 100 ms");
    check(&[("python", 40, 0), ("c", 2, 1)], true, "100 ms, 100 ms");
    check(&[("python", 40, 0), ("c", 2, 1)], false, "python, python");
    // One that is not quick now keeps no other back.
    check(&[("python", 40, 60), ("c", 2, 0)], true, "c, 100 ms");
    check(&[], true, "10000 ms, 10000 ms");
    check(&[], false, "10000 ms, 10000 ms");
}
