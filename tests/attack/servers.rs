//! The servers under attack.

#[path = "../api/reply.rs"]
#[allow(dead_code, reason = "shared with the api tests, which use more")]
mod reply;
#[path = "../api/server.rs"]
#[allow(dead_code, reason = "shared with the api tests, which use more")]
mod server;

pub(crate) use reply::Reply;
pub(crate) use server::{Server, program};

/// What makes a request one of this client's; the queue is fair by client.
pub(crate) fn client(number: u8) -> String {
    format!("X-Forwarded-For: 192.0.2.{number}")
}

/// Starts a server for attacks, with further flags.
pub(crate) fn start(flags: &[&str]) -> Server {
    let flags = [
        &[
            "--compile-rate-limit=0",
            "--boxes=4",
            "--queue=200",
            "--queue-wait=120s",
            "--trusted-proxy=127.0.0.1",
        ],
        flags,
    ];
    Server::spawn(&flags.concat(), None)
}
