//! Code of black-box tests and benchmarks: a server under test, its answers, its
//! metrics, and its traces on the host. Everything here panics on an error, which
//! fails the test.

#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

mod checkout;
mod choice;
pub mod decisions;
mod engines;
mod events;
mod exposition;
pub mod fleet;
mod image_folder;
mod open_files;
mod reply;
mod server;
pub mod step;
pub mod text;
pub mod traces;
mod unread;
mod usage;
mod valkey;
mod wait;

pub use checkout::{checkout, entries, read};
pub use choice::{
    is_chosen, is_default_language, is_full, is_with_images, needs_images,
};
pub use engines::engine;
pub use events::{Event, Events};
pub use exposition::{Exposition, Family};
pub use image_folder::{image, image_folder};
pub use open_files::raise_open_files;
pub use reply::Reply;
pub use server::{Server, begin, connect, metrics, program};
pub use unread::unread;
pub use usage::Usage;
pub use valkey::Valkey;
pub use wait::eventually;
