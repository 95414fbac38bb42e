//! One catalogue for several nodes: its answers are those of a single server,
//! and nothing that was acknowledged is lost, doubled or out of date. Nodes are
//! asked here without a balancer.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::scope;
use std::time::{Duration, Instant};

use sandpiper_testkit::{Reply, Server, eventually};
use serde_json::{Value, json};

use crate::Test;
use crate::pair::{Pair, id};
use crate::random::Random;

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("catalogue/like-one", like_one),
    ("catalogue/killed", killed),
    ("catalogue/hangs", hangs),
    ("catalogue/memory-only", memory_only),
    ("catalogue/lists", lists),
    ("catalogue/removals", removals),
    ("catalogue/repeated", repeated),
    ("catalogue/foreign", foreign),
];

pub(crate) const UNREACHABLE: &str =
    "the catalogue cannot be reached; try again";
const NOT_FOUND: &str = "product not found";
const USED: &str = "sandpiper_products_bytes";

/// Answers and their order are those of a single server, up to the last byte of
/// its capacity.
fn like_one() {
    let memory = "--products-memory=96KiB";
    let one = Server::with(&[memory]);
    let pair = Pair::start(false, &[memory]);
    let first = r#"{"name":"first"}"#;
    assert_eq!(one.send("POST", "/products", &[], first).status, 201);
    assert_eq!(pair.send(0, "POST", "/products", first).status, 201);
    // Nobody has asked these nodes for a list yet.
    for node in &pair.nodes {
        let used = [node, &one].map(|it| it.metrics().count(USED));
        assert_eq!(used[0], used[1]);
    }
    let mut random = Random::with(1);
    let mut next = |below: u64| random.below(below);
    let mut seen = BTreeMap::new();
    for step in 0..1_000 {
        let target = format!("/products/{}", next(400));
        let length = [1, 5, 30, 80, 1_000][usize::try_from(next(5)).unwrap()];
        let name = "n".repeat(length);
        let body = json!({"name": name, "price": step}).to_string();
        let (method, target, body) = match next(20) {
            0..12 => ("POST", "/products", body.as_str()),
            12..15 => ("PUT", target.as_str(), body.as_str()),
            15..17 => ("DELETE", target.as_str(), ""),
            17..19 => ("GET", target.as_str(), ""),
            _ => ("GET", "/products", ""),
        };
        let expected = one.send(method, target, &[], body);
        let found = pair.send(step % 2, method, target, body);
        let shown = |reply: &Reply| {
            let lines = reply.head.lines();
            let head: Vec<&str> =
                lines.filter(|line| !line.starts_with("date: ")).collect();
            format!("{head:?} {}", reply.text())
        };
        assert_eq!(shown(&found), shown(&expected), "{method} {target}");
        *seen.entry((method, expected.status)).or_insert(0) += 1;
    }
    // It was full.
    for kind in [("POST", 507), ("PUT", 507), ("PUT", 200), ("DELETE", 204)] {
        assert!(seen.contains_key(&kind), "{kind:?} is not in {seen:?}");
    }
}

