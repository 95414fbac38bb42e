//! State that several servers share, in Valkey servers that all of them call. Such a
//! server is a *Valkey* in the comments here.
//!
//! ```text
//! url          where a Valkey is, and the words to log in there
//! link         one connection to it, up or down
//! library      the functions that run there
//! error        the failure of one call
//! timeouts     the failures that show that it is gone
//! rate_limits  how often a client may ask, counted for all servers at once
//! catalogue    the products
//! inspect      facts about a Valkey, for operators
//! ```
//!
//! There is no HTTP here. If no flag names a Valkey, nothing here runs.

#![forbid(unsafe_code)]

mod catalogue;
mod error;
mod inspect;
mod library;
mod link;
mod rate_limits;
mod timeouts;
mod url;

pub use catalogue::{Catalogue, CatalogueError, Changes, Cursor, Replaced};
pub use error::CallError;
pub use inspect::{
    COMMANDS_OF_LIMITS, COMMANDS_OF_PRODUCTS, Facts, NoAnswer, Rights,
    ValkeySettings, inspect, is_open, rights,
};
pub use library::Library;
pub use link::{Link, LinkState, Observe};
pub use rate_limits::{
    ClientLimit, LimitDecision, LimitDecisionKind, RateLimits,
};
pub use redis::Value;
pub use url::{InvalidServerUrl, ServerUrl};
