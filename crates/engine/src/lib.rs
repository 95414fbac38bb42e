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
mod engine;
mod kind;
pub mod limits;
mod outcome;
mod readiness;
mod ready;
mod run;
mod settings;
mod watcher;

pub use admission::Cause as BusyCause;
pub use engine::{Engine, Load, Refusal};
pub use kind::BoxKind;
pub use limits::Limits;
pub use outcome::{End, LimitReached, Outcome, Stage, Start, Timing};
pub use readiness::{ImageState, Images, LanguageState, Readiness};
pub use ready::{Ready, Supply};
pub use sandpiper_languages as languages;
pub use sandpiper_sandbox::{
    Controllers, Host, HostSettings, INIT_NAME, Identity, MAX_BOXES, NO_CORE,
    QUEUE_BYTES, QUEUED_SIGNALS, SandboxError, SubordinateIds, init_main,
};
pub use settings::Settings;
pub use watcher::CHECK_INTERVAL;
