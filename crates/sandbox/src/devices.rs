//! The device nodes of boxes: those of the host, or own nodes for each box if
//! the server was started as root.
//!
//! Locks and times belong to an inode. A program that locks the host's
//! /dev/null would keep programs of other boxes and of the host from locking
//! it. .NET locks each file that it opens.

use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FileType, Mode, makedev};
use rustix::mount::{MountFlags, MountPropagationFlags};

use crate::error::{During, Result};
use crate::sys;

/// The nodes of a box and their numbers (null(4), full(4), random(4)).
pub(crate) const NODES: [(&str, u32, u32); 5] = [
    ("null", 1, 3),
    ("zero", 1, 5),
    ("full", 1, 7),
    ("random", 1, 8),
    ("urandom", 1, 9),
];

/// The folder of the host's nodes.
const HOST_NODES: &str = "/dev";
/// The folder on which the server mounts the nodes of its boxes. Only the server
/// sees this mount.
const OWN_NODES: &str = "/run/sandpiper-devices";

/// Which nodes boxes have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Devices {
    /// All boxes have those of the host.
    Host,
    /// Each box has its own.
    Own,
}

impl Devices {
    /// Makes nodes for this many boxes, if this process may.
    pub(crate) fn make(boxes: usize) -> Self {
        if !rustix::process::geteuid().is_root() {
            return Self::Host;
        }
        match make(boxes) {
            Ok(()) => Self::Own,
            Err(error) => {
                tracing::warn!(
                    %error,
                    "cannot make device nodes, so all boxes use the host's: a \
                     program that locks one can block other programs"
                );
                Self::Host
            }
        }
    }

    /// Returns the folder with the nodes of the box with this number.
    pub(crate) fn folder(self, number: usize) -> PathBuf {
        match self {
            Self::Host => HOST_NODES.into(),
            Self::Own => Path::new(OWN_NODES).join(number.to_string()),
        }
    }
}

fn make(boxes: usize) -> Result<()> {
    let step = "make device nodes";
    // Before this process gets a mount namespace: all servers of root mount
    // their nodes on this folder.
    DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(OWN_NODES)
        .during(step)?;
    sys::unshare(libc::CLONE_NEWNS).during(step)?;
    // The server sees later mounts of the host, and the host sees none of ours.
    let to_here =
        MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", to_here).during(step)?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    rustix::mount::mount("devices", OWN_NODES, "tmpfs", flags, c"mode=0755")
        .during(step)?;
    for number in 0..boxes {
        let folder = Devices::Own.folder(number);
        rustix::fs::mkdir(&folder, Mode::from_raw_mode(0o755)).during(step)?;
        for (name, major, minor) in NODES {
            let (path, mode) = (folder.join(name), Mode::from_raw_mode(0o666));
            let kind = FileType::CharacterDevice;
            rustix::fs::mknodat(CWD, &path, kind, mode, makedev(major, minor))
                .during(step)?;
            // The umask took bits from the mode.
            rustix::fs::chmod(&path, mode).during(step)?;
        }
    }
    Ok(())
}
