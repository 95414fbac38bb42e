//! What a language is, as data: a folder's definition, and how it turns a
//! submission into a plan.
//!
//! ```text
//! Submission::check(parts)  ->  Submission  ->  Catalog::plan  ->  Plan
//! ```
//!
//! Everything here is pure once [`Catalog::load`] has read its definitions:
//! no file, clock or process is touched.

#![forbid(unsafe_code)]

mod catalog;
mod plan;
mod submission;

pub use catalog::{Catalog, Language, LoadError};
pub use plan::{Plan, Stage, Step};
pub use submission::{SourceFile, Submission, SubmissionError};
