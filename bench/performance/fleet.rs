//! Nodes behind HAProxy, with limits and products in Valkey, in turns with one node
//! that has its own.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use sandpiper_testkit::fleet::balancer::HaProxy;
use sandpiper_testkit::fleet::node::{Node, NodeCommand};
use sandpiper_testkit::fleet::process::connect_from;
use sandpiper_testkit::{Reply, Valkey, eventually};
use serde_json::json;

use crate::Context;
use crate::client::Target;
use crate::row::{Asked, Row, Series, since};
use crate::sample::Sample;

const ROUNDS: usize = 100;
const CLIENTS: usize = 8;
const TIME: Duration = Duration::from_secs(2);
/// How often each way is measured so: one time differs from the next by a tenth.
const TIMES: usize = 8;
const PRODUCTS: usize = 1_000;
/// A run that lasts long enough to be interrupted.
const RUN: &str = "import time; time.sleep(0.3); print('slept')";
const KILLS: usize = 10;
/// How often the Valkey of the limits hangs, and how often it dies.
const FAULTS: usize = 20;
/// The calls without an answer after which a node takes a Valkey for gone.
const CALLS: usize = 3;
/// The function of the Valkey that counts a request.
const ADMIT: &str = "sp2_admit";
/// 1 if a node counts in the Valkey.
const UP: &str = r#"sandpiper_shared_up{part="limits"}"#;

type Measure = fn(&Context) -> Vec<Row>;

/// The steps, each with its name.
pub(crate) const STEPS: &[(&str, Measure)] = &[
    ("fleet: latency", latency),
    ("fleet: throughput", throughput),
    ("fleet: catalogue", catalogue),
    ("fleet: killed", killed),
    ("fleet: without limits", without_limits),
];

/// The time that HAProxy and shared limits add to a run, and the time that HAProxy
/// and Valkey take for a request and a call by themselves.
fn latency(context: &Context) -> Vec<Row> {
    let limits = Valkey::start(&[]);
    let shared = format!("--shared-limits={}", limits.url(""));
    let nodes = [node("alone", 2, &[]), node("a", 2, &[&shared])];
    let balancer = balancer(&context.folder, "latency", &nodes[1..]);
    let mut valkey = connection(&limits);
    let request = Sample::named("c hello").request("0");
    // Everything is idle before each figure.
    let idle = || {
        for Node { address, admin, .. } in &nodes {
            let (address, admin) = (*address, *admin);
            Target { address, admin }.wait_for_box("c");
        }
        Instant::now()
    };
    let [mut runs, mut gets] = [const { [Vec::new(), Vec::new()] }; 2];
    let [mut pings, mut calls] = [const { Vec::new() }; 2];
    for round in 0..=ROUNDS {
        for (way, to) in [nodes[0].address, balancer.address].iter().enumerate()
        {
            let begun = idle();
            run(*to, &request);
            runs[way].push(since(begun));
            let begun = idle();
            assert_eq!(ask(*to, "GET /healthz", "").status, 200);
            gets[way].push(since(begun));
        }
        let begun = idle();
        call(&mut valkey, "PING");
        pings.push(since(begun));
        let begun = idle();
        call(&mut valkey, &admission(round));
        calls.push(since(begun));
    }
    let floor = (0..=ROUNDS).map(|round| {
        runs[0][round] + gets[1][round] - gets[0][round] + calls[round]
    });
    let floor: Vec<f64> = floor.collect();
    let row = |name: &str, other, theirs: &[f64], what, ours: &[f64], asked| {
        let name = name.to_owned();
        let other = Series::new(other, &theirs[1..]);
        let ours = Series::new(what, &ours[1..]);
        Row { name, unit: "ms", other, ours, asked }
    };
    let [one, behind] = ["one node", "behind HAProxy"];
    let shared = "C again, through HAProxy, with shared limits";
    let beyond = format!("{shared}, beyond HAProxy and Valkey");
    let [count, beyond] = ["a call of Valkey alone", &beyond];
    let sum = "one node and those two";
    let most = Asked::MoreIfQuick(0.25);
    vec![
        row(shared, one, &runs[0], behind, &runs[1], most),
        row("GET /healthz", one, &gets[0], behind, &gets[1], Asked::Nothing),
        row(count, "PING", &pings, ADMIT, &calls, Asked::Nothing),
        row(beyond, sum, &floor, behind, &runs[1], Asked::More(0.25)),
    ]
}

/// Returns a connection of our own.
fn connection(valkey: &Valkey) -> TcpStream {
    let url = valkey.url("");
    let stream = TcpStream::connect(url.trim_start_matches("valkey://"));
    let stream = stream.unwrap();
    stream.set_nodelay(true).unwrap();
    stream
}

/// Returns the call by which a node has a request counted.
fn admission(number: usize) -> String {
    let log = "sp1:l:{192.0.2.1}";
    format!(
        "FCALL {ADMIT} 2 {log}:tries:{number} {log} {number} 60000000 1 1000"
    )
}

