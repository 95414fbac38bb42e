//! Submission to outcome: admission, boxes, and the steps of a plan one after
//! another. Knows no HTTP.
//!
//! ```text
//! Submission ── Catalog::plan ──> Plan ── Admission ──> slot
//!                                   │                     │
//!       ready boxes ── take ──> box └──────> run ─────────┴──> Outcome
//! ```

#![forbid(unsafe_code)]

mod admission;
mod artifacts;
mod client;
mod engine;
mod lease;
pub mod limits;
mod outcome;
mod pool;
mod readiness;
mod run;
mod settings;
mod spec;
mod watcher;

pub use admission::{BusyCause, Load};
pub use client::client_prefix;
pub use engine::{Engine, Refusal};
pub use limits::Limits;
pub use outcome::{
    End, LimitReached, Outcome, Stage, Start, StartKind, Timing,
};
pub use pool::{Ready, Supply};
pub use readiness::{ImageState, Images, LanguageState, Readiness};
pub use sandpiper_languages as languages;
pub use sandpiper_sandbox::{
    Controllers, Host, HostSettings, INIT_NAME, Identity, MOST_BOXES, NO_CORE,
    QUEUE_BYTES, QUEUED_SIGNALS, SandboxError, init_main,
};
pub use settings::Settings;
