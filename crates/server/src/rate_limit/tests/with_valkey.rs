//! Shared limits with real Valkeys, which each test starts.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures_util::future::join_all;
use proptest::test_runner::{Config, TestRunner};
use rustix::process::Signal;
use sandpiper_shared::{Library, Link, Value};
use sandpiper_testkit::decisions::{Watch, assert_exact};
use sandpiper_testkit::{Valkey, is_full};
use tokio::runtime::Builder;
use tokio::task::JoinSet;
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

/// Valkey counts a request when this server has decided about it alone.
#[tokio::test]
#[ignore = "needs Valkey"]
async fn an_answer_that_comes_too_late_counts_once() {
    let valkey = Valkey::start(&[]);
    let url = valkey.url("");
    let within = Duration::from_millis(50);
    let urls = vec![url.parse().unwrap()];
    let one = SharedLimiter::start(limiter(4), urls, within, Shared::default());
    let two = shared(4, &[&url]);
    until(&one, true).await;
    until(&two, true).await;
    let guest = client("192.0.2.1");
    valkey.signal(Signal::STOP);
    assert_eq!(left(&one, guest).await, Some(3));
    valkey.signal(Signal::CONT);
    let begun = Instant::now();
    while valkey.cli(&["ZCARD", "sp1:l:{192.0.2.1}"]) != "1\n" {
        assert!(begun.elapsed() < PATIENCE, "it is not counted");
        sleep(POLL).await;
    }
    assert_eq!(one.quota(guest).await.unwrap().remaining, 3);
    assert_eq!(two.quota(guest).await.unwrap().remaining, 3);
    for expected in [Some(2), Some(1), Some(0), None] {
        assert_eq!(left(&one, guest).await, expected);
    }
    assert_eq!(one.quota(guest).await.unwrap().remaining, 0);
}

#[tokio::test]
#[ignore = "needs Valkey"]
async fn the_own_limit_knows_every_admission() {
    let window = SECOND;
    let valkey = Valkey::start(&[]);
    let own = LocalLimiter::new(5, Vec::new(), window);
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

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Valkey"]
async fn many_clients_of_three_servers_have_one_exact_limit() {
    const LIMIT: usize = 20;
    const TASKS: usize = 64;
    const WINDOWS: usize = 5;
    let window = SECOND;
    let valkey = Valkey::start(&[]);
    let start = || {
        let own = LocalLimiter::new(20, Vec::new(), window);
        let urls = vec![valkey.url("").parse().unwrap()];
        SharedLimiter::start(own, urls, PATIENCE, Shared::default())
    };
    let servers = [(); 3].map(|()| Arc::new(start()));
    let guest = client("192.0.2.1");
    for server in &servers {
        until(server, true).await;
        let client = server.shared_client(guest).unwrap();
        // Until then a server's own limit can refuse a request.
        let begun = Instant::now();
        while !server.limits.has_whole_window(client) {
            assert!(begun.elapsed() < PATIENCE, "Valkey fails calls");
            sleep(POLL).await;
        }
    }
    let watch = Watch::begin(&valkey, "", "sp1:l:{192.0.2.1}", window);
    let admitted = Arc::new(AtomicUsize::new(0));
    let mut tasks = JoinSet::new();
    for number in 0..TASKS {
        let server = Arc::clone(&servers[number % servers.len()]);
        let admitted = Arc::clone(&admitted);
        tasks.spawn(async move {
            while admitted.load(Ordering::Relaxed) < WINDOWS * LIMIT {
                if left(&server, guest).await.is_some() {
                    admitted.fetch_add(1, Ordering::Relaxed);
                }
            }
        });
    }
    timeout(PATIENCE, tasks.join_all()).await.expect("nobody is admitted");
    let decisions = watch.end(&valkey, "");
    let counted = decisions.iter().filter(|it| it.is_admitted).count();
    assert_eq!(admitted.load(Ordering::Relaxed), counted);
    assert!(decisions.len() > 2 * counted, "{}", decisions.len());
    assert_exact(&decisions, LIMIT, window);
}

/// A request: the gap before it in microseconds, the client, whether it counts.
type Step = (i64, usize, bool);

/// A window in microseconds, a limit, and requests.
fn sequences() -> impl Strategy<Value = (i64, u32, Vec<Step>)> {
    let windows = prop_oneof![Just(60_000_000), 10_000_000..60_000_000_i64];
    // In some sequences a window has many requests.
    let often = prop_oneof![Just(4_u32), Just(60)];
    (windows, 1..8_u32, often).prop_flat_map(|(window, limit, often)| {
        let gap = prop_oneof![
            often => Just(0),
            often => 0..=window / 20,
            2 => 0..=window / 3,
            1 => Just(window - 1),
            1 => Just(window),
            // A clock that is set back.
            1 => -window / 10..0,
        ];
        let place = prop_oneof![0..6_usize, 0..CLIENTS.len()];
        let step = (gap, place, prop::bool::weighted(0.8));
        let steps = proptest::collection::vec(step, 1..120);
        (Just(window), Just(limit), steps)
    })
}

/// The last ones share a prefix, whose limit they reach together.
const CLIENTS: [&str; 15] = [
    "192.0.2.1",
    "192.0.2.2",
    "2001:db8:0:1::1",
    "2001:db8::1",
    "2001:db8::2",
    "2001:db8::3",
    "2001:db8::4",
    "2001:db8::5",
    "2001:db8::6",
    "2001:db8::7",
    "2001:db8::8",
    "2001:db8::9",
    "2001:db8::a",
    "2001:db8::b",
    "2001:db8::c",
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
    limiter: &LocalLimiter,
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
    // With another thread each answer would wait for two changes of threads.
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
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
        let limiter = LocalLimiter::new(limit, Vec::new(), span);
        let mut time = BEGIN;
        let steps: Vec<_> = steps
            .into_iter()
            .map(|(gap, place, counts)| {
                time += gap;
                (client(CLIENTS[place]), time, counts)
            })
            .collect();
        // On one connection they are answered in their order. Valkey gets the
        // whole sequence before it is asked for the first answer.
        let found = runtime.block_on(join_all(steps.iter().map(|step| {
            let (client, time, counts) = *step;
            let asking = (limit, window, time);
            asked(&link, number.get(), client, asking, counts)
        })));
        for ((client, time, counts), found) in steps.into_iter().zip(found) {
            let expected = own_verdict(&limiter, client, time, counts);
            prop_assert_eq!(found, expected, "{} at {}", client, time);
        }
        Ok(())
    });
    played.unwrap();
}
