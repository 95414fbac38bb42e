//! Parts of a fleet are killed or restarted while clients send programs.

use std::net::{SocketAddr, TcpStream};

use sandpiper_testkit::eventually;

use crate::Test;
use crate::balancer::Nginx;
use crate::client::{Client, printed, read, waits, waits_with, word};
use crate::clients::{Load, Seen};
use crate::fleet::{Fleet, Setup};

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("killed/node-of-a-run", node_of_a_run),
    ("killed/node-of-a-large-run", node_of_a_large_run),
    ("killed/each-part-under-load", each_part),
    ("killed/nodes-restart-under-load", nodes_restart),
];

const UNLIMITED: &str = "--compile-rate-limit=0";

/// The run begins again on another node, and the client reads its answer.
fn node_of_a_run() {
    let mut fleet = Fleet::start(Setup::default());
    let nginx = Nginx::start(fleet.folder.path().join("n"), &fleet.nodes);
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

/// A part that is killed: a node, a balancer, or the Valkey of limits.
#[derive(Clone, Copy, Debug)]
enum Killed {
    Node(usize),
    Balancer,
    Limits,
}

fn each_part() {
    let mut fleet = Fleet::start(Setup {
        limits: true,
        balancers: 2,
        // Every request is counted, and none is refused.
        flags: &["--compile-rate-limit=1000000"],
        ..Setup::default()
    });
    let parts = [
        Killed::Node(0),
        Killed::Limits,
        Killed::Node(1),
        Killed::Balancer,
        Killed::Node(2),
        Killed::Limits,
        Killed::Node(0),
    ];
    let seen = under_load(&mut fleet, |fleet, load| {
        for part in parts {
            match part {
                Killed::Node(number) => {
                    fleet.nodes[number].kill();
                    load.goes_on();
                    back_again(fleet, number);
                }
                Killed::Balancer => {
                    fleet.balancers[1].kill();
                    load.goes_on();
                    fleet.balancers[1].restart();
                }
                Killed::Limits => {
                    let limits = fleet.limits.as_mut().unwrap();
                    limits.kill();
                    load.goes_on();
                    limits.restart();
                    eventually("all nodes use it again", || {
                        fleet.count(crate::limits::UP) == fleet.nodes.len()
                    });
                }
            }
            load.goes_on();
        }
    });
    for (number, seen) in seen.iter().enumerate() {
        let has_other_balancer = number % 2 == 1;
        assert!(seen.cut == 0 || has_other_balancer, "{seen:?}");
    }
}

/// An upgrade: each node is asked to end, and starts again.
fn nodes_restart() {
    let flags = &[UNLIMITED];
    let mut fleet = Fleet::start(Setup { flags, ..Setup::default() });
    let seen = under_load(&mut fleet, |fleet, load| {
        for number in 0..fleet.nodes.len() {
            fleet.nodes[number].stop();
            load.goes_on();
            back_again(fleet, number);
            load.goes_on();
        }
    });
    let cut: usize = seen.iter().map(|seen| seen.cut).sum();
    assert_eq!(cut, 0, "{seen:?}");
}

/// Starts a node again, and waits until it can do all that it could.
fn back_again(fleet: &mut Fleet, number: usize) {
    fleet.nodes[number].restart();
    fleet.nodes[number].server().wait_until_ready();
    fleet.wait_until(number, true);
}

/// Does this while eight clients send programs. Fails if an answer is wrong.
fn under_load(
    fleet: &mut Fleet,
    work: impl FnOnce(&mut Fleet, &Load),
) -> Vec<Seen> {
    let balancers: Vec<_> =
        fleet.balancers.iter().map(|it| it.address).collect();
    for node in &fleet.nodes {
        node.server().wait_until_ready();
    }
    let load = Load::of(8);
    let seen: Vec<Seen> = std::thread::scope(|scope| {
        let clients = load.start(scope, &balancers);
        // The clients would send for ever if this panicked.
        let done =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                work(fleet, &load)
            }));
        load.end();
        let seen = clients.into_iter().map(|it| it.join().unwrap()).collect();
        done.unwrap_or_else(|it| std::panic::resume_unwind(it));
        seen
    });
    for seen in &seen {
        assert!(seen.wrong.is_empty(), "{seen:?}");
        assert!(seen.right > 0, "{seen:?}");
    }
    let right: usize = seen.iter().map(|seen| seen.right).sum();
    println!("{right} answers, all of them right");
    seen
}
