//! From a submission to its outcome: admission, a box, and the steps of a plan
//! one after another. This crate knows neither HTTP nor the command line.
//!
//! ```text
//! Engine::execute ── HealthMonitor: can the language run? its image
//!        │
//!        └── Executor ── Admission ──> RunPermit
//!                 └── run ── Lease ──> a box of the pool or a new one ──> steps
//!                                 └──> end_run: processes, slot, box, refill
//! ```

#![forbid(unsafe_code)]

mod admission;
mod attachment;
mod checks;
mod client;
mod compile_cache;
mod crash;
mod effective_limits;
mod engine;
mod executor;
mod files;
mod lease;
pub mod limits;
mod monitor;
mod options;
mod outcome;
mod pool;
mod readiness;
mod refusal;
mod run;
mod settings;
mod spec;

pub use admission::{BusyCause, Load};
pub use attachment::RunAttachment;
pub use client::client_prefix;
pub use crash::SourceLine;
pub use engine::{Engine, HostError};
pub use files::{FilesWanted, RunFile, RunFiles};
pub use limits::Limits;
pub use options::{LowerLimits, RunOptions};
pub use outcome::{
    End, LimitReached, Outcome, Stage, Start, StartKind, Timing, output_text,
};
pub use pool::{LanguageBoxes, PoolState};
pub use readiness::{ImageState, Images, LanguageState, Readiness};
pub use refusal::Refusal;
pub use sandpiper_languages as languages;
pub use sandpiper_sandbox::{
    Controllers, Host, HostSettings, INIT_NAME, Identity, InputError,
    InputReceiver, InputSender, MAX_BOXES, NO_CORE, Output, OutputChunk,
    OutputStream, QUEUE_BYTES, QUEUED_SIGNALS, SandboxError, SkipReason,
    SkippedFile, SubordinateIds, init_main, input_queue, memory_limit,
    signal_name,
};
pub use settings::EngineSettings;
