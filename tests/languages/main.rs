//! Programs of every language, sent to the running service over HTTP: what
//! they print, how they end, and what they cannot do. Needs the images.

#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

mod case;
mod command;
mod compilers;
mod crowd;
#[path = "../exposition.rs"]
#[allow(dead_code, reason = "shared with other tests, which use more")]
mod exposition;
#[path = "../image_folder.rs"]
mod image_folder;
mod life;
mod observed;
mod readiness;
#[path = "../ready.rs"]
#[allow(dead_code, reason = "shared with other tests, which use more")]
mod ready;
mod service;
mod together;
#[path = "../traces.rs"]
#[allow(dead_code, reason = "shared with other tests, which use more")]
mod traces;

use case::{Case, run};