/// The catalogue is killed again and again while clients write to it. They ask
/// again under the same id, as a balancer does.
fn killed() {
    const WRITERS: usize = 6;
    let mut pair = Pair::start(true, &[]);
    let (ends, asked_again) = (AtomicBool::new(false), AtomicUsize::new(0));
    let created = AtomicUsize::new(0);
    let nodes = &pair.nodes;
    let valkey = &mut pair.valkey;
    let acknowledged: BTreeMap<i64, String> = scope(|scope| {
        let write = |writer: usize| {
            let mut own = Vec::new();
            while !ends.load(Ordering::Relaxed) {
                let name = format!("w{writer}-{}", own.len());
                let body = json!({ "name": name }).to_string();
                let id = format!("Sandpiper-Request: killed-{name}");
                let mut node = writer;
                let mut reply = Value::Null;
                eventually("the catalogue is back", || {
                    let to = &nodes[node % 2];
                    let sent = to.send("POST", "/products", &[&id], &body);
                    if sent.status == 201 {
                        reply = sent.json();
                        return true;
                    }
                    sent.assert_failure(503, UNREACHABLE);
                    asked_again.fetch_add(1, Ordering::Relaxed);
                    node += 1;
                    false
                });
                assert_eq!(reply["name"], name);
                own.push((self::id(&reply), name));
                created.fetch_add(1, Ordering::Relaxed);
            }
            own
        };
        let end = End(&ends);
        let writers: Vec<_> =
            (0..WRITERS).map(|it| scope.spawn(move || write(it))).collect();
        for _ in 0..5 {
            let before = created.load(Ordering::Relaxed);
            eventually("products are created", || {
                created.load(Ordering::Relaxed) > before + 50
            });
            valkey.kill();
            let before = asked_again.load(Ordering::Relaxed);
            eventually("somebody notices", || {
                asked_again.load(Ordering::Relaxed) > before
            });
            valkey.restart();
        }
        drop(end);
        writers.into_iter().flat_map(|it| it.join().unwrap()).collect()
    });
    let count = i64::try_from(acknowledged.len()).unwrap();
    assert_eq!(created.into_inner(), acknowledged.len(), "an id came twice");
    assert!(acknowledged.keys().copied().eq(1..=count), "a gap");
    for node in 0..2 {
        let listed = pair.list(node);
        let listed = listed.iter().map(|(&id, it)| (id, it["name"].as_str()));
        let kept = acknowledged.iter().map(|(&id, it)| (id, Some(it.as_str())));
        assert!(listed.eq(kept), "node {node} lists something else");
    }
}

/// Ends clients when it is dropped: they would go on for ever after a panic.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn assert_unreachable(node: &Server, method: &str, target: &str) {
    let reply = node.send(method, target, &[], r#"{"name":"x"}"#);
    reply.assert_failure(503, UNREACHABLE);
    assert_eq!(reply.header("retry-after"), Some("1"));
}

/// A catalogue that takes connections and does not answer.
fn hangs() {
    let pair = Pair::start(false, &[]);
    assert_eq!(pair.create(0, "a").status, 201);
    pair.valkey.pause();
    assert_unreachable(&pair.nodes[1], "POST", "/products");
    assert_unreachable(&pair.nodes[0], "GET", "/products/1");
    assert_unreachable(&pair.nodes[1], "GET", "/products");
    pair.valkey.resume();
    pair.wait();
    // The request that was answered 503 may have been done, once.
    let list = pair.list(1);
    let names: Vec<_> = list.values().map(|it| &it["name"]).collect();
    assert!(names == ["a"] || names == ["a", "x"], "{names:?}");
}

/// A catalogue in memory is empty after its end, and no node shows the one before.
fn memory_only() {
    let mut pair = Pair::start(false, &[]);
    for name in ["a", "b", "c"] {
        assert_eq!(pair.create(0, name).status, 201);
    }
    assert_eq!((pair.list(0).len(), pair.list(1).len()), (3, 3));
    pair.valkey.kill();
    scope(|scope| {
        for node in &pair.nodes {
            scope.spawn(|| check_without_catalogue(node));
        }
    });
    pair.valkey.restart();
    pair.wait();
    assert_eq!(pair.list(0).len(), 0);
    let first = r#"{"id":1,"name":"new","price":0}"#;
    pair.create(1, "new").assert_json(201, first);
    for node in &pair.nodes {
        let list = node.ask("GET", "/products");
        list.assert_json(200, &format!("[{first}]"));
    }
}

