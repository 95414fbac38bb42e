//! The resources that a server uses, for tests that it does not grow.

use std::fs;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use crate::traces::{descendants, outside};

/// The number of user ids of a server and its boxes, which are consecutive.
const IDS: u32 = 1_024;

/// The resources of a server at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Usage {
    /// The resident memory of the server's processes, without those in boxes.
    pub memory_kib: u64,
    /// The open descriptors of the server's processes.
    pub descriptors: u64,
    /// The threads of the server's processes.
    pub threads: u64,
    /// The server's processes and all descendants, including those that ended but
    /// were not waited for.
    pub processes: u64,
    /// The control groups that belong to the server or its boxes.
    pub control_groups: u64,
}

impl Usage {
    /// Returns the usage of the server that was started as `server`.
    pub fn of(server: i32) -> Self {
        let own = outside(server);
        let sum = |what: fn(i32) -> u64| own.iter().copied().map(what).sum();
        // As root there are two ids: of the process that stays root, and of the
        // others.
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

    /// Returns everything except for the memory, by name.
    pub fn counts(&self) -> [(&'static str, u64); 4] {
        [
            ("descriptors", self.descriptors),
            ("threads", self.threads),
            ("processes", self.processes),
            ("control groups", self.control_groups),
        ]
    }
}

/// Returns the first number in a line of the process's status, or 0 if the process
/// has ended.
fn status(pid: i32, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/status"));
    let text = text.unwrap_or_default();
    let line = text.lines().find_map(|line| line.strip_prefix(name));
    let number = line.and_then(|rest| rest.split_whitespace().next());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

/// Returns the number of control groups below `folder` that belong to these ids.
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
