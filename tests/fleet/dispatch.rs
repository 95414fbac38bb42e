//! A balancer chooses the node: another one if a program cannot run there, and
//! none any longer if the client has gone.

use std::net::{Shutdown, SocketAddr};
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::thread;

use sandpiper_testkit::{Reply, eventually, is_full};

use crate::Test;
use crate::balancer::{HaProxy, Nginx};
use crate::client::{CUT_BODY, Client, printed, prints, read, waits, word};
use crate::clients::{Failure, Failures, Load};
use crate::fleet::{Fleet, Setup, data_with, usual};
use crate::node::{Node, NodeCommand};
use crate::process::Silence;

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("dispatch/another-node-has-the-image", another_has_the_image),
    ("dispatch/no-node-has-the-image", none_has_the_image),
    ("dispatch/client-is-gone", client_is_gone),
    ("dispatch/machine-is-off", machine_is_off),
    ("dispatch/node-hangs-behind-haproxy", hangs_behind_haproxy),
    ("dispatch/node-hangs-behind-nginx", hangs_behind_nginx),
    ("dispatch/nodes-end-behind-nginx", end_behind_nginx),
    ("dispatch/nodes-die-of-a-program", die_of_a_program),
];

/// The number of [`prints`] that is a program of PHP.
const PHP: usize = 2;

/// Starts a node whose proxy is answered with `status` if it cannot run a program.
/// It has no image of PHP if there is a data folder.
fn node(tag: &str, status: u16, data: Option<&str>) -> Node {
    let mut flags = usual(&["--compile-rate-limit=0"]);
    flags.retain(|flag| !flag.starts_with("--elsewhere-status"));
    flags.push(format!("--elsewhere-status={status}"));
    flags.extend(data.map(|data| format!("--data-dir={data}")));
    let language = if data.is_some() { "python" } else { "php" };
    let usual = NodeCommand::with(flags);
    Node::start(tag, NodeCommand { language: Some(language), ..usual })
}

fn another_has_the_image() {
    let data = data_with(&["python"]);
    let lacking = data.path().to_str();
    let folder = tempfile::tempdir().unwrap();
    let php = |to: SocketAddr| {
        let word = word();
        let reply = Client::new().run(to, &prints(&word, PHP));
        assert!(printed(&reply, &word), "{reply:?}");
    };
    let nodes = [node("a", 425, None), node("b", 425, lacking)];
    let haproxy = HaProxy::start(folder.path().join("h"), &nodes);
    let runs = if is_full() { 100 } else { 8 };
    (0..runs).for_each(|_| php(haproxy.address));
    assert_refused(&nodes[1]);
    let nodes = [node("a", 502, None), node("b", 502, lacking)];
    let nginx = Nginx::start(folder.path().join("n"), &nodes);
    (0..runs).for_each(|_| php(nginx.address));
    assert_refused(&nodes[1]);
}

/// The balancer has asked the node that lacks the image.
fn assert_refused(node: &Node) {
    let refused = r#"sandpiper_compile_refused_total{reason="unavailable"}"#;
    assert!(node.count(refused) > 0, "{:?}", node.metrics());
}

fn none_has_the_image() {
    let data = data_with(&["python"]);
    let lacking = data.path().to_str();
    let folder = tempfile::tempdir().unwrap();
    let nodes = [node("a", 425, lacking), node("b", 425, lacking)];
    let haproxy = HaProxy::start(folder.path().join("h"), &nodes);
    let program = prints("x", PHP);
    let check = |to, status| {
        let reply = Client::new().run(to, &program);
        reply.assert_failure_about(status, &["PHP", "sandpiper images build"]);
    };
    check(haproxy.address, 503);
    // A client that is no proxy is answered as ever.
    check(nodes[0].address, 503);
    let reply = nodes[0].server().compile(&program);
    assert_eq!(reply.status, 425, "{reply:?}");
    let nodes = [node("a", 502, lacking), node("b", 502, lacking)];
    let nginx = Nginx::start(folder.path().join("n"), &nodes);
    // Each node has refused, and is asked again.
    for _ in 0..2 {
        check(nginx.address, 502);
        for (word, reply) in four_runs(nginx.address) {
            assert!(printed(&reply, &word), "{reply:?}");
        }
    }
}

/// A client that sends no more counts as one that has closed. If it is not noticed, the
/// run ends by its own time, and counts as another outcome.
fn client_is_gone() {
    let fleet = Fleet::start(Setup::default());
    let nginx = Nginx::start(fleet.folder.path().join("n"), &fleet.nodes);
    let gone =
        r#"sandpiper_runs_total{language="python",outcome="client_gone"}"#;
    let mut count = 0;
    for to in [fleet.address(), nginx.address, fleet.nodes[0].address] {
        for closes in [true, false] {
            let name = word();
            let stream = Client::new().begin_run(to, &waits(&name));
            fleet.runner_index(&name);
            let kept = if closes {
                drop(stream);
                None
            } else {
                stream.shutdown(Shutdown::Write).unwrap();
                Some(stream)
            };
            count += 1;
            eventually("the client has gone", || fleet.count(gone) == count);
            fleet.wait_for_boxes(0);
            drop(kept);
        }
    }
}

/// Runs of Python that ended well.
pub(crate) const RUNS: &str =
    r#"sandpiper_runs_total{language="python",outcome="ok"}"#;

/// Runs a program four times. Returns the answers, each with the word of a right one.
fn four_runs(to: SocketAddr) -> Vec<(String, Reply)> {
    let run = |_| {
        let word = word();
        let reply = Client::new().run(to, &prints(&word, 0));
        (word, reply)
    };
    (0..4).map(run).collect()
}

