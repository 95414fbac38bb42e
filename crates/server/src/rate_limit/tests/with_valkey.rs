//! Shared limits with real Valkeys, which each test starts.

use std::sync::Arc;

use proptest::test_runner::{Config, TestRunner};
use sandpiper_shared::{Library, Link, Value};
use sandpiper_testkit::{Valkey, is_full};
use tokio::runtime::Runtime;
use tokio::time::{sleep, timeout};

use super::shared::{id, left, left_of, shared};
use super::*;

const PATIENCE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(10);

/// Waits until the limiter reaches its Valkey, or does not.
async fn until(shared: &SharedLimiter, is_up: bool) {
    let begun = Instant::now();
    while shared.limits.state().is_up != is_up {
        assert!(begun.elapsed() < PATIENCE, "{:?}", shared.limits.state());
        sleep(POLL).await;
    }
}

#[tokio::test]
#[ignore = "needs Valkey"]
async fn servers_share_a_limit_and_each_has_its_own_beside_it() {
    let mut valkey = Valkey::start(&[]);
    let url = valkey.url("");
    let [one, two] = [shared(4, &[&url]), shared(4, &[&url])];
    let guest = client("2001:db8::1");
    until(&one, true).await;
    until(&two, true).await;
    let again = id();
    assert_eq!(left_of(&one, guest, &again).await, Some(3));
    assert_eq!(left_of(&two, guest, &again).await, Some(3));
    assert_eq!(left(&one, guest).await, Some(2));
    assert_eq!(left(&one, guest).await, Some(1));
    assert_eq!(two.quota(guest).await.unwrap().remaining, 1);
    assert_eq!(left(&two, guest).await, Some(0));
    assert_eq!(left(&one, guest).await, None);
    assert_eq!(left(&two, guest).await, None);

    valkey.kill();
    until(&one, false).await;
    until(&two, false).await;
    // One has admitted three, and the other one: a try elsewhere is no request.
    assert_eq!(left(&one, guest).await, Some(0));
    assert_eq!(left(&one, guest).await, None);
    assert_eq!(left(&two, guest).await, Some(2));

    // Valkey comes back without the counts, so both have to agree.
    valkey.restart();
    until(&one, true).await;
    until(&two, true).await;
    assert_eq!(left(&one, guest).await, None);
    assert_eq!(two.quota(guest).await.unwrap().remaining, 2);
    assert_eq!(left(&two, guest).await, Some(1));
    assert_eq!(left(&two, guest).await, Some(0));
    assert_eq!(left(&two, guest).await, None);
    let third = shared(4, &[&url]);
    until(&third, true).await;
    assert_eq!(left(&third, guest).await, Some(1));
}

#[tokio::test]
#[ignore = "needs Valkey"]
async fn the_own_limit_knows_every_admission() {
    let window = SECOND;
    let valkey = Valkey::start(&[]);
    let own = RateLimiter::new(5, Vec::new(), window);
    let urls = vec![valkey.url("").parse().unwrap()];
    let shared = SharedLimiter::start(own, urls, PATIENCE, Shared::default());
    let one = client("192.0.2.1");
    until(&shared, true).await;
    let begun = Instant::now();
    loop {
        assert!(begun.elapsed() < PATIENCE);
        let at = Instant::now();
        // From a window after the connection on, Valkey decides alone.
        let is_alone =
            shared.limits.has_whole_window(shared.shared_client(one).unwrap());
        let left = left(&shared, one).await;
        let own = shared.own.quota(one, Instant::now()).unwrap();
        if is_alone && left == Some(4) && at.elapsed() < window {
            assert_eq!(own.remaining, 4);
            return;
        }
        sleep(window).await;
    }
}

/// A request: the gap before it in microseconds, the client, whether it counts.
type Step = (i64, usize, bool);

/// A window in microseconds, a limit, and requests.
fn sequences() -> impl Strategy<Value = (i64, u32, Vec<Step>)> {
    let windows = prop_oneof![Just(60_000_000), 10_000_000..60_000_000_i64];
    (windows, 1..8_u32).prop_flat_map(|(window, limit)| {
        let gap = prop_oneof![
            4 => Just(0),
            4 => 0..=window / 20,
            2 => 0..=window / 3,
            1 => Just(window - 1),
            1 => Just(window),
            // A clock that is set back.
            1 => -window / 10..0,
        ];
        let step = (gap, 0..CLIENTS.len(), prop::bool::weighted(0.8));
        let steps = proptest::collection::vec(step, 1..120);
        (Just(window), Just(limit), steps)
    })
}

