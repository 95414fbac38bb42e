//! Every default limit of HTTP, with its unit and what happens when it is
//! reached. The table of limits in the docs is tested against this file and
//! `crates/engine/src/limits.rs`.

use std::time::Duration;

use sandpiper_engine::limits::MIB;

/// Compile requests of one client in a minute. Beyond it: 429 with
/// `Retry-After`.
pub const COMPILE_REQUESTS_PER_MINUTE: u32 = 20;
/// The minute of the rate limit: no span of this length holds more requests.
pub const RATE_LIMIT_WINDOW: Duration = Duration::from_secs(60);
/// Clients that the rate limit remembers. Beyond it: the client that has been
/// idle for longest is forgotten.
pub const RATE_LIMIT_CLIENTS: usize = 100_000;
/// Admitted requests of all clients that the rate limit remembers, since the limit
/// of a client may be in the thousands. Beyond it: the client that has been idle
/// for longest is forgotten.
pub const RATE_LIMIT_REQUESTS: usize = 2_000_000;

/// Body of a compile request, in bytes. Beyond it: 413.
pub const COMPILE_BODY_BYTES: u64 = 2 * MIB;
/// Files in one compile request. Beyond it: 413.
pub const COMPILE_FILES: usize = 200;
/// Body of a request that sends input to a run, in bytes. Beyond it: 413.
pub const LIVE_INPUT_BODY_BYTES: u64 = 64 << 10;
/// Input that a run has been sent and its program has not read, in bytes. Beyond
/// it: 503 with `Retry-After`.
pub const LIVE_INPUT_WAITING: usize = 64 << 10;
/// Requests that send input to one run. Beyond it: 429.
pub const LIVE_INPUTS: u32 = 600;
/// All input that is sent to one run while it goes on, in bytes. Beyond it: 429.
pub const LIVE_INPUT_BYTES: usize = 1 << 20;
/// Patterns of the artifacts of a run. Beyond it: 400.
pub const ARTIFACT_PATTERNS: usize = 16;
/// Bytes of one pattern of artifacts. Beyond it: 400.
pub const ARTIFACT_PATTERN_BYTES: usize = 256;
/// Body of a products request, in bytes. Beyond it: 413.
pub const PRODUCT_BODY_BYTES: u64 = MIB;
/// All products together, in bytes. Beyond it: 507.
pub const PRODUCTS_BYTES: u64 = 256 * MIB;

/// Connections at once. Beyond it: further connections wait until one is closed
/// whose client keeps the server waiting.
pub const CONNECTIONS: usize = 2_048;
/// Connections of one client at once, an IPv6 /64 being one client. Beyond it:
/// one of its own that keeps the server waiting is closed.
pub const CLIENT_CONNECTIONS: usize = 1_024;
/// Connections of one client that may wait for this. Beyond it: further ones are
/// closed at once, since a client that opens so many reads no answer.
pub const CLIENT_CONNECTIONS_WAITING: usize = 64;
/// Head of a request, in bytes. Beyond it: 431.
pub const HEAD_BYTES: usize = 64 << 10;
/// Headers of a request, each line of the same name counted. Beyond it: 431.
pub const HEADERS: usize = 100;
/// Time for the head of a request, including the wait for it. Beyond it: the
/// connection is closed.
pub const HEAD_TIME: Duration = Duration::from_secs(30);
/// Time for a whole body, from the end of the head. Beyond it: 408.
pub const BODY_TIME: Duration = Duration::from_secs(30);
/// All bodies over 64 KiB that are in memory at once, in bytes; those of one
/// client are at most half. Beyond it: they wait, and get 503 when their time is
/// up.
pub const BODIES_BYTES: u64 = 256 * MIB;
/// Time by which a client may be behind in taking an answer at 64 KiB a second.
/// Beyond it: the connection is closed.
pub const ANSWER_TIME: Duration = Duration::from_secs(30);
/// Large answers in memory that clients have not taken yet, in bytes: those of
/// products, and as much again of all others. Beyond it: lists or runs get 503
/// with `Retry-After`, and slow clients that take such answers are closed.
pub const ANSWERS_BYTES: u64 = 256 * MIB;
