//! Parts of a fleet die that have a run.

use std::net::{SocketAddr, TcpStream};

use crate::Test;
use crate::balancer::Nginx;
use crate::client::{Client, printed, read, waits, waits_with, word};
use crate::fleet::{Fleet, Setup};
use crate::node::Node;

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("killed/all-nodes", all_nodes),
    ("killed/balancer-of-a-run", balancer),
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
        let first = fleet.runner(&name);
        fleet.nodes[first].kill();
        let second = fleet.runner(&name);
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
        fleet.runner(&name);
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
    let first = fleet.runner(&name);
    fleet.nodes[first].kill();
    (name, stream, first)
}
