//! Resolves the packages that an operator adds with pip and npm, once, so that
//! each build installs the same files.

use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::addition::{Addition, Lock, texts};
use crate::build;
use crate::downloads::Downloads;
use crate::error::{ImageError, io_error};
use crate::progress::Progress;
use crate::recipe::{Recipe, architecture};
use crate::store::{Store, remove_if_there};

/// The part of pip's report that is read.
#[derive(Deserialize)]
struct Report {
    install: Vec<Install>,
}

#[derive(Deserialize)]
struct Install {
    metadata: Metadata,
    download_info: DownloadInfo,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    version: String,
}

#[derive(Deserialize)]
struct DownloadInfo {
    archive_info: ArchiveInfo,
}

#[derive(Deserialize)]
struct ArchiveInfo {
    hashes: Hashes,
}

#[derive(Deserialize)]
struct Hashes {
    sha256: String,
}

impl Store {
    /// Returns the text of the lock of `addition` to the image of `recipe`. It
    /// resolves the packages in a root filesystem with the image's Debian
    /// packages, which takes about as long as a build.
    ///
    /// # Errors
    /// The packages cannot be resolved.
    pub fn resolve(
        &self,
        recipe: &Recipe,
        addition: &Addition,
        read: impl Fn(&str) -> Option<Vec<u8>>,
        downloads: &Downloads,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<String, ImageError> {
        let recipe = recipe.resolving(addition, read)?;
        let _lock = self.lock(&recipe, progress)?;
        let scratch = self.scratch(&recipe)?;
        let log = self.beside(&recipe, "log");
        let image =
            build::build(&recipe, downloads, scratch.path(), &log, progress)
                .map_err(|error| located(error, addition))?;
        let results = image.join("rootfs/opt/sandpiper");
        let lock = Lock {
            architecture: architecture().to_owned(),
            for_pip: texts(&addition.pip),
            for_npm: texts(&addition.npm),
            pip: locked_by_pip(&results.join("report.json"))?,
            npm: read_if_there(&results.join("package-lock.json"))?,
        };
        remove_if_there(&log)?;
        lock.text(recipe.name())
    }
}

/// Adds the line of the addition to the error of a build.
fn located(error: ImageError, addition: &Addition) -> ImageError {
    match error {
        ImageError::Build { image, reason, tail } => {
            let place = addition.place_of(&tail);
            ImageError::Build {
                image,
                reason: format!("{place}: {reason}"),
                tail,
            }
        }
        error => error,
    }
}

/// Returns a line for each package that pip would install.
fn locked_by_pip(report: &Path) -> Result<Vec<String>, ImageError> {
    let text = read_if_there(report)?;
    if text.is_empty() {
        return Ok(Vec::new());
    }
    let report: Report = serde_json::from_str(&text)
        .map_err(|error| io_error("read", report)(error.into()))?;
    let line = |Install { metadata, download_info }| {
        let Metadata { name, version } = metadata;
        let hash = download_info.archive_info.hashes.sha256;
        format!("{name}=={version} --hash=sha256:{hash}")
    };
    let mut lines: Vec<String> = report.install.into_iter().map(line).collect();
    lines.sort();
    Ok(lines)
}

fn read_if_there(path: &Path) -> Result<String, ImageError> {
    if !path.exists() {
        return Ok(String::new());
    }
    fs::read_to_string(path).map_err(io_error("read", path))
}
