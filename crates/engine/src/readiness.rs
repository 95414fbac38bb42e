//! The states of images and languages.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::path::PathBuf;
use std::time::Instant;

/// The state of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageState {
    /// The root filesystem is complete at this path.
    Ready(PathBuf),
    /// It is being built. The text is the progress.
    Building(String),
    /// It has not been built.
    Missing,
    /// Its build failed, or it cannot be used. The text is the reason.
    Broken(String),
}

/// The images, which the user of this crate provides.
pub trait Images: Send + Sync + std::fmt::Debug {
    /// Returns the current state of the image with this name. It is called
    /// often, so it must be cheap.
    fn state(&self, image: &str) -> ImageState;

    /// Returns a state in words for clients. If the image cannot be used, the
    /// words are one line and say why, and what the operator can do.
    fn describe(&self, image: &str, state: &ImageState) -> String;

    /// Returns the versions of the tools and libraries in the image, by their
    /// names; none if it is not complete.
    fn versions(&self, image: &str) -> BTreeMap<String, String>;

    /// Opens a file of a complete image by its absolute path there.
    ///
    /// # Errors
    ///
    /// Returns an error if the image is not complete or has no such file, or if
    /// the path leads through a link.
    fn open_file(&self, image: &str, path: &str) -> io::Result<File>;
}

/// Whether a language can run here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// It can run: its sample program printed the expected text.
    Ready,
    /// Its image is being built, or it is being checked. The text is the
    /// progress.
    Building(String),
    /// Its image has not been built. The text says so, and what the operator
    /// can do.
    Missing(String),
    /// It cannot run. The text is the reason. It is checked again later.
    Broken(String),
}

/// A language, and whether it can run.
#[derive(Clone, Debug)]
pub struct LanguageState {
    /// Its id.
    pub id: String,
    /// Whether it can run.
    pub readiness: Readiness,
    /// The start of this state. A change of the text alone is no other state.
    pub since: Instant,
    /// When a program of it last succeeded: its sample program, or a client's
    /// that exited with 0.
    pub last_success: Option<Instant>,
}
