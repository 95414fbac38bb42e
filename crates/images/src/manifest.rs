//! The description of a complete image, stored beside its root filesystem.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{ImageError, io_error};

/// One Debian package of an image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Package {
    /// The package's name.
    pub name: String,
    /// The package's version.
    pub version: String,
}

/// The contents of `manifest.json`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Manifest {
    pub(crate) name: String,
    pub(crate) hash: String,
    pub(crate) origin: Vec<String>,
    /// The version of each toolchain. Manifests of earlier builders have none.
    #[serde(default)]
    pub(crate) versions: BTreeMap<String, String>,
    pub(crate) packages: Vec<Package>,
    /// The packages that an operator added, and the hash of the recipe without
    /// them; empty without additions.
    #[serde(default)]
    pub(crate) added: Vec<String>,
    #[serde(default)]
    pub(crate) base: String,
    pub(crate) bytes: u64,
    pub(crate) built_at: u64,
}

impl Manifest {
    pub(crate) const FILE: &str = "manifest.json";

    pub(crate) fn load(image: &Path) -> Result<Self, ImageError> {
        let path = image.join(Self::FILE);
        let read = || {
            let text = fs::read(&path)?;
            serde_json::from_slice(&text).map_err(io::Error::from)
        };
        read().map_err(io_error("read", &path))
    }

    pub(crate) fn save(&self, image: &Path) -> Result<(), ImageError> {
        let path = image.join(Self::FILE);
        let write = || fs::write(&path, serde_json::to_vec_pretty(self)?);
        write().map_err(io_error("write", &path))
    }
}

/// Returns the installed packages, from the text of dpkg's status file.
pub(crate) fn installed_packages(status: &str) -> Vec<Package> {
    let field = |entry: &str, name: &str| {
        entry.lines().find_map(|line| {
            let value = line.strip_prefix(name)?.strip_prefix(": ")?;
            Some(value.to_owned())
        })
    };
    status
        .split("\n\n")
        .filter(|entry| {
            field(entry, "Status")
                .is_some_and(|status| status.ends_with(" installed"))
        })
        .filter_map(|entry| {
            Some(Package {
                name: field(entry, "Package")?,
                version: field(entry, "Version")?,
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_dpkg_installed() {
        let status = "Package: mold\nStatus: install ok installed\n\
                      Version: 2.37.1+dfsg-1\nDescription: linker\n more: x\n\n\
                      Package: gone\nStatus: deinstall ok config-files\n\
                      Version: 1\n\n\
                      Package: half\nStatus: install ok half-installed\n\
                      Version: 1\n";
        let packages = installed_packages(status);
        let mold = Package {
            name: "mold".to_owned(),
            version: "2.37.1+dfsg-1".to_owned(),
        };
        assert_eq!(packages, [mold]);
    }
}