/// Calls a Valkey, and reads its answer, which comes in one piece.
fn call(valkey: &mut TcpStream, words: &str) {
    valkey.write_all(format!("{words}\r\n").as_bytes()).unwrap();
    let mut answer = [0; 100];
    let length = valkey.read(&mut answer).unwrap();
    let is_right = [b"+PONG\r\n" as &[u8], b"*3\r\n:1\r\n"];
    let is_right = is_right.iter().any(|it| answer[..length].starts_with(it));
    assert!(is_right, "{:?}", String::from_utf8_lossy(&answer[..length]));
}

/// The runs per second of two nodes with a box each, and of one node with two.
fn throughput(context: &Context) -> Vec<Row> {
    let limits = Valkey::start(&[]);
    let shared = format!("--shared-limits={}", limits.url(""));
    let alone = node("alone", 2, &[]);
    let nodes = ["a", "b"].map(|tag| node(tag, 1, &[&shared]));
    let balancer = balancer(&context.folder, "throughput", &nodes);
    let rows = ["python hello", "c hello"].map(|name| {
        let request = Sample::named(name).request("0");
        let [mut bare, mut ours] = [const { Vec::new() }; 2];
        for _ in 0..=TIMES {
            bare.push(rate(alone.address, &request));
            ours.push(rate(balancer.address, &request));
        }
        Row {
            name: format!("{name}, two nodes of a box"),
            unit: "1/s",
            other: Series::new("one node of two boxes", &bare[1..]),
            ours: Series::new("behind HAProxy", &ours[1..]),
            asked: Asked::AtLeastTimes(0.95),
        }
    });
    rows.to_vec()
}

/// Products in Valkey, and in the memory of a node.
fn catalogue(_: &Context) -> Vec<Row> {
    let memory = Valkey::start(&[]);
    let disk =
        Valkey::start(&["--appendonly", "yes", "--appendfsync", "always"]);
    let alone = node("alone", 2, &[]);
    let [memory, disk] =
        [("memory", &memory), ("disk", &disk)].map(|(tag, valkey)| {
            node(tag, 2, &[&format!("--shared-products={}", valkey.url(""))])
        });
    let create = r#"{"name":"a pencil","price":1.5}"#;
    let [mut own, mut in_memory, mut on_disk] = [const { Vec::new() }; 3];
    for _ in 0..PRODUCTS {
        for (at, times) in [
            (&alone, &mut own),
            (&memory, &mut in_memory),
            (&disk, &mut on_disk),
        ] {
            times.push(timed(at.address, "POST", create, 201));
        }
    }
    let [mut own_lists, mut lists] = [const { Vec::new() }; 2];
    for _ in 0..=ROUNDS {
        own_lists.push(timed(alone.address, "GET", "", 200));
        lists.push(timed(memory.address, "GET", "", 200));
    }
    let row =
        |name: &str, own: &[f64], what: &str, shared: &[f64], asked| Row {
            name: name.to_owned(),
            unit: "ms",
            other: Series::new("of the node", own),
            ours: Series::new(what, shared),
            asked,
        };
    vec![
        row(
            "POST a shared product",
            &own,
            "in memory",
            &in_memory,
            Asked::More(1.0),
        ),
        row(
            "POST, kept on disk",
            &own,
            "with an fsync",
            &on_disk,
            Asked::Nothing,
        ),
        row(
            "GET 1,000 shared products, none new",
            &own_lists[1..],
            "of Valkey",
            &lists[1..],
            Asked::More(1.0),
        ),
    ]
}

/// A run whose node is killed, and the same run again without that.
fn killed(context: &Context) -> Vec<Row> {
    let mut nodes = ["a", "b"].map(|tag| node(tag, 2, &[]));
    let balancer = balancer(&context.folder, "killed", &nodes);
    let request = &json!({
        "language": "python", "entryFile": "m", "files": [{"path": "m", "content": RUN}],
    })
    .to_string();
    let [mut plain, mut after] = [const { Vec::new() }; 2];
    for _ in 0..=KILLS {
        let begun = Instant::now();
        run(balancer.address, request);
        plain.push(since(begun));
        let killed = scope(|scope| {
            let answer = scope.spawn(|| run(balancer.address, request));
            let number = loop {
                assert!(!answer.is_finished(), "no node was seen to run it");
                let is_busy =
                    |node: &Node| node.count("sandpiper_boxes_in_use") > 0;
                if let Some(number) = nodes.iter().position(is_busy) {
                    break number;
                }
                sleep(Duration::from_millis(2));
            };
            nodes[number].kill();
            let begun = Instant::now();
            answer.join().unwrap();
            after.push(since(begun));
            number
        });
        balancer.wait_until(&nodes[killed].tag, false);
        nodes[killed].restart();
        balancer.wait_until(&nodes[killed].tag, true);
    }
    vec![Row {
        name: "a run of 0.3 s whose node is killed".to_owned(),
        unit: "ms",
        other: Series::new("the run", &plain[1..]),
        ours: Series::new("from the kill to the answer", &after[1..]),
        asked: Asked::More(50.0),
    }]
}

