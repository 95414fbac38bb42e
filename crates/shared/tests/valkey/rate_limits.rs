//! Limits of several servers, each with a connection of its own.

use std::collections::BTreeSet;
use std::net::{IpAddr, Ipv4Addr};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;

use rustix::process::Signal;
use sandpiper_shared::{
    CallError, ClientLimit, LimitDecisionKind, Observe, RateLimits,
};
use sandpiper_testkit::Valkey;
use tokio::time::{Instant, sleep, timeout};

use super::PATIENCE;
use LimitDecisionKind::{Admitted, Refused, Repeated};

const MINUTE: Duration = Duration::from_secs(60);
const POLL: Duration = Duration::from_millis(10);

/// A server's view of these Valkeys.
pub(super) async fn limits(urls: &[String]) -> RateLimits {
    limits_within(urls, PATIENCE).await
}

/// The view of a server that waits so long for answers.
async fn limits_within(urls: &[String], within: Duration) -> RateLimits {
    let urls = urls.iter().map(|url| url.parse().unwrap()).collect();
    let observe: Observe = Arc::new(|_, _| {});
    let limits = RateLimits::start(urls, within, &observe);
    timeout(PATIENCE, limits.until_up()).await.unwrap();
    limits
}

/// Of a limit in a minute. An IPv6 /64 has ten times that.
pub(super) fn client(address: &str, limit: u32) -> ClientLimit {
    let address: IpAddr = address.parse().unwrap();
    let prefix = match address {
        IpAddr::V4(_) => None,
        IpAddr::V6(address) => {
            let bits = address.to_bits() >> 64 << 64;
            Some((std::net::Ipv6Addr::from_bits(bits).into(), limit * 10))
        }
    };
    ClientLimit { address, limit, prefix, window: MINUTE }
}

/// The decision of a Valkey that answers.
pub(super) async fn admit(
    limits: &RateLimits,
    client: ClientLimit,
    id: &str,
) -> (LimitDecisionKind, u32) {
    timeout(PATIENCE, limits.until_up()).await.unwrap();
    let decision = limits.admit(client, id).await.unwrap();
    (decision.kind, decision.remaining)
}

#[tokio::test]
#[ignore = "needs Valkey"]
async fn a_client_has_one_limit_at_all_servers() {
    let valkey = Valkey::start(&[]);
    let urls = [valkey.url("")];
    let (one, two) = (limits(&urls).await, limits(&urls).await);
    let own = client("192.0.2.1", 2);
    assert_eq!(admit(&one, own, "a").await, (Admitted, 1));
    assert_eq!(two.quota(own).await.unwrap().remaining, 1);
    assert_eq!(admit(&two, own, "b").await, (Admitted, 0));
    assert_eq!(admit(&one, own, "c").await, (Refused, 0));
    let other = client("192.0.2.2", 2);
    assert_eq!(admit(&one, other, "d").await, (Admitted, 1));
    let decision = two.admit(own, "e").await.unwrap();
    assert!(decision.reset <= MINUTE && decision.reset > Duration::ZERO);
}

#[tokio::test]
#[ignore = "needs Valkey"]
async fn four_tries_of_a_request_count_as_one() {
    let valkey = Valkey::start(&[]);
    let urls = [valkey.url("")];
    let nodes = [limits(&urls).await, limits(&urls).await];
    for address in ["192.0.2.1", "2001:db8::1"] {
        let own = client(address, 3);
        let mut decisions = Vec::new();
        for number in 0..10 {
            decisions.push(admit(&nodes[number % 2], own, "a").await);
        }
        let again = |left| [(Repeated, left); 3];
        let expected = [
            &[(Admitted, 2)][..],
            &again(2),
            &[(Admitted, 1)],
            &again(1),
            &[(Admitted, 0), (Repeated, 0)],
        ];
        assert_eq!(decisions, expected.concat());
        assert_eq!(admit(&nodes[0], own, "b").await, (Refused, 0));
        // Tries that were admitted stay so; the others are counted first.
        let mut kinds = Vec::new();
        for _ in 0..5 {
            kinds.push(admit(&nodes[1], own, "a").await.0);
        }
        let refused = [Refused; 3];
        assert_eq!(kinds, [&[Repeated; 2][..], &refused].concat());
    }
}

