//! Root filesystems with toolchains. A recipe is built once, into a folder that
//! is named after the recipe's hash and is never changed afterwards.
//!
//! ```text
//! image.toml + the files it names -> Recipe -> ImageStore::queue -> rootfs folder
//! ```
//!
//! The data folder holds, under `images/`:
//!
//! - `<name>-<hash>/rootfs` and `<name>-<hash>/manifest.json`: a complete
//!   image. It gets this name only when it is complete and on the disk. Equal
//!   files of several images are hard links to one file.
//! - `<name>-<hash>.lock`: locked by the process that builds the image; its text
//!   is the progress of that build.
//! - `<name>-<hash>.log` and `<name>-<hash>.failed`: the output of the last
//!   build, and why it failed.
//! - `.build-…`: unfinished builds; the next build removes those whose process
//!   was killed.

#![forbid(unsafe_code)]

mod addition;
mod archive;
mod build;
mod downloads;
mod error;
mod export;
mod extended;
mod fault;
mod import;
mod inside;
mod lock;
mod manifest;
mod mirror;
mod mmdebstrap;
mod prerequisites;
mod progress;
mod queue;
mod recipe;
mod rootfs;
mod share;
mod store;
mod unpack;

pub use addition::Addition;
pub use downloads::Downloads;
pub use error::ImageError;
pub use import::Imported;
pub use inside::open_file;
pub use manifest::Package;
pub use prerequisites::{Prerequisite, missing_prerequisites};
pub use progress::{ImageProgress, Phase};
pub use queue::{BuildOptions, ImageCheck, Queued};
pub use recipe::Recipe;
pub use store::{BuildState, ImageStore, InstalledImage};
