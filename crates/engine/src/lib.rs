//! Submission to outcome: admission, boxes, and the steps of a plan one after
//! another. Knows no HTTP.

#![forbid(unsafe_code)]

mod admission;
mod engine;
pub mod limits;
mod outcome;

pub use engine::{Engine, Images, ImageState, Readiness, Refusal, Settings};
pub use limits::Limits;
pub use outcome::{End, LimitReached, Outcome, Timing};
pub use sandpiper_languages as languages;
