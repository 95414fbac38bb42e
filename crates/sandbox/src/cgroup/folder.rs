//! The folders of control groups: made anew, written, and swept with all
//! processes that are in them.

use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use crate::children;
use crate::error::{During, Result, SandboxError};
use crate::instance::{is_at, take_lock};

/// How often a group is made where others make and sweep it meanwhile.
const TRIES: usize = 3;

/// Sweeps what an earlier server left under the same name, then makes it anew.
/// The group is this server's for as long as the lock that it gives is held;
/// `None` where another has it.
pub(super) fn claim(group: &Path) -> Result<Option<File>> {
    let step = format!("make group {}", group.display());
    for _ in 0..TRIES {
        let made = fs::create_dir(group);
        let is_there =
            |error: &io::Error| error.kind() == io::ErrorKind::AlreadyExists;
        let is_new = match made {
            Err(error) if is_there(&error) => false,
            made => made.map(|()| true).during(&step)?,
        };
        let lock = match lock(group) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            lock => lock.during(&step)?,
        };
        let Some(lock) = lock else { return Ok(None) };
        if !is_at(&lock, group)? {
            continue;
        }
        if is_new {
            return Ok(Some(lock));
        }
        sweep(group);
    }
    Err(SandboxError::other(step, "it cannot be made anew"))
}

/// The lock of a group; `None` while a live server holds it.
fn lock(group: &Path) -> io::Result<Option<File>> {
    let folder = File::open(group)?;
    Ok(take_lock(&folder)?.then_some(folder))
}

/// Sweeps a group, unless a live server has it.
pub(crate) fn sweep_dead(group: &Path) {
    if let Ok(Some(_held)) = lock(group) {
        sweep(group);
    }
}

pub(super) fn make(group: &Path) -> Result<()> {
    fs::create_dir(group).during(&format!("make group {}", group.display()))
}

/// Hands a group, or one file of it, to a user.
pub(super) fn give(path: &Path, uid: u32) -> Result<()> {
    chown(path, Some(uid), Some(uid))
        .during(&format!("give {} away", path.display()))
}

pub(super) fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).during(&format!("read {}", path.display()))
}

pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).during(&format!("write {}", path.display()))
}

/// Kills every process in and below a group and removes it, as far as that
/// goes. A group that is not there is no failure.
pub(super) fn sweep(top: &Path) {
    // Ours alone: a link or a foreign folder of this name is left.
    let Ok(found) = fs::symlink_metadata(top) else { return };
    let me = rustix::process::geteuid();
    if !found.is_dir() || !(me.is_root() || found.uid() == me.as_raw()) {
        return;
    }
    // Killed processes leave their groups when they end (version 1: when they
    // are reaped by whoever inherited them); that takes a moment, not more.
    for pause_ms in [0, 1, 10, 100, 500] {
        sleep(Duration::from_millis(pause_ms));
        if kill_and_remove(top).is_ok() {
            return;
        }
    }
    tracing::warn!(group = %top.display(), "a control group cannot be removed");
}

fn kill_and_remove(group: &Path) -> io::Result<()> {
    for entry in fs::read_dir(group)?.flatten() {
        if entry.file_type()?.is_dir() {
            kill_and_remove(&entry.path())?;
        }
    }
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let members = fs::read_to_string(group.join("cgroup.procs"))?;
    let members: Vec<_> =
        members.lines().filter_map(|line| line.parse().ok()).collect();
    // Version 2 kills all at once, those that are just forked too.
    let all_killed = !members.contains(&own)
        && fs::write(group.join("cgroup.kill"), "1").is_ok();
    if !all_killed {
        for pid in members.into_iter().filter(|&pid| pid != own) {
            // It may have ended in between.
            let _ = children::kill(pid, libc::SIGKILL);
        }
    }
    fs::remove_dir(group)
}
