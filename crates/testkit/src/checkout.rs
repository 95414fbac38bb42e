//! The files of the checkout, for tests that read them.

use std::env;
use std::fs;
use std::path::{Path, PathBuf};

/// Returns the folder of the checkout, or of a copy for a user who cannot reach
/// that.
#[expect(clippy::disallowed_methods, reason = "chosen by whoever runs tests")]
pub fn checkout() -> PathBuf {
    env::var_os("SANDPIPER_TEST_CHECKOUT").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."),
        PathBuf::from,
    )
}

/// Returns the paths of all that a folder has, sorted.
///
/// # Panics
///
/// If there is no such folder.
pub fn entries(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder)
        .map_err(|error| format!("{}: {error}", folder.display()))
        .unwrap();
    let mut paths: Vec<PathBuf> =
        entries.map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    paths
}

/// Returns the text of a file of the checkout.
///
/// # Panics
///
/// If there is no such text.
pub fn read(path: &str) -> String {
    fs::read_to_string(checkout().join(path))
        .map_err(|error| format!("{path}: {error}"))
        .unwrap()
}
