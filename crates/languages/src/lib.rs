//! Languages as data: the definition in a folder, and the plan that it makes
//! of a submission.
//!
//! ```text
//! Catalog::submission(parts)  ->  Submission  ->  Submission::plan  ->  Plan
//! ```
//!
//! Everything here is pure: the caller passes definitions as bytes, and no
//! file, clock, process or environment is read.

#![forbid(unsafe_code)]

mod catalog;
mod definition;
mod editor;
mod file;
mod language;
mod names;
mod plan;
mod submission;

pub use catalog::{Catalog, LanguageFolder, LoadError, Starter};
pub use definition::OutputKind;
pub use editor::{Editor, Members, MembersFile};
pub use file::{MAX_PATH_BYTES, MAX_SEGMENT_BYTES, SourceFile};
pub use language::Language;
pub use plan::{Plan, Stage, Step};
pub use submission::{
    MAX_ARG_BYTES, MAX_ARGS, MAX_ARGS_BYTES, Submission, SubmissionError,
};
