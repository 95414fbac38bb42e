//! Parts of a fleet die that have a run.

use std::net::{SocketAddr, TcpStream};

use crate::Test;
use crate::balancer::Nginx;
use crate::client::{Client, printed, read, waits, waits_with, word};
use crate::fleet::{Fleet, Setup};
use crate::node::Node;

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("killed/parts-of-a-run", parts_of_a_run),
    ("killed/node-of-a-large-run", node_of_a_large_run),
];

fn parts_of_a_run() {
    let mut fleet = Fleet::start(Setup::default());
    let mut nginx = Nginx::start(fleet.folder.path().join("n"), &fleet.nodes);
    node(&mut fleet, &nginx);
    balancer(&mut fleet, &mut nginx);
    all_nodes(&mut fleet, &nginx);
}

/// The run begins again on another node, and the client reads its answer.
fn node(fleet: &mut Fleet, nginx: &Nginx) {
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
fn balancer(fleet: &mut Fleet, nginx: &mut Nginx) {
    let begin = |fleet: &Fleet, to: SocketAddr| {
        let name = word();
        let stream = Client::new().begin_run(to, &waits(&name));
        fleet.runner(&name);
        stream
    };
    let ends = |fleet: &Fleet, mut stream: TcpStream| {
        assert!(read(&mut stream).is_err());
        fleet.wait_for_boxes(0);
    };
    let stream = begin(fleet, fleet.address());
    fleet.balancers[0].kill();
    ends(fleet, stream);
    fleet.balancers[0].restart();
    let stream = begin(fleet, nginx.address);
    nginx.kill();
    ends(fleet, stream);
    nginx.restart();
}

/// The balancers say when to ask again.
fn all_nodes(fleet: &mut Fleet, nginx: &Nginx) {
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
    let mut fleet = Fleet::start(Setup::default());
    let nginx = Nginx::start(fleet.folder.path().join("n"), &fleet.nodes);
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
