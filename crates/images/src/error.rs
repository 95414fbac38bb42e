//! Why an image could not be built, listed or removed; for the operator.

use std::io;
use std::path::{Path, PathBuf};

/// Why an image could not be built, listed or removed.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The recipe is wrong; for the one who wrote it.
    #[error("recipe of image {image}: {reason}")]
    Recipe {
        /// The image's name.
        image: String,
        /// What is wrong.
        reason: String,
    },
    /// The recipe does not serve this machine's architecture.
    #[error("image {image} cannot be built for {architecture} machines")]
    Architecture {
        /// The image's name.
        image: String,
        /// Debian's name of this machine's architecture.
        architecture: String,
    },
    /// The host lacks something that the builder needs.
    #[error(
        "{missing} is missing: images are built with it; install it with \
         `apt-get install {package}`"
    )]
    Prerequisite {
        /// What is missing.
        missing: String,
        /// The Debian package that brings it.
        package: String,
    },
    /// The build ran and failed.
    #[error("building image {image} failed: {reason}\n{tail}")]
    Build {
        /// The image's name.
        image: String,
        /// What failed, and where the whole log is.
        reason: String,
        /// The last lines of the log.
        tail: String,
    },
    /// The image was built, and programs do not run in it.
    #[error("image {image} was not installed: {why}")]
    Check {
        /// The image's name.
        image: String,
        /// What was tried, and what came of it.
        why: String,
    },
    /// What was to be imported cannot be; as the end of `image x: `.
    #[error("{0}")]
    Archive(String),
    /// No image has this name or hash.
    #[error("there is no image {0}")]
    Unknown(String),
    /// The image is being built by another process.
    #[error("image {0} is being built; stop that build first")]
    Busy(String),
    /// A file of the store could not be read or written.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// On what.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// Names the attempt and the path that an I/O error belongs to.
pub(crate) fn io_error(
    action: &'static str,
    path: &Path,
) -> impl FnOnce(io::Error) -> ImageError {
    let path = path.to_owned();
    move |source| ImageError::Io { action, path, source }
}
