//! The folders with what an operator adds to this program.

use std::path::PathBuf;

use super::CommonArgs;

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
