//! The folders of images, for tests and benchmarks that look into them.

use std::env;
use std::path::{Path, PathBuf};

/// Returns the folder that contains the images, as `sandpiper` chooses it.
#[expect(
    clippy::disallowed_methods,
    reason = "as the program under test reads it"
)]
pub fn image_folder() -> PathBuf {
    let data = env::var_os("SANDPIPER_DATA_DIR").map_or_else(
        || {
            let home = env::var_os("HOME").unwrap_or_default();
            if rustix::process::geteuid().is_root() {
                PathBuf::from("/var/lib/sandpiper")
            } else {
                Path::new(&home).join(".local/share/sandpiper")
            }
        },
        PathBuf::from,
    );
    data.join("images")
}

/// Returns the folder of the newest build of an image.
///
/// # Panics
///
/// If the image is not built.
pub fn image(name: &str) -> PathBuf {
    let prefix = format!("{name}-");
    let folders = std::fs::read_dir(image_folder()).unwrap().flatten();
    let images = folders.filter(|folder| {
        folder.file_name().to_string_lossy().starts_with(&prefix)
            && folder.path().join("manifest.json").exists()
    });
    let newest = images.max_by_key(|folder| {
        folder.metadata().and_then(|data| data.modified()).ok()
    });
    newest.expect("the images are needed: `make images`").path()
}