/// Each request is answered, and run once.
fn machine_is_off() {
    let mut nodes = [node("a", 425, None), node("b", 425, None)];
    let folder = tempfile::tempdir().unwrap();
    let haproxy = HaProxy::start(folder.path().join("h"), &nodes);
    let nginx = Nginx::start(folder.path().join("n"), &nodes);
    nodes[1].stop();
    let _off = Silence::at(nodes[1].address);
    for (to, count) in [(haproxy.address, 4), (nginx.address, 8)] {
        for (word, reply) in four_runs(to) {
            assert!(printed(&reply, &word), "{reply:?}");
        }
        assert_eq!(nodes[0].count(RUNS), count);
    }
}

/// A node that has taken a request and is silent may run it still, so no other does.
/// HAProxy notices that its checks are silent, too.
fn hangs_behind_haproxy() {
    let nodes = [node("a", 425, None), node("b", 425, None)];
    let folder = tempfile::tempdir().unwrap();
    let words = [("timeout server 60s", "timeout server 3000ms")];
    let to = folder.path().join("h");
    let haproxy = HaProxy::start_with(to, &nodes, &words);
    nodes[1].pause();
    let message = "the node did not answer in time; try again";
    let count = check_hanging(haproxy.address, 504, message);
    haproxy.wait_until("b", false);
    // On a busy machine the answer of a run may come too late.
    eventually("the other node runs all", || {
        let mut answers = four_runs(haproxy.address).into_iter();
        answers.all(|(word, reply)| printed(&reply, &word))
    });
    nodes[1].resume();
    assert!(nodes[0].count(RUNS) >= count + 4);
}

fn hangs_behind_nginx() {
    let nodes = [node("a", 502, None), node("b", 502, None)];
    let folder = tempfile::tempdir().unwrap();
    // As long as the test, in proportion.
    let words = [
        ("proxy_read_timeout 60s", "proxy_read_timeout 3000ms"),
        ("proxy_next_upstream_timeout 50s", "proxy_next_upstream_timeout 2s"),
    ];
    let to = folder.path().join("n");
    let nginx = Nginx::start_with(to, &nodes, &words);
    nodes[1].pause();
    let message = "no node can answer now; try again";
    let count = check_hanging(nginx.address, 503, message);
    nodes[1].resume();
    assert!(nodes[0].count(RUNS) >= count);
}

/// Runs programs while a node hangs. Some fail so, and the others are right. Returns
/// the number of those.
fn check_hanging(to: SocketAddr, status: u16, message: &str) -> usize {
    let answers = four_runs(to);
    let (right, refused): (Vec<_>, Vec<_>) =
        answers.iter().partition(|(word, reply)| printed(reply, word));
    for (_, reply) in &refused {
        reply.assert_failure(status, message);
    }
    assert!(!refused.is_empty(), "it was not asked");
    right.len()
}

/// Each node is asked to end, and later killed, while clients send programs.
fn end_behind_nginx() {
    let mut nodes = ["a", "b", "c"].map(|tag| node(tag, 502, None));
    let folder = tempfile::tempdir().unwrap();
    let nginx = Nginx::start(folder.path().join("n"), &nodes);
    let load = Load::of(4);
    let failures = Failures::default();
    thread::scope(|scope| {
        load.start(scope, &[nginx.address], &failures);
        let mut end = |end: fn(&mut Node)| {
            for node in &mut nodes {
                load.advances();
                end(node);
                load.advances();
                node.restart();
                node.server().wait_until_ready();
            }
        };
        // The clients would send for ever if this panicked.
        let done = catch_unwind(AssertUnwindSafe(|| {
            end(Node::stop);
            assert!(failures.all().is_empty(), "{failures:?}");
            end(Node::kill);
        }));
        load.end();
        done.unwrap_or_else(|it| resume_unwind(it));
    });
    load.check();
    // A node may die while it sends an answer.
    let is_known = |failure: &Failure| failure.reason == CUT_BODY;
    assert!(failures.all().iter().all(is_known), "{failures:?}");
}

/// A program that makes its nodes die comes to four at most.
fn die_of_a_program() {
    let folder = tempfile::tempdir().unwrap();
    let mut nodes = five_nodes(425);
    let haproxy = HaProxy::start(folder.path().join("h"), &nodes);
    let message = "the node with this request is gone; try again";
    kill_with(&mut nodes, haproxy.address).assert_failure(502, message);
    let mut nodes = five_nodes(502);
    let nginx = Nginx::start(folder.path().join("n"), &nodes);
    let message = "no node can answer now; try again";
    kill_with(&mut nodes, nginx.address).assert_failure(503, message);
}

fn five_nodes(status: u16) -> [Node; 5] {
    ["a", "b", "c", "d", "e"].map(|tag| {
        let node = node(tag, status, None);
        // Else it may refuse the program, which is a try.
        node.server().wait_until_ready_for(&["python"]);
        node
    })
}

/// Sends a program, and kills each node that runs it. Returns its answer.
fn kill_with(nodes: &mut [Node], to: SocketAddr) -> Reply {
    let name = word();
    let mut stream = Client::new().begin_run(to, &waits(&name));
    let answer = thread::spawn(move || read(&mut stream).expect("an answer"));
    let mut killed = 0;
    eventually("the program has an answer", || {
        let mut all = nodes.iter_mut();
        if let Some(node) = all.find(|node| node.waiting(&name).is_some()) {
            node.kill();
            killed += 1;
        }
        answer.is_finished()
    });
    // A node that has just died may be asked, too.
    assert!((2..=4).contains(&killed), "{killed}");
    answer.join().unwrap()
}
