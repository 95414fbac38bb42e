//! The files of the host that a build needs.

use std::path::Path;

use crate::mirror::KEYRING;

/// A file, and the Debian package that contains it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prerequisite {
    /// The path of the file.
    pub path: &'static str,
    /// The name of the package.
    pub package: &'static str,
}

const PREREQUISITES: [Prerequisite; 5] = [
    Prerequisite { path: "/usr/bin/mmdebstrap", package: "mmdebstrap" },
    Prerequisite { path: "/usr/bin/tar", package: "tar" },
    Prerequisite { path: "/usr/bin/setpriv", package: "util-linux" },
    Prerequisite { path: "/usr/bin/unshare", package: "util-linux" },
    Prerequisite { path: KEYRING, package: "debian-archive-keyring" },
];

/// Without root, mmdebstrap creates a user namespace.
const NEWUIDMAP: Prerequisite =
    Prerequisite { path: "/usr/bin/newuidmap", package: "uidmap" };

/// Returns the files that this host lacks for a build by this user.
pub fn missing_prerequisites() -> Vec<Prerequisite> {
    let is_root = rustix::process::geteuid().is_root();
    needed(is_root).filter(|it| !Path::new(it.path).exists()).collect()
}

fn needed(is_root: bool) -> impl Iterator<Item = Prerequisite> {
    PREREQUISITES.into_iter().chain((!is_root).then_some(NEWUIDMAP))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(is_root: bool, packages: &[&str]) {
        let needed: Vec<&str> = needed(is_root).map(|it| it.package).collect();
        assert_eq!(needed, packages);
    }

    #[test]
    fn users_need_more_than_root() {
        let root = [
            "mmdebstrap",
            "tar",
            "util-linux",
            "util-linux",
            "debian-archive-keyring",
        ];
        check(true, &root);
        check(false, &[&root[..], &["uidmap"]].concat());
    }
}
