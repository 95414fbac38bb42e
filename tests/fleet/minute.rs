//! 20 requests in any minute, over all nodes and by the clock of Valkey, though 64
//! are always on the way.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use sandpiper_testkit::decisions::assert_exact;
use sandpiper_testkit::{eventually, is_full};

use crate::Test;
use crate::client::Client;
use crate::fleet::{Fleet, Setup};
use crate::limits::{ALONE, LIMIT, ask, is_admitted, wait_for_valkey};
use crate::valkey::{MINUTE, Valkey};

pub(crate) const TESTS: &[(&str, Test)] =
    &[("minute/20-in-any", twenty_in_any)];

const AT_ONCE: usize = 64;
/// Answers of the Valkey to requests that it was asked to count.
const CALLS: &str = r#"sandpiper_shared_seconds_count{call="sp2_admit"}"#;
/// With `FULL=1` they ask for so long.
const FULL_TIME: Duration = Duration::from_secs(70);
/// They ask so long after the nodes have reached the Valkey, and from a minute after
/// that moment on: for so long there is no room yet.
const BEFORE: Duration = Duration::from_millis(250);

fn twenty_in_any() {
    let fleet = Fleet::start(Setup { limits: true, ..Setup::default() });
    wait_for_valkey(&fleet);
    let to = fleet.address();
    let client = Client::new();
    let valkey = fleet.limits.as_ref().unwrap();
    let watch = valkey.watch(client.address);
    let admitted = AtomicUsize::new(0);
    let all_ask = || {
        std::thread::scope(|scope| {
            for _ in 0..AT_ONCE {
                scope.spawn(|| {
                    if is_admitted(&ask(client, to, &[])) {
                        admitted.fetch_add(1, Ordering::Relaxed);
                    }
                });
            }
        });
    };
    // On a busy machine a node may not wait long enough for the Valkey, and then
    // decides alone. These requests may pass or not.
    let seen = || (admitted.load(Ordering::Relaxed), fleet.count(ALONE));
    let begun = now(valkey);
    // Until then a node's own limit counts, too, and may be reached by requests
    // whose answer is still to come.
    let whole = begun + MINUTE;
    wait(valkey, if is_full() { whole } else { begun + BEFORE });
    all_ask();
    let (passed, alone) = seen();
    assert_eq!(fleet.count(CALLS) + alone, AT_ONCE, "one call for each");
    assert!(passed.abs_diff(LIMIT) <= alone, "{passed}, {alone}");
    // By default they ask on both sides of the moment at which there is room.
    wait(valkey, whole);
    let is_enough = || {
        watch.admitted() >= 2 * LIMIT
            && (!is_full() || now(valkey) > whole + FULL_TIME)
    };
    let deadline = whole + FULL_TIME + 2 * MINUTE;
    while !is_enough() {
        let begun = now(valkey);
        assert!(begun < deadline, "{} are admitted", watch.admitted());
        all_ask();
        if is_full() {
            // Nodes that are always busy would wait too long for the Valkey.
            wait(valkey, begun + BEFORE);
        }
    }
    let decisions = valkey.decided(watch);
    let counted = decisions.iter().filter(|it| it.is_admitted).count();
    let (passed, alone) = seen();
    assert!(passed.abs_diff(counted) <= alone, "{passed}, {counted}, {alone}");
    let shortest = assert_exact(&decisions, LIMIT, MINUTE);
    println!(
        "{counted} of {} requests, {} in {shortest} µs at least; {alone} more \
         without the Valkey",
        decisions.len(),
        LIMIT + 1
    );
}

/// Waits for a time of the Valkey's clock.
fn wait(valkey: &Valkey, time: Duration) {
    eventually("the Valkey has this time", || now(valkey) >= time);
}

/// Returns the time of the Valkey's clock.
fn now(valkey: &Valkey) -> Duration {
    let time = valkey.ask(&["TIME"]);
    let [seconds, micros] = [0, 1].map(|it| time[it].parse().unwrap());
    Duration::from_secs(seconds) + Duration::from_micros(micros)
}
