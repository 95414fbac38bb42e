//! The device nodes of boxes: those of the host, or, if the server was started
//! as root, nodes that a slot has for itself.
//!
//! Locks and times belong to an inode. A program that locks the host's
//! /dev/null would keep programs of other boxes, and the host's, from locking
//! it, as .NET does with each file that it opens.

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

/// Where the host has its own.
const OF_HOST: &str = "/dev";
/// Where the server mounts those of its slots, in mounts that it alone has.
const OF_SLOTS: &str = "/run/sandpiper-devices";

/// Folders with nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Devices {
    Host,
    Slots,
}

impl Devices {
    /// Makes nodes for so many slots, where this process may.
    pub(crate) fn make(slots: usize) -> Self {
        if !rustix::process::geteuid().is_root() {
            return Self::Host;
        }
        match make(slots) {
            Ok(()) => Self::Slots,
            Err(error) => {
                tracing::warn!(
                    %error,
                    "boxes have the host's device nodes in common: a program \
                     that locks them can keep others from running"
                );
                Self::Host
            }
        }
    }

    /// The folder of a slot's nodes.
    pub(crate) fn folder(self, slot: usize) -> PathBuf {
        match self {
            Self::Host => OF_HOST.into(),
            Self::Slots => Path::new(OF_SLOTS).join(slot.to_string()),
        }
    }
}

fn make(slots: usize) -> Result<()> {
    let step = "make device nodes";
    // Before the mounts become this process's own: all servers of root mount
    // theirs on this folder.
    DirBuilder::new()
        .recursive(true)
        .mode(0o755)
        .create(OF_SLOTS)
        .during(step)?;
    sys::unshare(libc::CLONE_NEWNS).during(step)?;
    // What the host mounts later is seen, and nothing goes back.
    let to_here =
        MountPropagationFlags::DOWNSTREAM | MountPropagationFlags::REC;
    rustix::mount::mount_change("/", to_here).during(step)?;
    let flags = MountFlags::NOSUID | MountFlags::NOEXEC;
    rustix::mount::mount("devices", OF_SLOTS, "tmpfs", flags, c"mode=0755")
        .during(step)?;
    for slot in 0..slots {
        let folder = Devices::Slots.folder(slot);
        rustix::fs::mkdir(&folder, Mode::from_raw_mode(0o755)).during(step)?;
        for (name, major, minor) in NODES {
            let (path, mode) = (folder.join(name), Mode::from_raw_mode(0o666));
            let kind = FileType::CharacterDevice;
            rustix::fs::mknodat(CWD, &path, kind, mode, makedev(major, minor))
                .during(step)?;
            // The umask took bits from it.
            rustix::fs::chmod(&path, mode).during(step)?;
        }
    }
    Ok(())
}
