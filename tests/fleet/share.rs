//! One client has its share of a balancer, and others have theirs.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};

use sandpiper_testkit::{Reply, connect, eventually, raise_open_files};

use crate::Test;
use crate::balancer::{HaProxy, Nginx};
use crate::client::{Client, JSON, printed, prints, read, waits, word};
use crate::fleet::{Fleet, Setup};

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("share/connections-behind-haproxy", connections_behind_haproxy),
    ("share/large-requests-behind-haproxy", large_behind_haproxy),
    ("share/networks-behind-haproxy", networks_behind_haproxy),
    ("share/requests-behind-haproxy", all_behind_haproxy),
    ("share/requests-behind-nginx", all_behind_nginx),
    ("share/one-request-for-each-connection", no_http2),
];

/// A request that a node refuses with [`BAD`], in two parts.
struct Request {
    /// The header with the length of its body.
    length: String,
    begun: String,
    rest: String,
}

const BAD: u16 = 400;

fn fleet() -> Fleet {
    let flags = &["--compile-rate-limit=0"];
    Fleet::start(Setup { flags, ..Setup::default() })
}

const TOO_MANY_LARGE: &str =
    "too many large requests of your address are in progress; try again";
/// The body of a large request: more than HAProxy keeps, so that it has chosen a node.
const LARGE: usize = 150 << 10;

fn large_behind_haproxy() {
    let fleet = fleet();
    let to = fleet.address();
    let message = TOO_MANY_LARGE;
    let begun = LARGE;
    let spaces = " ".repeat(begun);
    let large = Request {
        length: format!("Content-Length: {}", begun + 2),
        begun: spaces.clone(),
        rest: "{}".to_owned(),
    };
    check(&fleet, to, 20, &large, message);
    let chunked = Request {
        length: "Transfer-Encoding: chunked".to_owned(),
        begun: format!("{begun:x}\r\n{spaces}"),
        rest: "\r\n2\r\n{}\r\n0\r\n\r\n".to_owned(),
    };
    check(&fleet, to, 20, &chunked, message);
    // Only large requests are counted so.
    let client = Client::new();
    let mut held: Vec<_> = (0..20).map(|_| large.begin(client, to)).collect();
    eventually("the client has its share", || {
        let is_refused =
            large.ask(client, to).is_ok_and(|reply| reply.status == 429);
        // Or this one was earlier than one of those.
        held.push(large.begin(client, to));
        is_refused
    });
    assert_eq!(small().ask(client, to).unwrap().status, BAD);
    drop(held);
}

/// Connections without a request count as well.
fn connections_behind_haproxy() {
    raise_open_files();
    let fleet = fleet();
    // They stay open for as long as the test takes.
    let words = [("timeout http-request 30s", "timeout http-request 600s")];
    let folder = fleet.folder.path().join("h");
    let haproxy = HaProxy::start_with(folder, &fleet.nodes, &words);
    let to = haproxy.address;
    let is_answered =
        |client: Client| client.try_send(to, "GET /healthz", &[], "").is_ok();
    let client = Client::new();
    let mut held: Vec<_> = (0..1000).map(|_| client.keep(to)).collect();
    eventually("the client has its share", || {
        let is_less = is_answered(client);
        if is_less {
            // The kernel may not yet have handed over each of those.
            held.push(client.keep(to));
            assert!(held.len() < 1100, "it has more");
        }
        !is_less
    });
    assert!(is_answered(Client::new()));
    drop(held);
    eventually("there is room", || is_answered(client));
}

/// All addresses of a /64 of IPv6 have one share.
fn networks_behind_haproxy() {
    let fleet = fleet();
    let folder = fleet.folder.path().join("h");
    let haproxy = HaProxy::start_with_proxy_protocol(folder, &fleet.nodes);
    let begin = |address: &str| {
        let mut stream = connect(haproxy.address);
        let spaces = " ".repeat(LARGE);
        let request = format!(
            "PROXY TCP6 {address} ::1 1 1\r\n\
             POST /api/compile HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
             {JSON}\r\nContent-Length: {}\r\n\r\n{spaces}",
            LARGE + 2
        );
        // It may be refused at once.
        let _ = stream.write_all(request.as_bytes());
        stream
    };
    let ask = |address: &str| {
        let mut stream = begin(address);
        let _ = stream.write_all(b"{}");
        read(&mut stream).ok()
    };
    let mut hosts = (1..).map(|host| format!("2001:db8::{host:x}"));
    let mut next = || begin(&hosts.next().unwrap());
    let mut held: Vec<_> = (0..20).map(|_| next()).collect();
    eventually("the network has its share", || {
        let reply = ask("2001:db8::1:0:0").filter(|it| it.status != BAD);
        if let Some(reply) = &reply {
            reply.assert_failure(429, TOO_MANY_LARGE);
        } else {
            // This one was earlier than one of those, or its refusal was cut off.
            held.push(next());
        }
        reply.is_some()
    });
    assert_eq!(ask("2001:db8:0:1::1").unwrap().status, BAD);
    drop(held);
}

