//! The servers of this target's tests.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::case::Answer;

pub(crate) use sandpiper_testkit::Reply;
pub(crate) use sandpiper_testkit::Server;

/// No box is made ahead: of most languages that takes more than many runs.
pub(crate) const COLD: &str = "--warm-memory=0";

static TURN: Mutex<()> = Mutex::new(());

/// Holds up others that want a turn, until it is dropped: one has work for all
/// cores, and another one has limits that a busy machine reaches.
pub(crate) fn turn() -> MutexGuard<'static, ()> {
    TURN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A server with the operator's images and no rate limit.
pub(crate) fn start(flags: &[&str]) -> Server {
    let usual = [
        "--compile-rate-limit=0",
        // On a busy machine nothing is to end by its time.
        "--run-wall-time=120s",
        "--run-cpu-time=120s",
        "--compile-wall-time=120s",
    ];
    let flags = [&usual, flags].concat();
    let server = Server::spawn(&flags, None);
    server.wait_until_ready();
    server
}

/// A server of Python alone: it is ready at once.
pub(crate) fn start_python(flags: &[&str]) -> Server {
    start(&[&["--languages=python"], flags].concat())
}

/// Sends a compile request and reads the answer, which must be a 200.
pub(crate) fn compile(server: &Server, request: &serde_json::Value) -> Answer {
    let reply = server.compile(request);
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
