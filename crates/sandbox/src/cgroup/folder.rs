//! The folders of control groups: made anew, written, and swept with all
//! processes that are in them.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use crate::error::{During, Result};
use crate::sys;

/// Sweeps what an earlier server left under the same name, then makes it anew.
pub(super) fn make_anew(group: &Path) -> Result<()> {
    sweep(group);
    make(group)
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
pub(crate) fn sweep(top: &Path) {
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
            let _ = sys::kill(pid, libc::SIGKILL);
        }
    }
    fs::remove_dir(group)
}