fn check_without_catalogue(node: &Server) {
    for (method, target) in [
        ("GET", "/products"),
        ("POST", "/products"),
        ("GET", "/products/1"),
        ("PUT", "/products/1"),
        ("DELETE", "/products/1"),
    ] {
        assert_unreachable(node, method, target);
    }
    // These need no catalogue.
    let refused = node.send("POST", "/products", &[], "{}");
    assert_eq!(refused.status, 400);
    assert_eq!(node.ask("GET", "/products/x").status, 400);
    assert_eq!(node.ask("PATCH", "/products").status, 405);
}

/// Longer than the writers of [`lists`] take.
const PATIENCE: Duration = Duration::from_secs(120);
/// How often a writer of [`lists`] changes its products.
const ROUNDS: usize = 30;

/// A list is the catalogue at one moment while it is asked for. Each writer has
/// two products, and gives both the next price, one after the other.
fn lists() {
    const WRITERS: usize = 3;
    let pair = Pair::start(false, &[]);
    let [mut first, mut second] = [Vec::new(), Vec::new()];
    for writer in 0..WRITERS {
        first.push(id(&pair.create(0, &format!("{writer}")).json()));
        second.push(id(&pair.create(1, &format!("{writer}")).json()));
    }
    // More than a page of changes that stay as they are.
    for number in 0..520 {
        pair.create(number % 2, "still");
    }
    let done: Vec<AtomicUsize> =
        (0..WRITERS).map(|_| AtomicUsize::new(0)).collect();
    let price = |list: &BTreeMap<i64, Value>, id: i64| {
        usize::try_from(list[&id]["price"].as_u64().unwrap()).unwrap()
    };
    scope(|scope| {
        for writer in 0..WRITERS {
            let (pair, done) = (&pair, &done[writer]);
            let ids = [first[writer], second[writer]];
            scope.spawn(move || write_prices(pair, writer, ids, done));
        }
        for lister in 0..2 {
            let (pair, done, first, second) = (&pair, &done, &first, &second);
            scope.spawn(move || {
                let is_done = || {
                    done.iter().all(|it| it.load(Ordering::SeqCst) == ROUNDS)
                };
                let begun = Instant::now();
                while !is_done() {
                    assert!(begun.elapsed() < PATIENCE, "a writer has failed");
                    let before: Vec<usize> = done
                        .iter()
                        .map(|it| it.load(Ordering::SeqCst))
                        .collect();
                    let list = pair.list(lister % 2);
                    for writer in 0..WRITERS {
                        let [a, b] = [first, second]
                            .map(|ids| price(&list, ids[writer]));
                        assert!(a >= b && b + 1 >= a, "{a} and {b}");
                        assert!(b >= before[writer], "{b} of {before:?}");
                    }
                }
            });
        }
    });
    let listed = pair.list(0);
    assert_eq!(listed, pair.list(1));
    assert_eq!(listed.len(), 2 * WRITERS + 520);
    for (id, product) in listed {
        let one = pair.send(0, "GET", &format!("/products/{id}"), "");
        assert_eq!(one.json(), product);
    }
}

/// Gives two products each price in turn. Another comes and goes.
fn write_prices(pair: &Pair, writer: usize, ids: [i64; 2], done: &AtomicUsize) {
    for round in 1..=ROUNDS {
        for id in ids {
            let body = json!({ "price": round }).to_string();
            let target = format!("/products/{id}");
            let reply = pair.send(round % 2, "PUT", &target, &body);
            assert_eq!(reply.status, 200);
        }
        let brief = id(&pair.create(round % 2, "brief").json());
        let target = format!("/products/{brief}");
        let reply = pair.send(writer % 2, "DELETE", &target, "");
        assert_eq!(reply.status, 204);
        assert!(!pair.list(round % 2).contains_key(&brief));
        done.store(round, Ordering::SeqCst);
    }
}

