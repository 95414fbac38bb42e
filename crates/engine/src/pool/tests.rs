//! When the pool is filled again.

use std::path::PathBuf;
use std::pin::pin;

use sandpiper_sandbox::BoxSpec;
use tokio::time::sleep;

use super::*;

/// Returns the time from the start of a run until the pool is filled.
async fn filled_after(run_time: Duration) -> Duration {
    let pool = BoxPool::new(MIB, 1);
    let mut changed = pin!(pool.inner.changed.notified());
    changed.as_mut().enable();
    let begun = tokio::time::Instant::now();
    let of_run = pool.clone();
    tokio::spawn(async move {
        of_run.refill_if_long(pin!(sleep(run_time))).await;
        of_run.refill();
    });
    changed.await;
    begun.elapsed()
}

#[tokio::test(start_paused = true)]
async fn the_pool_is_filled_when_the_run_is_over_or_long() {
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

/// A pool without a box for each language. The first number is the time in ms
/// in which one was made before, the second the time since another is being
/// made; 0 means never, and none. Each language wants more than one box, the
/// first wants most.
fn pool(of: &[(&str, u64, u64)], now: Instant) -> BoxPool {
    let pool = BoxPool::new(64 * MIB, 8);
    let key = |language: &str| {
        PoolKey::of_spec(BoxSpec {
            rootfs: PathBuf::from(language),
            memory_bytes: 0,
            processes: 0,
            disk_bytes: 0,
            inodes: 0,
        })
    };
    let offered = of.iter().map(|(name, ..)| ((*name).to_owned(), key(name)));
    pool.offer(offered.collect());
    let ms = Duration::from_millis;
    let requests = (1..=20).rev();
    let mut pools = pool.pools();
    let all = pools.iter_mut().zip(of).zip(requests);
    for ((pool, &(_, took, since)), requests) in all {
        pool.cost = Some(MIB);
        if took > 0 {
            // The shortest of them counts.
            pool.record_time(ms(took));
            pool.record_time(ms(2_000));
        }
        if since > 0 {
            pool.making = 1;
            pool.making_since = now.checked_sub(ms(since));
        }
        (0..requests).for_each(|_| pool.requests.add(now));
    }
    drop(pools);
    pool
}

#[test]
fn while_runs_wait_only_quick_boxes_are_made_and_one_at_a_time() {
    let check = |of: &[(&str, u64, u64)], is_contended, expected: &str| {
        let now = Instant::now();
        let pool = pool(of, now);
        let work = |now| match pool.next_work(now, is_contended) {
            Work::Make(key) => key.spec.rootfs.display().to_string(),
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
    // A box that is no longer quick keeps no other back.
    check(&[("python", 40, 60), ("c", 2, 0)], true, "c, 100 ms");
    check(&[], true, "10000 ms, 10000 ms");
    check(&[], false, "10000 ms, 10000 ms");
}