#[tokio::test]
#[ignore = "needs Valkey"]
async fn a_prefix_has_a_limit_of_its_own() {
    let valkey = Valkey::start(&[]);
    let limits = limits(&[valkey.url("")]).await;
    let host = |number| client(&format!("2001:db8:0:1::{number:x}"), 2);
    for number in 0..10 {
        assert_eq!(admit(&limits, host(number), "a").await.0, Admitted);
        assert_eq!(admit(&limits, host(number), "b").await.0, Admitted);
    }
    assert_eq!(admit(&limits, host(11), "c").await, (Refused, 0));
    let other = client("2001:db8:0:2::1", 2);
    assert_eq!(admit(&limits, other, "d").await, (Admitted, 1));
}

#[tokio::test]
#[ignore = "needs Valkey"]
async fn every_key_expires() {
    let valkey = Valkey::start(&[]);
    let limits = limits(&[valkey.url("")]).await;
    for address in ["192.0.2.1", "2001:db8::1"] {
        for id in ["a", "a", "b", "c"] {
            admit(&limits, client(address, 2), id).await;
        }
    }
    let keys = valkey.cli(&["KEYS", "*"]);
    let keys: BTreeSet<&str> = keys.lines().collect();
    let expected = [
        "sp1:l:epoch",
        "sp1:l:{192.0.2.1}",
        "sp1:l:{192.0.2.1}:tries:a",
        "sp1:l:{2001:db8::}",
        "sp1:l:{2001:db8::}:2001:db8::1",
        "sp1:l:{2001:db8::}:tries:2001:db8::1 a",
    ];
    assert_eq!(keys, BTreeSet::from(expected));
    for key in keys {
        let left: u32 = valkey.cli(&["PTTL", key]).trim().parse().unwrap();
        let most = if key.ends_with("epoch") { 3_600_000 } else { 61_000 };
        assert!(left <= most, "{key} {left}");
    }
}

/// A client that repeats requests without end takes no more and more memory.
#[tokio::test]
#[ignore = "needs Valkey"]
async fn the_tries_of_each_request_expire_by_themselves() {
    let valkey = Valkey::start(&[]);
    let limits = limits(&[valkey.url("")]).await;
    let window = Duration::from_millis(100);
    let own = ClientLimit { window, ..client("192.0.2.1", 9) };
    let key = |id: &str| format!("sp1:l:{{192.0.2.1}}:tries:{id}");
    let begun = Instant::now();
    // On a busy machine a request may come too late to be a repeated one.
    for id in ["a", "b"] {
        while valkey.cli(&["KEYS", &key("*")]).trim() != key(id) {
            assert!(begun.elapsed() < PATIENCE, "of {id} alone");
            for _ in 0..2 {
                admit(&limits, own, id).await;
            }
        }
    }
}

/// A call: when it was sent, when it was answered, and how.
type Call = (Instant, Instant, Option<LimitDecisionKind>);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs Valkey"]
async fn no_window_has_too_many_or_too_few() {
    const LIMIT: u32 = 20;
    const WINDOW: Duration = Duration::from_secs(1);
    let valkey = Valkey::start(&[]);
    let urls = [valkey.url("")];
    let mut nodes = Vec::new();
    for _ in 0..4 {
        nodes.push(Arc::new(limits(&urls).await));
    }
    let own = ClientLimit { window: WINDOW, ..client("192.0.2.1", LIMIT) };
    let begun = Instant::now();
    let admitted = Arc::new(AtomicU32::new(0));
    let tasks: Vec<_> = (0..64_usize)
        .map(|task| {
            let (nodes, admitted) = (nodes.clone(), Arc::clone(&admitted));
            tokio::spawn(async move {
                let mut calls: Vec<Call> = Vec::new();
                let mut number = 0;
                while admitted.load(Relaxed) <= 3 * LIMIT {
                    assert!(begun.elapsed() < PATIENCE);
                    let id = format!("{task}-{number}");
                    // One in ten is sent twice, to different nodes.
                    let tries = if number % 10 == 0 { 2 } else { 1 };
                    for t in 0..tries {
                        let node = &nodes[(task + number + t) % nodes.len()];
                        let sent = Instant::now();
                        let answer = node.admit(own, &id).await;
                        let kind = answer.ok().map(|decision| decision.kind);
                        let is_more = u32::from(kind == Some(Admitted));
                        admitted.fetch_add(is_more, Relaxed);
                        calls.push((sent, Instant::now(), kind));
                    }
                    number += 1;
                    sleep(POLL).await;
                }
                calls
            })
        })
        .collect();
    let mut calls = Vec::new();
    for task in tasks {
        calls.extend(task.await.unwrap());
    }
    check_windows(&calls, LIMIT as usize, WINDOW);
}

