//! What a language is, as data: a folder's definition, and how it turns a
//! submission into a plan.
//!
//! ```text
//! Submission::check(parts)  ->  Submission  ->  Catalog::plan  ->  Plan
//! ```
//!
//! Everything here is pure: definitions are handed in as bytes, and no file,
//! clock, process or environment is touched.

#![forbid(unsafe_code)]

mod catalog;
mod definition;
mod language;
mod path;
mod plan;
mod submission;

pub use catalog::{Catalog, LoadError, SERVICE_LANGUAGES, Source, Starter};
pub use definition::Output;
pub use language::Language;
pub use plan::{Plan, Stage, Step};
pub use submission::{SourceFile, Submission, SubmissionError};