/// A list forgets removed products, even after more removals than the catalogue
/// remembers.
fn removals() {
    // As many as there may be beside one more.
    const OTHERS: &str = "for number = 1, 9999 do \
        local change = redis.call('HINCRBY', KEYS[1], 'changes', 1) \
        redis.call('ZADD', KEYS[2], change, 1000 + number) \
        redis.call('ZADD', KEYS[3], change, 1000 + number) end";
    let [state, changes, removed] = ["state", "changes", "removed"]
        .map(|name| format!("sp1:{{catalogue}}:{name}"));
    let pair = Pair::start(false, &[]);
    for name in ["first", "second", "third"] {
        assert_eq!(pair.create(0, name).status, 201);
    }
    assert_eq!(pair.list(1).len(), 3);
    assert_eq!(pair.send(0, "DELETE", "/products/1", "").status, 204);
    pair.valkey.ask(&["EVAL", OTHERS, "3", &state, &changes, &removed]);
    assert_eq!(pair.valkey.ask(&["ZSCORE", &removed, "1"]), ["4"]);
    assert_eq!(pair.send(0, "DELETE", "/products/3", "").status, 204);
    assert_eq!(pair.valkey.ask(&["ZCARD", &removed]), ["10000"]);
    assert_eq!(pair.valkey.ask(&["ZSCORE", &removed, "1"]), [""]);
    for node in [1, 0] {
        assert!(pair.list(node).keys().eq([&2]), "node {node}");
    }
}

/// A request that a balancer sends again is done once, whichever node gets it.
fn repeated() {
    let pair = Pair::start(false, &[]);
    let send = |node, method, target, request, name| {
        let body = json!({ "name": name }).to_string();
        pair.send_as(request, node, method, target, &body)
    };
    let product = |id: i64, name: &str| {
        format!(r#"{{"id":{id},"name":"{name}","price":0}}"#)
    };
    for node in 0..2 {
        let reply = send(node, "POST", "/products", "request-1", "a");
        reply.assert_json(201, &product(1, "a"));
    }
    // Nobody may give all requests one id. One that was answered 503 was sent again.
    let mut further = (2..5).map(|_| {
        let reply = send(0, "POST", "/products", "request-1", "a");
        id(&reply.json())
    });
    assert!(further.any(|id| id == 2), "five requests were one");

    let one = "/products/1";
    send(0, "PUT", one, "request-2", "b").assert_json(200, &product(1, "b"));
    send(0, "PUT", one, "request-3", "c").assert_json(200, &product(1, "c"));
    send(1, "PUT", one, "request-2", "b").assert_json(200, &product(1, "b"));
    send(0, "GET", one, "request-0", "").assert_json(200, &product(1, "c"));

    for node in 0..2 {
        let reply = send(node, "DELETE", one, "request-4", "");
        assert_eq!((reply.status, reply.text()), (204, ""));
    }
    send(0, "DELETE", one, "request-5", "").assert_failure(404, NOT_FOUND);
    // The id of another request is not taken for this one.
    let two = "/products/2";
    assert_eq!(send(0, "DELETE", two, "request-4", "").status, 204);
    assert_eq!(send(0, "GET", two, "request-4", "").status, 404);
}

/// A text that no Sandpiper wrote does not get to clients.
fn foreign() {
    let pair = Pair::start(false, &[]);
    assert_eq!(pair.create(0, "a").status, 201);
    let key = "sp1:{catalogue}:products";
    let text = r#"{"id":1,"name":"a","price":0,"more":1}"#;
    pair.valkey.ask(&["HSET", key, "1", text]);
    for target in ["/products/1", "/products"] {
        let reply = pair.nodes[0].ask("GET", target);
        reply.assert_failure(500, "internal error");
    }
    pair.nodes[0].line_with("product 1 of the shared catalogue has a text");
    // A product that is written again is one of ours.
    let body = r#"{"name":"b"}"#;
    let reply = pair.nodes[0].send("PUT", "/products/1", &[], body);
    let fixed = r#"{"id":1,"name":"b","price":0}"#;
    reply.assert_json(200, fixed);
    let list = pair.nodes[0].ask("GET", "/products");
    list.assert_json(200, &format!("[{fixed}]"));
}