/// Checks that Valkey can have given these decisions at moments between the
/// sending of each call and its answer, but no others.
fn check_windows(calls: &[Call], limit: usize, window: Duration) {
    let of = |wanted: LimitDecisionKind| {
        calls.iter().filter(move |(_, _, kind)| *kind == Some(wanted))
    };
    let mut admitted: Vec<&Call> = of(Admitted).collect();
    admitted.sort_by_key(|(sent, _, _)| *sent);
    assert!(admitted.len() > 3 * limit, "{} admitted", admitted.len());
    assert!(of(Refused).count() > limit, "hardly any refused");
    for start in &admitted {
        // All that were surely admitted within a window from here.
        let end = start.0 + window;
        let within = admitted
            .iter()
            .filter(|(sent, answered, _)| *sent >= start.0 && *answered < end)
            .count();
        assert!(within <= limit, "{within} in a window");
    }
    // A call without an answer may have been admitted at any time.
    let unknown = calls.iter().filter(|(_, _, kind)| kind.is_none()).count();
    for (sent, answered, _) in of(Refused) {
        let maybe = admitted
            .iter()
            .filter(|call| call.1 + window > *sent && call.0 < *answered)
            .count();
        assert!(maybe + unknown >= limit, "{maybe} in the window of a refusal");
    }
}

#[tokio::test]
#[ignore = "needs Valkey"]
async fn a_valkey_that_was_gone_counts_alone_after_a_window() {
    let mut valkey = Valkey::start(&[]);
    let limits = limits(&[valkey.url("")]).await;
    let window = Duration::from_secs(1);
    let own = ClientLimit { window, ..client("192.0.2.1", 1) };
    let begun = Instant::now();
    while !limits.has_whole_window(own) {
        assert!(begun.elapsed() < PATIENCE);
        sleep(POLL).await;
    }
    assert_eq!(admit(&limits, own, "a").await.0, Admitted);
    valkey.kill();
    assert_eq!(limits.admit(own, "b").await, Err(CallError::Unreachable));
    assert_eq!(limits.quota(own).await, Err(CallError::Unreachable));
    assert!(!limits.state().is_up && !limits.has_whole_window(own));
    let restarted = Instant::now();
    valkey.restart();
    timeout(PATIENCE, limits.until_up()).await.unwrap();
    let is_whole = limits.has_whole_window(own);
    assert!(!is_whole || restarted.elapsed() > window);
    assert_eq!(admit(&limits, own, "c").await.0, Admitted);
    while !limits.has_whole_window(own) {
        assert!(begun.elapsed() < PATIENCE);
        sleep(POLL).await;
    }
    valkey.cli(&["FLUSHALL"]);
    while limits.has_whole_window(own) {
        assert!(begun.elapsed() < PATIENCE);
        sleep(POLL).await;
    }
    assert!(limits.state().is_up);
}

#[tokio::test]
#[ignore = "needs Valkey"]
async fn a_stopped_valkey_costs_three_pauses() {
    let valkey = Valkey::start(&[]);
    let within = Duration::from_millis(200);
    let limits = limits_within(&[valkey.url("")], within).await;
    let own = client("192.0.2.1", 9);
    valkey.signal(Signal::STOP);
    for _ in 0..3 {
        let answer = limits.admit(own, "a").await;
        assert_eq!(answer, Err(CallError::Unreachable));
        assert!(!limits.has_whole_window(own));
    }
    assert!(!limits.state().is_up);
    let failures = limits.state().failures;
    for _ in 0..1_000 {
        assert_eq!(limits.admit(own, "b").await, Err(CallError::Unreachable));
    }
    // None of these asked Valkey.
    assert!(limits.state().failures < failures + 100);
    valkey.signal(Signal::CONT);
    timeout(PATIENCE, limits.until_up()).await.unwrap();
}

