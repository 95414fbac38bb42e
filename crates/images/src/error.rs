//! The error of this crate. Its messages are for the operator.

use std::io;
use std::path::{Path, PathBuf};

/// Why an image could not be built, exported, imported, listed or removed.
#[derive(Debug, thiserror::Error)]
pub enum ImageError {
    /// The recipe is invalid. The message is for its author.
    #[error("recipe of image {image}: {reason}")]
    Recipe {
        /// The image's name.
        image: String,
        /// Why it is invalid.
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
    /// The host lacks a file that the builder needs.
    #[error(
        "{missing} is missing, and builds need it: install it with \
         `apt-get install {package}`"
    )]
    Prerequisite {
        /// The path of the file.
        missing: String,
        /// The Debian package that contains it.
        package: String,
    },
    /// The build failed.
    #[error("building image {image} failed: {reason}\n{tail}")]
    Build {
        /// The image's name.
        image: String,
        /// The cause, and the path of the whole log.
        reason: String,
        /// The last lines of the log.
        tail: String,
    },
    /// The image was built, but its sample programs failed.
    #[error("image {image} was not installed: {why}")]
    Check {
        /// The image's name.
        image: String,
        /// The sample programs that failed, or why none could run.
        why: String,
    },
    /// An operator's addition to an image is wrong. The message names the file.
    #[error("{0}")]
    Addition(String),
    /// An archive cannot be imported. The message ends the text `image x: `.
    #[error("{0}")]
    Archive(String),
    /// No image has this name or hash.
    #[error("there is no image {0}")]
    Unknown(String),
    /// The image is being built by another process.
    #[error("image {0} is being built; stop that build first")]
    Busy(String),
    /// A file could not be read or written.
    #[error("cannot {action} {}: {source}{}", path.display(), advice(source))]
    Io {
        /// The attempt, as a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Advice on a folder that cannot be written, for the end of a message. The units of
/// the package may write to a few folders alone.
pub(crate) const READ_ONLY: &str = "; if systemd runs this, name the folder as ReadWritePaths= of the unit \
     (`systemctl edit`)";

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::ReadOnlyFilesystem => READ_ONLY,
        _ => "",
    }
}

/// Returns a function that adds the attempt and the path to an I/O error.
pub(crate) fn io_error(
    action: &'static str,
    path: &Path,
) -> impl FnOnce(io::Error) -> ImageError {
    let path = path.to_owned();
    move |source| ImageError::Io { action, path, source }
}
