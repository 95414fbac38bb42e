//! What a server takes of its machine, for whoever watches that it does not
//! grow.

use std::fs;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::traces::{descendants, outside};

/// Ids from the server's own on: those of its boxes follow it.
const IDS: u32 = 1_024;

/// What a server had at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// Resident memory of the server's processes, not of those in boxes.
    pub memory_kib: u64,
    /// Of the server's processes.
    pub descriptors: u64,
    /// Of the server's processes.
    pub threads: u64,
    /// The server's, and all below them, those that ended and that nobody
    /// waited for included.
    pub processes: u64,
    /// Control groups that belong to the server or its boxes.
    pub control_groups: u64,
}

impl Usage {
    /// That of the server that was started as `server`.
    pub fn of(server: i32) -> Self {
        let own = outside(server);
        let sum = |what: fn(i32) -> u64| own.iter().copied().map(what).sum();
        // The one that left root has others than the one that stays root.
        let uid = own.iter().map(|pid| status(*pid, "Uid:")).max();
        let uid = u32::try_from(uid.unwrap_or(0)).unwrap_or(0);
        let ids = if uid == 0 { 0..0 } else { uid..uid.saturating_add(IDS) };
        Self {
            memory_kib: sum(|pid| status(pid, "VmRSS:")),
            descriptors: sum(|pid| {
                let open = fs::read_dir(format!("/proc/{pid}/fd"));
                open.map_or(0, |open| open.count() as u64)
            }),
            threads: sum(|pid| status(pid, "Threads:")),
            processes: descendants(server).len() as u64,
            control_groups: groups(Path::new("/sys/fs/cgroup"), &ids),
        }
    }

    /// All but memory, by name.
    pub fn counts(&self) -> [(&'static str, u64); 4] {
        [
            ("descriptors", self.descriptors),
            ("threads", self.threads),
            ("processes", self.processes),
            ("control groups", self.control_groups),
        ]
    }
}

/// The first number of a line of the process's status; 0 when it has ended.
fn status(pid: i32, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status"));
    let text = text.unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|rest| rest.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// How many control groups below `folder` belong to one of these ids.
fn groups(folder: &Path, ids: &Range<u32>) -> u64 {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let folders = entries.filter(|it| it.file_type().is_ok_and(|t| t.is_dir()));
    let count = folders.map(|entry| {
        let owner = entry.metadata().map(|about| about.uid());
        let is_theirs = owner.is_ok_and(|owner| ids.contains(&owner));
        u64::from(is_theirs) + groups(&entry.path(), ids)
    });
    count.sum()
}
