//! One server among several on a machine: its number, and the lock that says
//! it lives.

use std::fs::{DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::PathBuf;

use rustix::fs::{FlockOperation, flock};

use crate::error::{During, Result, SandboxError};

/// Most servers of one user on one machine.
const MOST: u32 = 60;

/// A number that no other live server of this user has, while this value (or
/// a copy of its descriptor in a child) lives.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) number: u32,
    _lock: File,
}

impl Instance {
    /// Takes the lowest free number, by a lock in a folder that all servers
    /// of this user share: control groups and host ids follow from the number.
    pub(crate) fn take() -> Result<Self> {
        let run_dir = run_dir();
        let step = format!("use run folder {}", run_dir.display());
        DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(&run_dir)
            .during(&step)?;
        let owner = run_dir.symlink_metadata().during(&step)?;
        if owner.uid() != rustix::process::geteuid().as_raw() {
            return Err(SandboxError::other(
                step,
                "it belongs to another user",
            ));
        }
        for number in 0..MOST {
            let path = run_dir.join(format!("instance-{number}.lock"));
            let lock = File::options()
                .create(true)
                .truncate(false)
                .write(true)
                .open(path)
                .during(&step)?;
            match flock(&lock, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => return Ok(Self { number, _lock: lock }),
                Err(rustix::io::Errno::WOULDBLOCK) => {}
                Err(error) => {
                    return Err(SandboxError::new(step, error.into()));
                }
            }
        }
        Err(SandboxError::other(step, format!("{MOST} servers already run")))
    }

    /// The name of this server's control groups.
    pub(crate) fn group_name(&self) -> String {
        let uid = rustix::process::geteuid().as_raw();
        format!("sandpiper-{uid}-{}", self.number)
    }
}

/// Where this user's locks are; made when missing.
fn run_dir() -> PathBuf {
    let uid = rustix::process::geteuid();
    if uid.is_root() {
        return PathBuf::from("/run/sandpiper");
    }
    // The folder that systemd makes for a user's session.
    let session = PathBuf::from(format!("/run/user/{}", uid.as_raw()));
    let is_own = session
        .symlink_metadata()
        .is_ok_and(|found| found.is_dir() && found.uid() == uid.as_raw());
    if is_own {
        return session.join("sandpiper");
    }
    PathBuf::from(format!("/tmp/sandpiper-{}", uid.as_raw()))
}
