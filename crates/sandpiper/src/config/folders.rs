//! The data folder, and the folders with what an operator adds to this program.

use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use anyhow::bail;

use super::{CommonArgs, variable};

/// The data folder of root, and of the package's user.
pub(crate) const SYSTEM_DATA: &str = "/var/lib/sandpiper";

/// The operator's folders, if no flag names others.
const LANGUAGES_DIR: &str = "/etc/sandpiper/languages.d";
const ADDITIONS_DIR: &str = "/etc/sandpiper/images.d";

/// The folders with what the operator adds to this program.
#[derive(Clone, Debug, Default)]
pub(crate) struct Folders {
    /// Languages, each in a folder of its own.
    pub(crate) languages: Option<PathBuf>,
    /// Packages for images.
    pub(crate) additions: Option<PathBuf>,
}

impl CommonArgs {
    /// Returns the folders of the operator that there are.
    pub(crate) fn folders(&self) -> Folders {
        let chosen = |named: &Option<PathBuf>, usual: &str| {
            let usual = PathBuf::from(usual);
            let usual = || usual.is_dir().then_some(usual);
            named.clone().or_else(usual)
        };
        Folders {
            languages: chosen(&self.languages_dir, LANGUAGES_DIR),
            additions: chosen(&self.image_additions, ADDITIONS_DIR),
        }
    }
}

/// Returns the data folder of this user if no flag names another.
///
/// # Errors
/// `HOME` is not set.
pub(crate) fn usual_data_dir() -> anyhow::Result<PathBuf> {
    let system = Path::new(SYSTEM_DATA);
    let uid = rustix::process::geteuid();
    let is_own = || {
        let found = system.metadata();
        found.is_ok_and(|found| found.uid() == uid.as_raw())
    };
    if uid.is_root() || is_own() {
        return Ok(system.to_owned());
    }
    // The XDG specification: a relative path must be ignored.
    let folder = |name: &str| {
        variable(name).map(PathBuf::from).filter(|path| path.is_absolute())
    };
    let data = folder("XDG_DATA_HOME")
        .or_else(|| Some(folder("HOME")?.join(".local/share")));
    let Some(data) = data else {
        bail!("HOME is not set; use --data-dir to name the data folder");
    };
    Ok(data.join("sandpiper"))
}
