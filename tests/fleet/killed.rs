//! Parts of a fleet die that have a run, or a change of the catalogue.

use std::net::{SocketAddr, TcpStream};

use sandpiper_testkit::{Reply, eventually};
use serde_json::{Value, json};

use crate::Test;
use crate::balancer::Nginx;
use crate::catalogue::UNREACHABLE;
use crate::client::{Client, JSON, printed, read, waits, waits_with, word};
use crate::fleet::{Fleet, Setup};
use crate::node::Node;

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("killed/all-nodes", all_nodes),
    ("killed/balancer-of-a-run", balancer),
    ("killed/node-of-a-change", node_of_a_change),
    ("killed/node-of-a-run", node),
    ("killed/node-of-a-large-run", node_of_a_large_run),
];

fn start() -> (Fleet, Nginx) {
    let fleet = Fleet::start(Setup::default());
    let nginx = Nginx::start(fleet.folder.path().join("n"), &fleet.nodes);
    (fleet, nginx)
}

/// The run begins again on another node, and the client reads its answer.
fn node() {
    let (mut fleet, nginx) = start();
    for to in [fleet.address(), nginx.address] {
        let name = word();
        let mut stream = Client::new().begin_run(to, &waits(&name));
        let first = fleet.runner_index(&name);
        fleet.nodes[first].kill();
        let second = fleet.runner_index(&name);
        assert_ne!(first, second);
        fleet.release(&name);
        let reply = read(&mut stream).unwrap();
        assert!(printed(&reply, &name), "{reply:?}");
        fleet.nodes[first].restart();
        fleet.wait_until(first, true);
    }
}

/// The node ends the run.
fn balancer() {
    let (mut fleet, mut nginx) = start();
    let begin = |to: SocketAddr| {
        let name = word();
        let stream = Client::new().begin_run(to, &waits(&name));
        fleet.runner_index(&name);
        stream
    };
    let streams = [fleet.address(), nginx.address].map(begin);
    fleet.balancers[0].kill();
    nginx.kill();
    for mut stream in streams {
        assert!(read(&mut stream).is_err());
    }
    fleet.wait_for_boxes(0);
}

/// The balancers say when to ask again.
fn all_nodes() {
    let (mut fleet, nginx) = start();
    fleet.nodes.iter_mut().for_each(Node::kill);
    for to in [fleet.address(), nginx.address] {
        let reply = Client::new().run(to, &waits(&word()));
        reply.assert_failure(503, "no node can answer now; try again");
        assert_eq!(reply.header("retry-after"), Some("5"));
    }
}

/// HAProxy does not keep a large request, and says that its node is gone. nginx
/// keeps it on disk.
fn node_of_a_large_run() {
    let (mut fleet, nginx) = start();
    let haproxy = fleet.address();
    let (_, mut stream, first) = large_run(&mut fleet, haproxy);
    let reply = read(&mut stream).unwrap();
    let message = "the node with this request is gone; try again";
    reply.assert_failure(502, message);
    fleet.nodes[first].restart();
    let (name, mut stream, _) = large_run(&mut fleet, nginx.address);
    fleet.release(&name);
    let reply = read(&mut stream).unwrap();
    assert!(printed(&reply, &name), "{reply:?}");
}

/// Begins a run and kills its node. Returns its name, the connection, and the number
/// of the node.
fn large_run(fleet: &mut Fleet, to: SocketAddr) -> (String, TcpStream, usize) {
    let name = word();
    let text = "x".repeat(300 << 10);
    let stream = Client::new().begin_run(to, &waits_with(&name, &text));
    let first = fleet.runner_index(&name);
    fleet.nodes[first].kill();
    (name, stream, first)
}

/// The change is done once, although another node asks the Valkey for it again.
fn node_of_a_change() {
    let products = Some(true);
    let mut fleet = Fleet::start(Setup { products, ..Setup::default() });
    // On a busy machine the Valkey may go on too late for a node.
    let mut attempts = 0..5;
    assert!(attempts.any(|_| changes_are_done_once(&mut fleet).is_some()));
}

/// Creates a product and deletes it. Returns `None` if the Valkey went on too late.
fn changes_are_done_once(fleet: &mut Fleet) -> Option<()> {
    let name = word();
    let named = |fleet: &Fleet| {
        let mut list: Vec<Value> = Vec::new();
        eventually("the catalogue is reached", || {
            let to = fleet.address();
            let reply = Client::new().send(to, "GET /products", "");
            list = serde_json::from_slice(&reply.body).unwrap_or_default();
            reply.status == 200
        });
        list.retain(|product| product["name"] == *name);
        list
    };
    let body = json!({ "name": name }).to_string();
    let created = asked_twice(fleet, "POST /products", &body, "create")?;
    assert_eq!(created.status, 201, "{created:?}");
    let products = [created.json()];
    assert_eq!(named(fleet), products);
    let head = format!("DELETE /products/{}", products[0]["id"]);
    let deleted = asked_twice(fleet, &head, "", "remove")?;
    assert_eq!(deleted.status, 204, "{deleted:?}");
    assert!(named(fleet).is_empty());
    Some(())
}

/// Sends a change, and kills its node when that has asked the Valkey for it. Returns
/// the answer of another node, unless the Valkey went on too late.
fn asked_twice(
    fleet: &mut Fleet,
    head: &str,
    body: &str,
    change: &str,
) -> Option<Reply> {
    let to = fleet.address();
    let valkey = fleet.products.as_ref().unwrap();
    let done = format!("sp1:{{catalogue}}:done:{change}:*");
    for before in valkey.ask(&["KEYS", &done]) {
        valkey.ask(&["DEL", &before]);
    }
    valkey.pause();
    let mut stream = Client::new().begin(to, head, &[JSON], body).unwrap();
    valkey.has_change();
    let balancer = &fleet.balancers[0];
    let is_it = |node: &Node| balancer.has_request(&node.tag);
    let first = fleet.nodes.iter().position(is_it);
    if let Some(first) = first {
        fleet.nodes[first].kill();
    }
    valkey.resume();
    let reply = read(&mut stream).unwrap();
    if let Some(first) = first {
        fleet.nodes[first].restart();
        fleet.wait_until(first, true);
    }
    if reply.status == 503 {
        reply.assert_failure(503, UNREACHABLE);
        return None;
    }
    assert!(first.is_some(), "the Valkey answered before it went on");
    // A word of 16 digits for each try.
    let valkey = fleet.products.as_ref().unwrap();
    let keys = valkey.ask(&["KEYS", &done]);
    let tries = valkey.ask(&["HGET", &keys[0], "tries"]);
    (tries[0].len() == 32).then_some(reply)
}
