//! Toolchain root filesystems: a recipe is built once into a folder that is
//! named after the recipe's hash, and never written again.
//!
//! ```text
//! image.toml + the files it names -> Recipe -> Store::build -> rootfs folder
//! ```
//!
//! The data folder holds, under `images/`:
//!
//! - `<name>-<hash>/rootfs` and `<name>-<hash>/manifest.json`: a complete
//!   image. It gets this name only when it is whole and on the disk. Files
//!   that several images have are links to one.
//! - `<name>-<hash>.lock`: held by the process that is building; its text is
//!   how far that build is.
//! - `<name>-<hash>.log` and `<name>-<hash>.failed`: what the last build said,
//!   and why it failed.
//! - `.build-…`: work in progress; whatever a killed build left is swept by
//!   the next one.

#![forbid(unsafe_code)]

mod archive;
mod build;
mod downloads;
mod error;
mod export;
mod import;
mod manifest;
mod mirror;
mod mmdebstrap;
mod progress;
mod queue;
mod recipe;
mod rootfs;
mod share;
mod store;
mod unpack;

pub use downloads::Downloads;
pub use error::ImageError;
pub use import::Imported;
pub use manifest::Package;
pub use progress::{Progress, Stage};
pub use queue::{Check, Making, Queued};
pub use recipe::Recipe;
pub use store::{Listing, State, Store};
