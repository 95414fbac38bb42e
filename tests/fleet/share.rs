//! One client has its share of a balancer, and others have theirs.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};

use sandpiper_testkit::eventually;

use crate::Test;
use crate::balancer::Nginx;
use crate::client::{Client, JSON, read};
use crate::fleet::{Fleet, Setup};

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("share/large-requests-behind-haproxy", large_behind_haproxy),
    ("share/requests-behind-nginx", all_behind_nginx),
];

const COMPILE: &str = "POST /api/compile";
/// A request that a node refuses with [`BAD`], whatever spaces are around it.
const BODY: &str = "{}";
const BAD: u16 = 400;

fn fleet() -> Fleet {
    let flags = &["--compile-rate-limit=0"];
    Fleet::start(Setup { flags, ..Setup::default() })
}

fn large_behind_haproxy() {
    let fleet = fleet();
    let large = format!("{}{BODY}", " ".repeat(300 << 10));
    // HAProxy keeps less than this, so that it has chosen a node.
    let begun = &large[..150 << 10];
    let message =
        "too many large requests of your address are in progress; try again";
    check(&fleet, fleet.address(), 20, &large, begun.len(), message);
    let client = Client::new();
    let _held = hold(client, fleet.address(), 20, &large, begun.len());
    // Only large requests are counted so.
    let reply = client.send(fleet.address(), COMPILE, BODY);
    assert_eq!(reply.status, BAD, "{reply:?}");
}

fn all_behind_nginx() {
    let fleet = fleet();
    let nginx = Nginx::start(fleet.folder.path().join("n"), &fleet.nodes);
    let message =
        "too many requests of your address are in progress; try again";
    check(&fleet, nginx.address, 200, BODY, 0, message);
}

/// Begins requests of a client, and sends so many bytes of the body of each.
fn hold(
    client: Client,
    to: SocketAddr,
    count: usize,
    body: &str,
    sent: usize,
) -> Vec<TcpStream> {
    let length = format!("Content-Length: {}", body.len());
    let begin = |_| {
        client.begin_with(to, COMPILE, &[JSON, &length], &body[..sent]).unwrap()
    };
    (0..count).map(begin).collect()
}

/// While a client has so many requests in progress, its next one is refused, and
/// those of others are not.
fn check(
    fleet: &Fleet,
    to: SocketAddr,
    share: usize,
    body: &str,
    sent: usize,
    message: &str,
) {
    let client = Client::new();
    let mut held = hold(client, to, share, body, sent);
    let ask = |client: Client| client.send(to, COMPILE, body);
    eventually("the client has its share", || ask(client).status == 429);
    let before = fleet.count(ANSWERED);
    let reply = ask(client);
    reply.assert_failure(429, message);
    assert_eq!(reply.header("retry-after"), Some("1"));
    assert_eq!(ask(Client::new()).status, BAD);
    assert_eq!(fleet.count(ANSWERED), before + 1, "none came to a node");
    let mut last = held.pop().unwrap();
    last.write_all(&body.as_bytes()[sent..]).unwrap();
    let reply = read(&mut last).unwrap();
    assert_eq!(reply.status, BAD, "{reply:?}");
    eventually("there is room", || ask(client).status == BAD);
}

const ANSWERED: &str = r#"sandpiper_http_requests_total{route="/api/compile",method="POST",status="400"}"#;