const TOO_MANY: &str =
    "too many requests of your address are in progress; try again";

fn all_behind_nginx() {
    let fleet = fleet();
    let nginx = Nginx::start(fleet.folder.path().join("n"), &fleet.nodes);
    check(&fleet, nginx.address, 200, &small(), TOO_MANY);
}

/// HAProxy counts a request when it has read it, so these are runs that wait.
fn all_behind_haproxy() {
    let flags = &["--compile-rate-limit=0", "--queue=1000"];
    let fleet = Fleet::start(Setup { flags, ..Setup::default() });
    let to = fleet.address();
    let client = Client::new();
    let mut held: Vec<_> =
        (0..200).map(|_| client.begin_run(to, &waits("held"))).collect();
    eventually("the client has its share", || {
        let parts = ["sandpiper_runs_waiting", "sandpiper_boxes_in_use"];
        parts.iter().map(|part| fleet.count(part)).sum::<usize>() == 200
    });
    let ask = |client: Client| client.send(to, "GET /products", "");
    let reply = ask(client);
    reply.assert_failure(429, TOO_MANY);
    assert_eq!(reply.header("retry-after"), Some("1"));
    let word = word();
    let reply = Client::new().run(to, &prints(&word, 0));
    assert!(printed(&reply, &word), "{reply:?}");
    held.pop();
    eventually("there is room", || ask(client).status == 200);
    drop(held);
    fleet.wait_for_boxes(0);
}

/// A client that begins with HTTP/2, for which a connection has many requests.
fn no_http2() {
    let fleet = fleet();
    let nginx = Nginx::start(fleet.folder.path().join("n"), &fleet.nodes);
    for to in [fleet.address(), nginx.address] {
        let mut stream = connect(to);
        // The preface, and an empty frame of settings.
        let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
        stream.write_all(preface).unwrap();
        let mut answer = Vec::new();
        // It may be reset behind the answer, since not all was read.
        let _ = stream.read_to_end(&mut answer);
        let answer = String::from_utf8_lossy(&answer);
        assert!(answer.starts_with("HTTP/1.1 400 "), "{to}: {answer:?}");
    }
}

fn small() -> Request {
    let length = "Content-Length: 2".to_owned();
    Request { length, begun: "{".to_owned(), rest: "}".to_owned() }
}

impl Request {
    /// Sends the first part.
    fn begin(&self, client: Client, to: SocketAddr) -> io::Result<TcpStream> {
        let headers = [JSON, &self.length];
        client.begin_with(to, "POST /api/compile", &headers, &self.begun)
    }

    /// Sends the second part. Returns the answer.
    fn end(&self, mut stream: TcpStream) -> io::Result<Reply> {
        stream.write_all(self.rest.as_bytes())?;
        read(&mut stream)
    }

    fn ask(&self, client: Client, to: SocketAddr) -> io::Result<Reply> {
        self.end(self.begin(client, to)?)
    }
}

/// While a client has so many requests in progress, its next one is refused, and
/// those of others are not.
fn check(
    fleet: &Fleet,
    to: SocketAddr,
    share: usize,
    request: &Request,
    message: &str,
) {
    let client = Client::new();
    let mut held: Vec<_> =
        (0..share).map(|_| request.begin(client, to)).collect();
    let (mut before, mut reply) = (0, None);
    eventually("the client has its share, and is refused", || {
        before = fleet.count(ANSWERED);
        let answer = request.ask(client, to).ok();
        reply = answer.filter(|answer| answer.status != BAD);
        if reply.is_none() {
            // This one was earlier than one of those, or its refusal was cut off
            // with it.
            held.push(request.begin(client, to));
        }
        reply.is_some()
    });
    let reply = reply.unwrap();
    reply.assert_failure(429, message);
    assert_eq!(reply.header("retry-after"), Some("1"));
    assert_eq!(request.ask(Client::new(), to).unwrap().status, BAD);
    assert_eq!(fleet.count(ANSWERED), before + 1, "none came to a node");
    let first = held.swap_remove(0).unwrap();
    assert_eq!(request.end(first).unwrap().status, BAD);
    eventually("there is room", || {
        request.ask(client, to).is_ok_and(|reply| reply.status == BAD)
    });
    // A node counts those that are cut off later, when it notices.
    for stream in held.into_iter().flatten() {
        request.end(stream).ok();
    }
}

const ANSWERED: &str = r#"sandpiper_http_requests_total{route="/api/compile",method="POST",status="400"}"#;
