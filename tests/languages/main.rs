//! Programs of every language, sent to the running service over HTTP: their
//! output and their ends. Needs the images.

#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

mod added;
mod additions;
mod artifacts;
mod at_once;
mod case;
mod command;
mod compilers;
mod crashes;
mod examples;
mod files;
mod frameworks;
mod life;
mod live;
mod node;
mod observed;
mod options;
mod queries;
mod readiness;
mod results;
mod service;
mod stop;

use case::Case;