/// Some share a prefix.
const CLIENTS: [&str; 6] = [
    "192.0.2.1",
    "192.0.2.2",
    "2001:db8::1",
    "2001:db8::2",
    "2001:db8::3",
    "2001:db8:0:1::1",
];

const LIBRARY: Library = Library {
    part: "test",
    text: include_str!("../../../../shared/src/rate_limits.lua"),
    open: "sp2_limits_open",
    epoch_key: "epoch",
    within: PATIENCE,
    without: "the test fails",
};

/// Asks Valkey about a request at this time. The keys have their own name
/// in each sequence.
async fn asked(
    link: &Link,
    sequence: usize,
    client: IpAddr,
    (limit, window, time): (u32, i64, i64),
    counts: bool,
) -> Vec<i64> {
    let mut logs: Vec<(String, u32)> = keys(client, limit)
        .into_iter()
        .flatten()
        .map(|(key, limit)| (format!("{sequence} {key:?}"), limit))
        .collect();
    logs.insert(0, (format!("{sequence} {client} tries"), 0));
    let names: Vec<&str> = logs.iter().map(|(name, _)| name.as_str()).collect();
    let mut args = vec![rand::random::<u64>().to_string(), window.to_string()];
    args.push(u8::from(counts).to_string());
    args.extend(logs.iter().skip(1).map(|(_, limit)| limit.to_string()));
    args.push(time.to_string());
    let args: Vec<&[u8]> = args.iter().map(String::as_bytes).collect();
    let answer = link.call("sp2_admit", &names, &args, PATIENCE).await;
    let Ok(Value::Array(parts)) = answer else { panic!("{answer:?}") };
    let number = |part: Value| match part {
        Value::Int(number) => number,
        other => panic!("{other:?}"),
    };
    parts.into_iter().map(number).collect()
}

/// The verdict of this server's own limit, in the words of Valkey.
fn own_verdict(
    limiter: &RateLimiter,
    client: IpAddr,
    time: i64,
    counts: bool,
) -> Vec<i64> {
    let time = limiter.start + Duration::from_micros(time.unsigned_abs());
    let verdict = if counts {
        limiter.admit(client, time).unwrap()
    } else {
        let quota = limiter.quota(client, time).unwrap();
        if quota.remaining > 0 {
            Verdict::Admitted(quota)
        } else {
            Verdict::Refused(quota)
        }
    };
    let kind = i64::from(matches!(verdict, Verdict::Admitted(_)));
    let Quota { remaining, reset, .. } = verdict.quota();
    vec![kind, remaining.into(), reset.as_micros().try_into().unwrap()]
}

#[test]
#[ignore = "needs Valkey"]
fn valkey_and_table_give_the_same_verdicts() {
    /// Beyond any window before it.
    const BEGIN: i64 = 1_000_000_000;
    let valkey = Valkey::start(&[]);
    let runtime = Runtime::new().unwrap();
    let link = {
        let _inside = runtime.enter();
        let url = valkey.url("").parse().unwrap();
        Link::start(url, LIBRARY, Arc::new(|_, _| {}))
    };
    let up = async { timeout(PATIENCE, link.until_up()).await.unwrap() };
    runtime.block_on(up);
    let cases = if is_full() { 10_000 } else { 1_000 };
    let mut runner = TestRunner::new(Config::with_cases(cases));
    let number = std::cell::Cell::new(0);
    let played = runner.run(&sequences(), |(window, limit, steps)| {
        number.set(number.get() + 1);
        let span = Duration::from_micros(window.unsigned_abs());
        let limiter = RateLimiter::new(limit, Vec::new(), span);
        let mut time = BEGIN;
        for (gap, place, counts) in steps {
            time += gap;
            let client = client(CLIENTS[place]);
            let asking = (limit, window, time);
            let found = runtime.block_on(asked(
                &link,
                number.get(),
                client,
                asking,
                counts,
            ));
            let expected = own_verdict(&limiter, client, time, counts);
            prop_assert_eq!(found, expected, "{} at {}", client, time);
        }
        Ok(())
    });
    played.unwrap();
}