/// Runs while the Valkey of the limits answers, hangs, or is dead.
fn without_limits(_: &Context) -> Vec<Row> {
    let mut limits = Valkey::start(&[]);
    let shared = format!("--shared-limits={}", limits.url(""));
    let node = node("a", 2, &[&shared]);
    let (address, admin) = (node.address, node.admin);
    let request = Sample::named("c hello").request("0");
    let runs = |count: usize| -> Vec<f64> {
        let timed = |_| {
            Target { address, admin }.wait_for_box("c");
            let begun = Instant::now();
            run(address, &request);
            since(begun)
        };
        (0..count).map(timed).collect()
    };
    let wait = |up: usize| {
        eventually("the node knows of its Valkey", || node.count(UP) == up);
    };
    wait(1);
    runs(CALLS);
    let [mut usual, mut first, mut later, mut dead] = [const { Vec::new() }; 4];
    let [mut starts, mut returns] = [const { Vec::new() }; 2];
    for _ in 0..FAULTS {
        usual.extend(runs(CALLS));
        limits.signal(Signal::STOP);
        first.extend(runs(CALLS));
        wait(0);
        later.extend(runs(CALLS));
        limits.signal(Signal::CONT);
        wait(1);
        usual.extend(runs(CALLS));
        limits.kill();
        dead.extend(runs(CALLS));
        let begun = Instant::now();
        limits.restart();
        starts.push(since(begun));
        wait(1);
        returns.push(since(begun));
    }
    let row = |name: &str, ours: &[f64], most| Row {
        name: format!("C again, limits' Valkey {name}"),
        unit: "ms",
        other: Series::new("it answers", &usual),
        ours: Series::new("it does not", ours),
        asked: Asked::More(most),
    };
    vec![
        row("hangs: the first runs", &first, 60.0),
        row("hangs: those after them", &later, 1.0),
        row("is dead", &dead, 1.0),
        Row {
            name: "limits' Valkey counts again after a restart".to_owned(),
            unit: "ms",
            other: Series::new("its own start", &starts),
            ours: Series::new("until the node counts there", &returns),
            asked: Asked::More(1_000.0),
        },
    ]
}

/// Starts a node with so many boxes.
fn node(tag: &str, boxes: usize, more: &[&str]) -> Node {
    let boxes = format!("--boxes={boxes}");
    let usual = [
        boxes.as_str(),
        "--languages=python,c",
        "--trusted-proxy=127.0.0.1",
        "--request-id-from-proxy",
        "--elsewhere-status=425",
    ];
    let flags = usual.iter().chain(more).map(ToString::to_string).collect();
    let node = Node::start(tag, NodeCommand::with(flags));
    node.server().wait_until_ready_for(&["c", "python"]);
    node
}

fn balancer(folder: &Path, name: &str, nodes: &[Node]) -> HaProxy {
    let balancer = HaProxy::start(folder.join(name), nodes);
    for node in nodes {
        balancer.wait_until(&node.tag, true);
    }
    balancer
}

/// Runs a program, of a client with an address of its own.
fn run(to: SocketAddr, request: &str) {
    let reply = ask(to, "POST /api/compile", request);
    let exit = reply.header("sandpiper-exit");
    let is_right = reply.status == 200 && exit == Some("stage=run; code=0");
    assert!(is_right, "{} {exit:?}: {}", reply.status, reply.text());
}

/// Asks for products, and returns the milliseconds until the end of the answer.
fn timed(to: SocketAddr, method: &str, body: &str, status: u16) -> f64 {
    let begun = Instant::now();
    let reply = ask(to, &format!("{method} /products"), body);
    assert_eq!(reply.status, status, "{}", reply.text());
    since(begun)
}

/// Sends a request from an address that no other has had: each is a client.
fn ask(to: SocketAddr, head: &str, body: &str) -> Reply {
    static NEXT: AtomicU32 = AtomicU32::new(0x7f01_0000);
    let own = Ipv4Addr::from_bits(NEXT.fetch_add(1, Ordering::Relaxed));
    let mut stream = connect_from(own, to).unwrap();
    stream.set_nodelay(true).unwrap();
    let request = format!(
        "{head} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    Reply::read(&mut stream)
}

/// Returns the runs per second if clients send one after the other.
fn rate(to: SocketAddr, request: &str) -> f64 {
    let begun = Instant::now();
    let run_all = || {
        let mut count = 0_u32;
        while begun.elapsed() < TIME {
            run(to, request);
            count += 1;
        }
        count
    };
    let count: u32 = scope(|scope| {
        let threads = (0..CLIENTS).map(|_| scope.spawn(run_all));
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    f64::from(count) / begun.elapsed().as_secs_f64()
}
