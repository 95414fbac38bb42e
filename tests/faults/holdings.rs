//! The resources of a server on its host, to check that none is left when it ended.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use crate::servers::{Server, eventually, serving};
use sandpiper_testkit::traces::{descendants, groups_of};

/// The host ids that a server gets that root starts.
const IDS: u32 = 1_024;

/// The files that were there before the first test, of earlier runs that were killed.
static EARLIER: LazyLock<BTreeSet<PathBuf>> =
    LazyLock::new(|| temporary().collect());

/// Notes which files are there before the first test.
pub(crate) fn note_earlier_files() {
    LazyLock::force(&EARLIER);
}

/// The processes, control groups and files of one server and its boxes.
#[derive(Debug)]
pub(crate) struct Holdings {
    /// Each with its start time, since the kernel reuses process ids.
    processes: BTreeMap<i32, String>,
    /// The groups of the boxes, each with its inode, since names are reused.
    pub(crate) groups: BTreeMap<PathBuf, u64>,
    /// Its lock file, at each place that it may have.
    locks: Vec<(PathBuf, Identity)>,
    ids: (u32, u32),
}

impl Holdings {
    /// Returns what the server has now. At least one box must exist.
    pub(crate) fn of(server: &Server) -> Self {
        let processes = descendants(server.pid());
        let groups = processes.iter().flat_map(|pid| groups_of(*pid));
        let groups: BTreeMap<PathBuf, u64> = groups
            .filter(|folder| is_box(folder))
            .filter_map(|folder| {
                let inode = fs::metadata(&folder).ok()?.ino();
                Some((folder, inode))
            })
            .collect();
        let (folder, _) = groups.first_key_value().expect("a box in a group");
        let mut parts = folder.iter().rev().map(|part| part.to_string_lossy());
        // It ends with the server's number. A group above may be named like it.
        let name = parts.find(|part| part.starts_with("sandpiper-")).unwrap();
        let number = name.rsplit('-').next().unwrap().to_owned();
        let serving = fs::metadata(format!("/proc/{}", serving(server)));
        let first = serving.unwrap().uid();
        let is_root = rustix::process::geteuid().is_root();
        let folders =
            ["/run/sandpiper".into(), format!("/tmp/{}", run_of(first))];
        let locks = folders.iter().filter_map(|folder| {
            let name = format!("instance-{number}.lock");
            let path = Path::new(folder).join(name);
            Some((path.clone(), identity(&path)?))
        });
        let started = |pid: &i32| started(*pid).map(|at| (*pid, at));
        Self {
            processes: processes.iter().filter_map(started).collect(),
            groups,
            locks: locks.collect(),
            ids: (first, if is_root { first + IDS } else { first + 1 }),
        }
    }

    pub(crate) fn processes(&self) -> usize {
        self.processes.len()
    }

    /// Waits until all of its processes have ended.
    pub(crate) fn await_end(&self) {
        eventually("its processes end", || {
            let mut all = self.processes.iter();
            all.all(|(pid, at)| started(*pid).as_ref() != Some(at))
        });
    }

    /// Waits until the groups of its boxes are removed.
    pub(crate) fn await_groups_end(&self) {
        eventually("its groups are removed", || self.has_no_group());
    }

    /// Returns whether the groups of its boxes are removed.
    pub(crate) fn has_no_group(&self) -> bool {
        self.groups.iter().all(|(folder, inode)| {
            fs::metadata(folder).map_or(true, |it| it.ino() != *inode)
        })
    }

    /// Fails if a temporary folder has a file of its ids, if its lock file exists,
    /// or if something of it is mounted.
    pub(crate) fn assert_no_files(&self) {
        let own = |path: &PathBuf| {
            let found = path.symlink_metadata();
            found.is_ok_and(|it| (self.ids.0..self.ids.1).contains(&it.uid()))
        };
        let run = run_of(self.ids.0);
        let files: Vec<PathBuf> = temporary()
            .filter(|path| !path.ends_with(&run) && !EARLIER.contains(path))
            .filter(own)
            .collect();
        assert!(files.is_empty(), "{files:?}");
        assert!(!self.locks.is_empty(), "it had no lock file");
        for (path, lock) in &self.locks {
            assert_ne!(identity(path), Some(*lock), "{}", path.display());
        }
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let of_boxes: BTreeSet<&str> =
            mounts.lines().filter(|line| line.contains("/rootfs")).collect();
        assert!(of_boxes.is_empty(), "{of_boxes:?}");
    }
}

/// A file apart from others that have had its path: another server may take the
/// number of one that has ended.
type Identity = (u64, i64, i64);

fn identity(path: &Path) -> Option<Identity> {
    let found = fs::symlink_metadata(path).ok()?;
    // Who takes over a file that is left changes it.
    Some((found.ino(), found.ctime(), found.ctime_nsec()))
}

/// The name of the folder in /tmp of a server with this user.
fn run_of(user: u32) -> String {
    format!("sandpiper-{user}")
}

fn is_box(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default();
    name.to_string_lossy().starts_with("box-")
}

/// The entries of all temporary folders.
fn temporary() -> impl Iterator<Item = PathBuf> {
    ["/tmp", "/var/tmp", "/dev/shm", "/run"].into_iter().flat_map(entries)
}

fn entries(folder: &str) -> impl Iterator<Item = PathBuf> {
    let found = fs::read_dir(folder).into_iter().flatten().flatten();
    found.map(|entry| entry.path())
}

/// Returns when a process was started, or `None` if it has ended, reaped or not.
fn started(pid: i32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // After the name, which may contain anything, the state is the first field and
    // the start time the 20th (proc_pid_stat(5)).
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    (fields[0] != "Z").then(|| fields[19].to_owned())
}
