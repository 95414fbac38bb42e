//! What a server takes of its machine: memory, descriptors, threads,
//! processes, control groups, mounts, files. For benchmarks that watch it.

use std::fs;
use std::ops::Range;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use serde::Serialize;

use sandpiper_testkit::image_folder;
use sandpiper_testkit::traces::{descendants, outside};

/// Ids from the server's own on: those of its boxes follow it.
const IDS: u32 = 1_024;
/// Where a program that is careless would leave files.
const FOLDERS: [&str; 4] = ["/tmp", "/var/tmp", "/dev/shm", "/run"];
/// Folders of an image that boxes mount on.
const MOUNTED_ON: [&str; 5] = ["tmp", "box", "artifacts", "dev", "proc"];

/// What a server had at one moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct Usage {
    /// Of the server's processes, not of those in boxes.
    pub(crate) rss_bytes: u64,
    /// The part of it that no file backs: a leak shows here.
    pub(crate) private_bytes: u64,
    pub(crate) descriptors: u64,
    pub(crate) threads: u64,
    /// The server's, and all below them, those that ended and that nobody
    /// waited for included.
    pub(crate) processes: u64,
    /// Control groups that belong to the server or its boxes.
    pub(crate) control_groups: u64,
    /// In the mount namespace of the server.
    pub(crate) mounts: u64,
    /// Files of theirs in folders for temporary files, and any in the folders
    /// of images that boxes mount on.
    pub(crate) files: u64,
}

impl Usage {
    /// That of the server that was started as `server`.
    pub(crate) fn of(server: i32) -> Self {
        let all = descendants(server);
        let own = Vec::from_iter(outside(server));
        let sum = |what: fn(i32) -> u64| own.iter().copied().map(what).sum();
        let ids = ids(&own);
        Self {
            rss_bytes: sum(|pid| status(pid, "VmRSS:") << 10),
            private_bytes: sum(|pid| {
                (status(pid, "RssAnon:") + status(pid, "RssShmem:")) << 10
            }),
            descriptors: sum(|pid| entries(format!("/proc/{pid}/fd"))),
            threads: sum(|pid| status(pid, "Threads:")),
            processes: all.len() as u64,
            control_groups: groups(Path::new("/sys/fs/cgroup"), &ids),
            mounts: own.last().map_or(0, |pid| lines(*pid, "mountinfo")),
            files: files(&ids),
        }
    }

    /// The smaller of the two, number by number: what is always there.
    pub(crate) fn least(self, other: Self) -> Self {
        let least = |of: fn(&Self) -> u64| of(&self).min(of(&other));
        Self {
            rss_bytes: least(|usage| usage.rss_bytes),
            private_bytes: least(|usage| usage.private_bytes),
            descriptors: least(|usage| usage.descriptors),
            threads: least(|usage| usage.threads),
            processes: least(|usage| usage.processes),
            control_groups: least(|usage| usage.control_groups),
            mounts: least(|usage| usage.mounts),
            files: least(|usage| usage.files),
        }
    }

    /// What there is, by name, memory apart.
    pub(crate) fn counts(&self) -> [(&'static str, u64); 6] {
        [
            ("descriptors", self.descriptors),
            ("threads", self.threads),
            ("processes", self.processes),
            ("control groups", self.control_groups),
            ("mounts", self.mounts),
            ("files left", self.files),
        ]
    }
}

/// The ids of the server that left root, and of its boxes; one's own where it
/// has none.
fn ids(own: &[i32]) -> Range<u32> {
    let uid = |pid: &i32| u32::try_from(status(*pid, "Uid:")).unwrap_or(0);
    match own.iter().map(uid).max() {
        None | Some(0) => 0..0,
        Some(uid) => uid..uid.saturating_add(IDS),
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

fn lines(pid: i32, name: &str) -> u64 {
    let text = fs::read_to_string(format!("/proc/{pid}/{name}"));
    text.unwrap_or_default().lines().count() as u64
}

fn entries(folder: impl AsRef<Path>) -> u64 {
    fs::read_dir(folder).map_or(0, |entries| entries.count() as u64)
}

/// The control groups below `folder` that are theirs.
fn groups(folder: &Path, ids: &Range<u32>) -> u64 {
    let mut count = 0;
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        if !entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            continue;
        }
        count += u64::from(is_theirs(&entry, ids));
        count += groups(&entry.path(), ids);
    }
    count
}

fn is_theirs(entry: &fs::DirEntry, ids: &Range<u32>) -> bool {
    entry.metadata().is_ok_and(|about| ids.contains(&about.uid()))
}

fn files(ids: &Range<u32>) -> u64 {
    let mut count = 0;
    for folder in FOLDERS {
        let found = fs::read_dir(folder).into_iter().flatten().flatten();
        count += found.filter(|entry| is_theirs(entry, ids)).count() as u64;
    }
    for image in fs::read_dir(image_folder()).into_iter().flatten().flatten() {
        let rootfs: PathBuf = image.path().join("rootfs");
        let found = MOUNTED_ON.map(|folder| entries(rootfs.join(folder)));
        count += found.iter().sum::<u64>();
    }
    count
}
