//! The limit of a client holds over all nodes, whichever of them it asks, and each
//! node keeps to it alone if the Valkey is gone.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use sandpiper_testkit::{Reply, eventually};

use crate::Test;
use crate::balancer::Nginx;
use crate::client::{Client, JSON, printed, read, waits, word};
use crate::fleet::{Fleet, Setup, usual};
use crate::node::{Node, NodeCommand};
use crate::valkey::{MINUTE, Valkey, log_of};

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("limits/as-one-node", as_one_node),
    ("limits/counted-before-the-body", counted_before_the_body),
    ("limits/forged-headers", forged_headers),
    ("limits/memory-is-used-up", memory_is_used_up),
    ("limits/repeated-request-counts-once", repeated_counts_once),
    ("limits/without-valkey", without_valkey),
];

/// 1 if a node counts in the Valkey.
pub(crate) const UP: &str = r#"sandpiper_shared_up{part="limits"}"#;

pub(crate) const LIMIT: usize = 20;
/// Requests on which a node decided without the Valkey.
pub(crate) const ALONE: &str = "sandpiper_limited_locally_total";
/// On a busy machine a node may not wait long enough for the Valkey, and then decides
/// alone: another client is asked for then.
const MAX_ATTEMPTS: usize = 5;

fn fleet() -> Fleet {
    Fleet::start(Setup { limits: true, ..Setup::default() })
}

/// Sends a request that counts and then fails: its `Content-Type` is missing.
pub(crate) fn ask(client: Client, to: SocketAddr, headers: &[&str]) -> Reply {
    let reply = client.try_send(to, "POST /api/compile", headers, "");
    reply.expect("an answer")
}

/// Fails unless the request was either admitted or refused for the limit.
pub(crate) fn is_admitted(reply: &Reply) -> bool {
    assert!([415, 429].contains(&reply.status), "{reply:?}");
    reply.status == 415
}

/// Returns the requests of a client that the Valkey has counted, with their times in
/// µs.
fn times(valkey: &Valkey, client: Client) -> BTreeMap<String, u64> {
    let key = log_of(client.address);
    let all = valkey.ask(&["ZRANGE", &key, "0", "-1", "WITHSCORES"]);
    // An answer without any is one empty line.
    let all = all.chunks_exact(2);
    all.map(|pair| (pair[0].clone(), pair[1].parse().unwrap())).collect()
}

/// The same requests have the same answers from several nodes and from one.
fn as_one_node() {
    let flags = ["--rate-limit-for=198.51.0.0/16=30"];
    let fleet =
        Fleet::start(Setup { limits: true, flags: &flags, ..Setup::default() });
    wait_for_valkey(&fleet);
    let alone = Node::start("a", NodeCommand::with(usual(&flags)));
    let both = Both { fleet: &fleet, alone: &alone };
    let judged = |part: &dyn Fn(usize) -> Option<()>| {
        let is_judged =
            (1..=MAX_ATTEMPTS).any(|attempt| part(attempt).is_some());
        assert!(is_judged, "nodes decided alone each time");
    };
    for (network, times, refused) in [
        ("192.0.2", 22, 2),
        ("203.0.113", 1, 0),
        // With a limit of its own.
        ("198.51.100", 31, 1),
    ] {
        judged(&|attempt| {
            let from = format!("{network}.{attempt}");
            let all = both.asks(&from, times, refused)?;
            assert_since(&all, &all);
            Some(())
        });
    }
    judged(&|attempt| both.ask_as_network(attempt));
}

/// Nodes that count together, and one alone.
struct Both<'a> {
    fleet: &'a Fleet,
    alone: &'a Node,
}

impl Both<'_> {
    /// Asks both as often, and fails unless they answer the same, so many times 429.
    /// Returns `None` if it cannot be judged; see [`MAX_ATTEMPTS`].
    fn asks(
        &self,
        from: &str,
        times: usize,
        refused: usize,
    ) -> Option<Vec<[Asked; 2]>> {
        let before = self.fleet.count(ALONE);
        let header = format!("X-Forwarded-For: {from}");
        let nodes = self.fleet.nodes.iter().cycle().take(times);
        // From the address of the proxy.
        let asks = |node| [node, self.alone].map(|it| Asked::of(it, &header));
        let asked: Vec<[Asked; 2]> = nodes.map(asks).collect();
        if self.fleet.count(ALONE) != before {
            return None;
        }
        for [own, other] in &asked {
            let [seen, expected] = [own, other].map(|it| seen_of(&it.reply));
            assert_eq!(seen, expected, "{from}");
        }
        let is_refused = |it: &&[Asked; 2]| it[0].reply.status == 429;
        assert_eq!(asked.iter().filter(is_refused).count(), refused);
        Some(asked)
    }

    /// Each IPv6 address has the limit, and its network ten times that.
    fn ask_as_network(&self, attempt: usize) -> Option<()> {
        let network = format!("2001:db8:{attempt}");
        let first = self.asks(&format!("{network}::1"), 21, 1)?;
        assert_since(&first, &first);
        for other in 2..=10 {
            let all = self.asks(&format!("{network}::{other:x}"), 20, 0)?;
            assert_since(&all, &all);
        }
        let beyond = self.asks(&format!("{network}::b"), 2, 2)?;
        assert_since(&first, &beyond);
        let all = self.asks(&format!("{network}:1::1"), 1, 0)?;
        assert_since(&all, &all);
        Some(())
    }
}

