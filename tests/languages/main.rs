//! Programs of every language, sent to the running service over HTTP: what
//! they print, how they end, and what they cannot do. Needs the images.

#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

mod case;
mod command;
mod compilers;
mod crowd;
mod life;
mod observed;
mod readiness;
mod service;
mod together;

use case::{Case, run};
