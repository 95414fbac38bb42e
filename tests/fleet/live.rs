//! Runs that are reached through a balancer while they go on: by the tag in the id
//! that a node gave, or by an id that the client chose.

use std::net::SocketAddr;

use sandpiper_testkit::{Reply, eventually};
use serde_json::json;

use crate::Test;
use crate::balancer::{HaProxy, Nginx};
use crate::client::{Client, read, waits, word};
use crate::fleet::{Fleet, Setup};
use crate::node::Node;

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("live/behind-haproxy", behind_haproxy),
    ("live/behind-nginx", behind_nginx),
    ("live/each-node-is-asked-once", each_node_is_asked_once),
];

const NO_SUCH_RUN: &str = "no such run";

fn behind_haproxy() {
    let mut fleet = Fleet::start(Setup::default());
    let to = fleet.address();
    by_their_tags(to, &["a", "b", "c"]);
    by_an_id_of_the_client(&fleet, to);
    Client::new().send(to, "GET /last", "");
    let log = || fleet.balancers[0].log();
    eventually("the last request is in the log", || log().contains("/last"));
    assert!(log().contains("/api/run/... "), "{}", log());
    assert_no_ids(&log());
    without_a_body(&fleet);
    let reply = on_a_node_that_dies(&mut fleet, to);
    reply.assert_failure(404, NO_SUCH_RUN);
}

fn behind_nginx() {
    let mut fleet = Fleet::start(Setup::default());
    let folder = fleet.folder.path().join("nginx");
    let nginx = Nginx::start(folder, &fleet.nodes);
    by_their_tags(nginx.address, &["a", "b", "c"]);
    by_an_id_of_the_client(&fleet, nginx.address);
    let reply = on_a_node_that_dies(&mut fleet, nginx.address);
    // nginx asks no other node.
    reply.assert_failure(503, "no node can answer now; try again");
    Client::new().send(nginx.address, "GET /last", "");
    eventually("the last request is in the log", || {
        nginx.log().contains("/last")
    });
    assert_no_ids(&nginx.log());
}

/// HAProxy writes a line for an input that does not come, too.
fn without_a_body(fleet: &Fleet) {
    let soon = [("timeout http-request 30s", "timeout http-request 500ms")];
    let folder = fleet.folder.path().join("soon");
    let haproxy = HaProxy::start_with(folder, &fleet.nodes, &soon);
    let client = Client::new();
    let head = "POST /api/run/a-0123456789abcdef/input";
    let _open = client
        .begin_with(haproxy.address, head, &["Content-Length: 9"], "")
        .unwrap();
    // HAProxy keeps the connection for a client that still sends.
    eventually("it is in the log", || haproxy.log().contains(" 408 "));
    assert_no_ids(&haproxy.log());
}

/// A reader of the id of a run can type into it.
fn assert_no_ids(log: &str) {
    let parts =
        ["/api/run/a-", "/api/run/b-", "/api/run/c-", "0123456789abcdef"];
    assert!(parts.iter().all(|it| !log.contains(it)), "{log}");
}

fn by_their_tags(to: SocketAddr, tags: &[&str]) {
    let talk = |_| {
        let source = "print(input('Name? '))\ninput('More? ')";
        let mut events = Client::new().talk(to, source);
        events.until("Name? ");
        events
    };
    let mut runs: Vec<_> = tags.iter().map(talk).collect();
    let ids: Vec<_> = runs.iter().map(|it| it.run.clone().unwrap()).collect();
    // Each node has one of them, since it had the fewest requests.
    let tag_of = |id: &String| {
        let (tag, rest) = id.split_once('-').unwrap();
        let is_hex = |c| matches!(c, '0'..='9' | 'a'..='f');
        assert!(rest.len() == 32 && rest.chars().all(is_hex), "{id}");
        tag.to_owned()
    };
    let mut seen: Vec<String> = ids.iter().map(tag_of).collect();
    seen.sort_unstable();
    assert_eq!(seen, tags);
    let other = Client::new();
    for (number, id) in (0..).zip(&ids) {
        let text = json!({"text": format!("Ann {number}\n")});
        assert_eq!(other.tell(to, id, "input", &text).status, 204);
    }
    for ((number, id), events) in (0..).zip(&ids).zip(&mut runs) {
        events.until("More? ");
        assert_eq!(events.stdout, format!("Name? Ann {number}\nMore? "));
        assert_eq!(other.tell(to, id, "stop", &json!({})).status, 204);
        assert_eq!(events.end()["exit"], json!({"stopped": true}));
        let reply = other.tell(to, id, "stop", &json!({}));
        reply.assert_failure(404, NO_SUCH_RUN);
    }
    let unknown = "z-0123456789abcdef0123456789abcdef";
    let reply = other.tell(to, unknown, "stop", &json!({}));
    reply.assert_failure(404, NO_SUCH_RUN);
}