/// Fails unless the first of these requests is the oldest one that counts for all.
fn assert_since(first: &[[Asked; 2]], all: &[[Asked; 2]]) {
    for asked in all {
        for (asked, first) in asked.iter().zip(&first[0]) {
            asked.assert_since(first);
        }
    }
}

/// A request that was answered.
struct Asked {
    begun: Instant,
    reply: Reply,
    ended: Instant,
}

impl Asked {
    fn of(node: &Node, header: &str) -> Self {
        let begun = Instant::now();
        let to = node.server();
        let reply = to.send("POST", "/api/compile", &[header], "");
        Self { begun, reply, ended: Instant::now() }
    }

    /// Fails unless the answer says that there is more room a minute after the
    /// first of these requests was counted.
    fn assert_since(&self, first: &Self) {
        let left = self.reply.header("ratelimit").unwrap();
        let (_, left) = left.split_once(";t=").unwrap();
        let seconds = |time: Duration| time.as_nanos().div_ceil(1_000_000_000);
        let least = seconds(first.begun + MINUTE - self.ended);
        let most = seconds(first.ended + MINUTE - self.begun);
        let left: u128 = left.parse().unwrap();
        assert!((least..=most).contains(&left), "{left}: {least} to {most}");
    }
}

/// The Valkey is asked while the body of a request is still to come.
fn counted_before_the_body() {
    let valkey = Valkey::start(false);
    let flag = format!("--shared-limits={}", valkey.url());
    let command = NodeCommand::with(vec![flag]);
    let node = Node::start("a", NodeCommand { language: None, ..command });
    eventually("it counts in the Valkey", || node.count(UP) == 1);
    let client = Client::new();
    let headers = [JSON, "Content-Length: 2"];
    let to = node.address;
    let stream = client.begin_with(to, "POST /api/compile", &headers, "");
    eventually("it is counted", || times(&valkey, client).len() == 1);
    let mut stream = stream.unwrap();
    stream.write_all(b"{}").unwrap();
    assert_eq!(read(&mut stream).unwrap().status, 400);
}

/// A balancer replaces the headers by which a client claims to be others, and its
/// requests to be one.
fn forged_headers() {
    let fleet = fleet();
    let nginx = Nginx::start(fleet.folder.path().join("n"), &fleet.nodes);
    // An id of HAProxy's has hyphens, and one that a node makes has none.
    for (to, hyphens) in [(fleet.address(), 4), (nginx.address, 0)] {
        let mut attempts = 0..MAX_ATTEMPTS;
        let is_judged = attempts.any(|_| forges(&fleet, to, hyphens));
        assert!(is_judged, "nodes decided alone each time");
    }
}

/// Returns whether it could be judged; see [`MAX_ATTEMPTS`].
fn forges(fleet: &Fleet, to: SocketAddr, hyphens: usize) -> bool {
    let client = Client::new();
    let before = fleet.count(ALONE);
    let is_admitted = |other: &usize| {
        let headers = [
            "Sandpiper-Request: forged-id",
            &format!("X-Forwarded-For: 192.0.2.{other}"),
            &format!("Forwarded: for=192.0.2.{other}"),
        ];
        is_admitted(&ask(client, to, &headers))
    };
    let admitted = (0..=LIMIT).filter(is_admitted).count();
    if fleet.count(ALONE) > before {
        return false;
    }
    assert_eq!(admitted, LIMIT, "{to}");
    let ids = times(fleet.limits.as_ref().unwrap(), client);
    assert_eq!(ids.len(), LIMIT, "{ids:?}");
    let is_of_balancer = |id: &String| id.matches('-').count() == hyphens;
    assert!(ids.keys().all(is_of_balancer), "{ids:?}");
    true
}

/// Returns all that an answer says about the limit, but for the moments.
fn seen_of(reply: &Reply) -> (u16, String, String, bool) {
    let text = |name| reply.header(name).unwrap_or_default().to_owned();
    let left = text("ratelimit");
    let left = left.split(";t=").next().unwrap_or_default().to_owned();
    let waits = reply.header("retry-after").is_some();
    (reply.status, text("ratelimit-policy"), left, waits)
}

/// A node counts a run and dies. The balancer sends the run to another node.
fn repeated_counts_once() {
    let mut fleet = fleet();
    let nginx = Nginx::start(fleet.folder.path().join("n"), &fleet.nodes);
    for to in [fleet.address(), nginx.address] {
        let left = (0..MAX_ATTEMPTS).find_map(|_| left_of_two(&mut fleet, to));
        assert_eq!(left, Some([LIMIT - 1, LIMIT - 2]), "{to}");
    }
}

