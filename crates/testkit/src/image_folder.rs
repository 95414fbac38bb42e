//! Where the images are, as `sandpiper` itself decides it; for tests and
//! benchmarks that look into them.

use std::env;
use std::path::{Path, PathBuf};

/// The folder that holds the images.
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
