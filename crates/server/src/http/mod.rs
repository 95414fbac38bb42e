//! The parts of HTTP that all routes share: connections, bodies and answers.

mod address;
mod answer;
mod answer_body;
mod body;
mod compression;
mod connection;
mod head;
mod host;
mod idempotency_key;
mod json;
mod limiter;
mod memory;
mod path;
mod proxies;
mod socket;
mod state;

pub(crate) use address::ClientAddresses;
pub(crate) use answer::{
    ANSWERS_OVER_LIMIT, Answer, Page, answer_memory_full, failure, json,
    method_not_allowed, no_content, page,
};
pub(crate) use answer_body::AnswerBody;
pub(crate) use body::{BodyError, RequestBody, size};
pub(crate) use compression::{Coding, Encoder, compressed};
pub(crate) use connection::{
    ClientGone, RequestContext, Service, serve, stopped,
};
#[cfg(feature = "fuzzing")]
pub(crate) use head::HeadRecorder;
pub(crate) use host::{AllowedHosts, is_cross_site, misdirected};
pub(crate) use idempotency_key::IdempotencyKey;
pub(crate) use json::{fields as json_fields, text as json_text};
pub(crate) use limiter::{ConnectionLimiter, ConnectionPermit};
pub(crate) use memory::AnswerMemory;
pub(crate) use path::decoded as decoded_path;
pub(crate) use proxies::Proxies;
pub use proxies::{InvalidTrustedProxy, TrustedProxy};
pub(crate) use socket::Connection;
