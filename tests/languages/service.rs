//! The service that all tests of this target share, with every language ready.

use std::io::Write;
use std::net::TcpStream;
use std::sync::OnceLock;
use std::sync::mpsc::channel;
use std::thread::{park, spawn};

use crate::case::Answer;

pub(crate) use sandpiper_testkit::Reply;
pub(crate) use sandpiper_testkit::Server;

/// A server with the operator's images and no rate limit. Tests may wait for
/// each other's runs, so the queue is long.
pub(crate) fn start(flags: &[&str]) -> Server {
    let flags = [&["--compile-rate-limit=0"], flags].concat();
    let server = Server::spawn(&flags, None);
    server.wait_until_ready();
    server
}

/// The shared server, with places for all tests at once.
pub(crate) fn shared() -> &'static Server {
    static SHARED: OnceLock<Server> = OnceLock::new();
    SHARED.get_or_init(|| {
        let (tell, started) = channel();
        // It ends with the thread that started it: this one stays until the
        // test process ends.
        spawn(move || {
            let flags = ["--boxes=4", "--queue=1000", "--queue-wait=600s"];
            tell.send(start(&flags)).unwrap();
            loop {
                park();
            }
        });
        started.recv().unwrap()
    })
}

/// Sends a compile request and does not read the answer.
pub(crate) fn send_and_leave(
    server: &Server,
    request: &serde_json::Value,
) -> TcpStream {
    let request = request.to_string();
    let mut connection = server.connect();
    write!(
        connection,
        "POST /api/compile HTTP/1.1\r\nHost: x\r\n\
         Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{request}",
        request.len()
    )
    .unwrap();
    connection
}

/// Sends a compile request and reads the answer, which must be a 200.
pub(crate) fn compile(server: &Server, request: &serde_json::Value) -> Answer {
    let body = request.to_string();
    let json = ["Content-Type: application/json"];
    let reply = server.send("POST", "/api/compile", &json, body);
    assert_eq!(reply.status, 200, "{}", reply.text());
    let fields = reply.json();
    let fields = fields.as_object().unwrap();
    assert_eq!(fields.len(), 2, "{fields:?}");
    let text = |name: &str| fields[name].as_str().unwrap().to_owned();
    Answer {
        stdout: text("stdout"),
        stderr: text("stderr"),
        exit: reply.header("sandpiper-exit").unwrap().to_owned(),
        timing: reply.header("server-timing").unwrap().to_owned(),
    }
}