fn by_an_id_of_the_client(fleet: &Fleet, to: SocketAddr) {
    let id = "0123456789abcdef0123456789abcdef";
    let header = format!("Sandpiper-Run: {id}");
    let headers = ["Content-Type: application/json", &header];
    let client = Client::new();
    // The nodes have it in turns.
    for _ in 0..fleet.nodes.len() {
        let name = word();
        let body = waits(&name).to_string();
        let run = client.begin(to, "POST /api/compile", &headers, &body);
        fleet.runner_index(&name);
        assert_eq!(client.tell(to, id, "stop", &json!({})).status, 204);
        let reply = read(&mut run.unwrap()).unwrap();
        let exit = reply.header("sandpiper-exit");
        assert_eq!(exit, Some("stage=run; stopped=true"), "{reply:?}");
    }
}

/// Returns the answer to input for a run whose node is dead.
fn on_a_node_that_dies(fleet: &mut Fleet, to: SocketAddr) -> Reply {
    let client = Client::new();
    let mut events = client.talk(to, "input('Name? ')");
    events.until("Name? ");
    let id = events.run.clone().unwrap();
    let is_it = |node: &&mut Node| id.starts_with(&node.tag);
    let node = fleet.nodes.iter_mut().find(is_it).unwrap();
    node.kill();
    let rest = events.cut();
    assert!(!rest.contains("event: end"), "{rest}");
    let input = json!({"text": "Ann\n"});
    let reply = client.tell(to, &id, "input", &input);
    node.restart();
    let later = client.tell(to, &id, "input", &input);
    later.assert_failure(404, NO_SUCH_RUN);
    reply
}

/// Each node is asked at most once about a run that no node has.
fn each_node_is_asked_once() {
    let fleet = Fleet::start(Setup::default());
    let nginx = Nginx::start(fleet.folder.path().join("n"), &fleet.nodes);
    let nodes = &fleet.nodes;
    let mut before = vec![0; nodes.len()];
    let mut check = |to, path: &str, all: usize| {
        let client = Client::new();
        let head = format!("POST /api/run/{path}");
        let reply = client.send(to, &head, "{\"text\":\"\"}");
        assert_eq!(reply.status, 404, "{path}: {reply:?}");
        let asked: Vec<usize> = nodes.iter().map(asked).collect();
        let new = asked.iter().zip(&before).map(|(new, old)| new - old);
        let new: Vec<usize> = new.collect();
        assert!(new.iter().all(|it| *it <= 1), "{path}: {new:?}");
        assert_eq!(new.iter().sum::<usize>(), all, "{path}: {new:?}");
        before = asked;
    };
    let id = "0123456789abcdef0123456789abcdef";
    for to in [fleet.address(), nginx.address] {
        for what in ["input", "stop"] {
            check(to, &format!("{id}/{what}"), nodes.len());
            check(to, &format!("a-{id}/{what}"), 1);
        }
    }
    let to = fleet.address();
    for path in [&format!("z-{id}/stop"), "x/stop", "stop", &format!("{id}/x")]
    {
        check(to, path, 1);
    }
}

/// Returns the number of requests that the node has answered with 404.
fn asked(node: &Node) -> usize {
    let all = node.metrics();
    let requests = "sandpiper_http_requests_total{";
    let series = all.values.keys().filter(|it| it.starts_with(requests));
    let refused = series.filter(|it| it.contains("status=\"404\""));
    refused.map(|it| all.count(it)).sum()
}
