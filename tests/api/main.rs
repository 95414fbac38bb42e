//! Black-box tests of the HTTP interface: they start the real program and
//! speak HTTP to it. No image is needed, and no root.

mod compile;
mod concurrency;
mod embed;
#[path = "../exposition.rs"]
#[allow(dead_code, reason = "shared with the server's tests, which use more")]
mod exposition;
mod json;
mod log;
mod metrics;
mod odd;
mod other;
mod preview;
mod products;
mod reply;
#[allow(dead_code, reason = "shared with tests/languages, which use more")]
mod server;
mod wire;