/// Sends a run whose node dies, then another request. Returns the numbers of requests
/// that are left after each, or `None` if they cannot be judged; see [`MAX_ATTEMPTS`].
fn left_of_two(fleet: &mut Fleet, to: SocketAddr) -> Option<[usize; 2]> {
    wait_for_valkey(fleet);
    let client = Client::new();
    let name = word();
    let mut stream = client.begin_run(to, &waits(&name));
    let first = fleet.runner_index(&name);
    let alone_elsewhere = |fleet: &Fleet| -> usize {
        let others = fleet.nodes.iter().enumerate().filter(|it| it.0 != first);
        others.map(|(_, node)| node.count(ALONE)).sum()
    };
    let before = alone_elsewhere(fleet);
    fleet.nodes[first].kill();
    fleet.release(&name);
    let reply = read(&mut stream).unwrap();
    assert!(printed(&reply, &name), "{reply:?}");
    let left = [reply, ask(client, to, &[])].map(|reply| {
        let left = reply.header("ratelimit").unwrap_or_default();
        let (_, left) = left.split_once(";r=").expect("a count");
        left.split(';').next().unwrap().parse::<usize>().unwrap()
    });
    let is_judged = alone_elsewhere(fleet) == before;
    fleet.nodes[first].restart();
    fleet.wait_until(first, true);
    is_judged.then_some(left)
}

pub(crate) fn wait_for_valkey(fleet: &Fleet) {
    eventually("all nodes count in the Valkey", || {
        fleet.count(UP) == fleet.nodes.len()
    });
}

fn without_valkey() {
    let mut fleet = fleet();
    wait_for_valkey(&fleet);
    let begun = Instant::now();
    // Asks all nodes in each state. It is new only in the first.
    let lasting = new_client();
    let mut sum = 0;
    let mut ask_again = |fleet: &Fleet| {
        sum += admitted(fleet, &lasting).iter().sum::<usize>();
    };
    ask_again(&fleet);
    check(&fleet);
    fleet.limits.as_ref().unwrap().pause();
    assert_eq!(admitted(&fleet, &new_client()), [LIMIT; 3]);
    ask_again(&fleet);
    fleet.limits.as_ref().unwrap().resume();
    wait_for_valkey(&fleet);
    check(&fleet);
    ask_again(&fleet);
    fleet.limits.as_mut().unwrap().kill();
    assert_eq!(admitted(&fleet, &new_client()), [LIMIT; 3]);
    ask_again(&fleet);
    fleet.limits.as_mut().unwrap().restart();
    wait_for_valkey(&fleet);
    check(&fleet);
    ask_again(&fleet);
    // The new Valkey knows nothing of it, but each node does.
    let minutes = begun.elapsed().as_secs() / 60 + 1;
    let most = 3 * LIMIT * usize::try_from(minutes).unwrap();
    println!("a client had {sum} in {minutes} min, of {most} at most");
    assert!((LIMIT..=most).contains(&sum), "{sum} of {most}");
}

/// The Valkey forgets what has been idle longest, and counts on.
fn memory_is_used_up() {
    const IDLE: &str = "for number = 1, 5000 do \
        redis.call('SET', 'idle-' .. number, 'x', 'EX', 30) end";
    let fleet = fleet();
    wait_for_valkey(&fleet);
    let valkey = fleet.limits.as_ref().unwrap();
    valkey.ask(&["EVAL", IDLE, "0"]);
    let fact = |part, name| {
        let facts = valkey.ask(&["INFO", part]);
        let value = facts.iter().find_map(|it| it.strip_prefix(name));
        value.unwrap().trim().to_owned()
    };
    let used = fact("memory", "used_memory:");
    assert_eq!(valkey.ask(&["CONFIG", "SET", "maxmemory", &used]), ["OK"]);
    check(&fleet);
    assert_ne!(fact("stats", "evicted_keys:"), "0");
}

/// Fails unless all nodes together admit as many requests of a client as one node
/// does. On a busy machine a node may not wait long enough for the Valkey, and then
/// decides alone: another client is asked for then.
pub(crate) fn check(fleet: &Fleet) {
    for _ in 0..MAX_ATTEMPTS {
        let before = fleet.count(ALONE);
        let counts = admitted(fleet, &new_client());
        if fleet.count(ALONE) == before {
            assert_eq!(counts.iter().sum::<usize>(), LIMIT, "{counts:?}");
            return;
        }
    }
    assert_eq!(fleet.count(ALONE), 0, "nodes decided alone each time");
}

/// Returns the header of a client that no node knows.
fn new_client() -> String {
    static CLIENT: AtomicUsize = AtomicUsize::new(1);
    let client = CLIENT.fetch_add(1, Ordering::Relaxed);
    format!("X-Forwarded-For: 192.0.2.{client}")
}

/// Returns the numbers of requests of a client that the nodes admit.
fn admitted(fleet: &Fleet, client: &str) -> [usize; 3] {
    let mut counts = [0; 3];
    for _ in 0..=LIMIT {
        for (node, count) in fleet.nodes.iter().zip(&mut counts) {
            let server = node.server();
            let reply = server.send("POST", "/api/compile", &[client], "");
            *count += usize::from(is_admitted(&reply));
        }
    }
    counts
}
