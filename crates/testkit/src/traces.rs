//! What runs could leave on the host: processes, control groups, mounts, files.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::Duration;

use crate::image_folder::image_folder;

/// What a run could leave on the host. Boxes that stand are not in it: some
/// are made ahead of runs, others each time.
#[derive(Debug, PartialEq, Eq)]
pub struct Traces {
    /// Those in no box.
    pub processes: BTreeSet<i32>,
    /// What each of them has mounted.
    mounts: String,
    /// What there is in the folders of the images that boxes mount on.
    files: Vec<PathBuf>,
}

impl Traces {
    /// Those of the server with this process.
    pub fn of(server: i32) -> Self {
        let processes = outside(server);
        let mounts = |pid: &i32| {
            // None of a process that has ended meanwhile.
            fs::read_to_string(format!("/proc/{pid}/mountinfo"))
                .unwrap_or_default()
        };
        let entries = |folder: PathBuf| {
            fs::read_dir(folder).into_iter().flatten().flatten()
        };
        let folders = entries(image_folder()).flat_map(|image| {
            let rootfs = image.path().join("rootfs");
            ["tmp", "box", "artifacts", "dev", "proc"].map(|f| rootfs.join(f))
        });
        let files = folders.flat_map(entries).map(|entry| entry.path());
        Self {
            mounts: processes.iter().map(mounts).collect(),
            files: files.collect(),
            processes,
        }
    }
}

/// The processes below `pid`, by asking every process for its parent.
pub fn descendants(pid: i32) -> BTreeSet<i32> {
    let parents: Vec<(i32, i32)> = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            // Behind the name, which may hold anything: state, parent.
            let (_, rest) = stat.rsplit_once(')')?;
            let parent = rest.split_whitespace().nth(1)?.parse().ok()?;
            Some((pid, parent))
        })
        .collect();
    let mut found = BTreeSet::from([pid]);
    loop {
        let more = parents.iter().filter(|(pid, parent)| {
            found.contains(parent) && !found.contains(pid)
        });
        let more: Vec<i32> = more.map(|(pid, _)| *pid).collect();
        if more.is_empty() {
            return found;
        }
        found.extend(more);
    }
}

/// The processes below `pid` that are in no box.
pub fn outside(pid: i32) -> BTreeSet<i32> {
    let all = descendants(pid).into_iter();
    all.filter(|pid| !groups_of(*pid).iter().any(|it| is_box(it))).collect()
}

/// The boxes that processes below `pid` are in, by name.
pub fn boxes(pid: i32) -> BTreeSet<OsString> {
    let groups = descendants(pid).into_iter().flat_map(groups_of);
    let boxes = groups.filter(|group| is_box(group));
    boxes.filter_map(|group| Some(group.file_name()?.to_owned())).collect()
}

/// Whether a control group is a box's.
pub fn is_box(group: &Path) -> bool {
    let name = group.file_name().unwrap_or_default();
    name.to_string_lossy().starts_with("box-")
}

/// Whether none of these groups is there, but of boxes that stand.
pub fn are_gone(groups: &BTreeSet<PathBuf>, server: i32) -> bool {
    let standing = boxes(server);
    groups.iter().all(|group| {
        let name = group.file_name().unwrap_or_default();
        standing.contains(name) || !group.exists()
    })
}

/// Does `what`, and gives every control group that its boxes were seen in.
pub fn watched(server: i32, what: impl FnOnce()) -> BTreeSet<PathBuf> {
    let is_done = AtomicBool::new(false);
    scope(|scope| {
        let watcher = scope.spawn(|| {
            let own = descendants(server);
            // A box that stands may be the one that is taken.
            let own: BTreeSet<PathBuf> = own
                .into_iter()
                .flat_map(groups_of)
                .filter(|group| !is_box(group))
                .collect();
            let mut seen = BTreeSet::new();
            while !is_done.load(Ordering::Relaxed) {
                let now = descendants(server);
                seen.extend(now.into_iter().flat_map(groups_of));
                sleep(Duration::from_millis(50));
            }
            &seen - &own
        });
        // The watcher is let go also where a test fails in there.
        let result = catch_unwind(AssertUnwindSafe(what));
        is_done.store(true, Ordering::Relaxed);
        let seen = watcher.join().unwrap();
        result.unwrap_or_else(|panic| resume_unwind(panic));
        seen
    })
}

/// The folders of ours among a process's control groups; none when it has
/// ended.
pub fn groups_of(pid: i32) -> Vec<PathBuf> {
    let text =
        fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let found = text.lines().filter_map(|line| {
        let path = line.splitn(3, ':').nth(2)?;
        path.contains("sandpiper-").then_some(path.trim_matches('/'))
    });
    let mounts = fs::read_to_string("/proc/mounts").unwrap();
    let mounts: Vec<_> = mounts
        .lines()
        .filter_map(|line| line.split(' ').nth(1))
        .filter(|mount| mount.starts_with("/sys/fs/cgroup"))
        .collect();
    found
        .flat_map(|path| mounts.iter().map(move |m| Path::new(m).join(path)))
        .filter(|folder| folder.exists())
        .collect()
}
