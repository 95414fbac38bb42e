//! Resolves the packages that an operator adds with pip and npm, once, so that
//! each build installs the same files.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::addition::{Addition, is_pip, texts};
use crate::build;
use crate::downloads::Downloads;
use crate::error::{ImageError, io_error};
use crate::progress::ImageProgress;
use crate::recipe::{Recipe, architecture};
use crate::store::{ImageStore, remove_if_there};

/// The lock, which `sandpiper images lock` writes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Lock {
    /// Debian's name of the architecture that the wheels are for.
    pub(crate) architecture: String,
    /// The packages that the file asked for.
    pub(crate) for_pip: Vec<String>,
    pub(crate) for_npm: Vec<String>,
    /// Everything that pip installs, each with its hash.
    pub(crate) pip: Vec<String>,
    /// The lock file of npm; empty without packages of npm.
    pub(crate) npm: String,
}

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

/// The hashes that npm knows. It ignores others.
const NPM_HASHES: &[&str] = &["sha512", "sha384", "sha256", "sha1"];

/// The part of npm's lock file that is checked.
#[derive(Default, Deserialize)]
struct NpmLock {
    /// The packages by their folders; that of the empty name is our own.
    packages: BTreeMap<String, NpmPackage>,
}

#[derive(Deserialize)]
struct NpmPackage {
    integrity: Option<String>,
}

impl ImageStore {
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
        progress: &mut dyn FnMut(ImageProgress),
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
        match lock.without_hash() {
            Some(name) => {
                let place = addition.place_of(&name);
                let reason = format!("{place}: there is no hash of {name}");
                Err(ImageError::Addition(reason))
            }
            None => lock.text(),
        }
    }
}

impl Lock {
    /// Returns the text of the file.
    pub(crate) fn text(&self) -> Result<String, ImageError> {
        toml::to_string(self)
            .map_err(|error| ImageError::Addition(error.to_string()))
    }

    /// Returns the name of a package that has no hash, so that anything could be
    /// installed in its place.
    pub(crate) fn without_hash(&self) -> Option<String> {
        let mut lines = self.pip.iter();
        let of_pip = lines.find(|line| !is_locked(line)).cloned();
        of_pip.or_else(|| {
            let is_used = !self.for_npm.is_empty();
            is_used.then(|| npm_without_hash(&self.npm)).flatten()
        })
    }
}

/// Returns the entry of npm's lock file that has no hash, as those of git have
/// none. npm installs them nevertheless.
fn npm_without_hash(text: &str) -> Option<String> {
    let lock: NpmLock = serde_json::from_str(text).unwrap_or_default();
    let mut packages = lock.packages;
    packages.remove("");
    if packages.is_empty() {
        return Some("the packages of npm".to_owned());
    }
    let is_hash = |text: &str| {
        text.split_once('-').is_some_and(|(name, _)| NPM_HASHES.contains(&name))
    };
    let mut packages = packages.into_iter();
    packages
        .find(|(_, package)| !package.integrity.as_deref().is_some_and(is_hash))
        .map(|(path, _)| path)
}

/// A line of the lock, as pip reads it: a package, and the hash of its wheel.
fn is_locked(line: &str) -> bool {
    let Some((package, hash)) = line.split_once(" --hash=sha256:") else {
        return false;
    };
    let is_hash =
        hash.len() == 64 && hash.bytes().all(|it| it.is_ascii_hexdigit());
    is_pip(package) && is_hash
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