/// The log and the metrics have it, and the node counts beside Valkey.
#[tokio::test]
#[ignore = "needs Valkey"]
async fn an_answer_of_another_form_is_a_failed_call() {
    let valkey = Valkey::start(&[]);
    let limits = limits(&[valkey.url("")]).await;
    let text = "#!lua name=sandpiper_limits2
        local function open(keys) return server.call('GET', keys[1]) end
        server.register_function('sp2_limits_open', open)
        server.register_function('sp2_admit', function() return {3, 19, 0} end)";
    let loaded = valkey.cli(&["FUNCTION", "LOAD", "REPLACE", text]);
    assert_eq!(loaded, "sandpiper_limits2\n");
    let own = client("192.0.2.1", 2);
    assert_eq!(limits.admit(own, "a").await, Err(CallError::BadAnswer));
    let state = limits.state();
    assert_eq!((state.is_up, state.failures), (true, 1));
}

#[tokio::test]
#[ignore = "needs Valkey"]
async fn clients_are_spread_over_valkeys() {
    let valkeys = [Valkey::start(&[]), Valkey::start(&[])];
    let urls = valkeys.each_ref().map(|valkey| valkey.url(""));
    let backwards = [urls[1].clone(), urls[0].clone()];
    let (one, two) = (limits(&urls).await, limits(&backwards).await);
    for number in 0..32 {
        let address = Ipv4Addr::from(number).to_string();
        assert_eq!(admit(&one, client(&address, 2), "a").await.1, 1);
        assert_eq!(admit(&two, client(&address, 2), "b").await.1, 0);
    }
    for valkey in &valkeys {
        let size: u32 = valkey.cli(&["DBSIZE"]).trim().parse().unwrap();
        // One is that of the epoch.
        assert!(size > 4, "{size}");
    }
    let [gone, _stays] = valkeys;
    drop(gone);
    let mut reached = 0;
    for number in 0..32 {
        let own = client(&Ipv4Addr::from(number).to_string(), 2);
        reached += u32::from(one.quota(own).await.is_ok());
    }
    assert!((1..32).contains(&reached), "{reached}");
}

/// The rights that the calls of a server need.
const NODE: &str = "node on >pass ~sp1:* resetchannels -@all +auth \
                    +client|setinfo +fcall +function|load +time +zadd +zcard \
                    +zrange +zremrangebyscore +zscore +pexpire +get \
                    +set";

#[tokio::test]
#[ignore = "needs Valkey"]
async fn a_node_may_do_nothing_else() {
    let rights: Vec<&str> = NODE.split_whitespace().collect();
    let valkey = Valkey::start(&[&["--user"][..], &rights].concat());
    let limits = limits(&[valkey.url("node:pass@")]).await;
    for address in ["192.0.2.1", "2001:db8::1"] {
        let kinds = [Admitted, Repeated, Repeated, Repeated, Refused, Refused];
        for kind in kinds {
            let decision = admit(&limits, client(address, 1), "a").await;
            assert_eq!(decision.0, kind, "{address}");
        }
    }
    for command in [
        "KEYS *",
        "FLUSHALL",
        "CONFIG GET dir",
        "EVAL 1 0",
        "FUNCTION DELETE sandpiper_limits2",
        "FUNCTION FLUSH",
        "SHUTDOWN",
        "MONITOR",
        "ACL LIST",
        "CLIENT LIST",
        "REPLICAOF 127.0.0.1 1",
        "PUBLISH a b",
        "GET other",
    ] {
        let login = ["--user", "node", "--pass", "pass"];
        let words: Vec<&str> = command.split(' ').collect();
        let answer = valkey.cli(&[&login[..], &words].concat());
        assert!(answer.starts_with("NOPERM"), "{command}: {answer}");
    }
}
