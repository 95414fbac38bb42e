//! The things of a server on its host, to be looked for when it is dead.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::servers::{Server, eventually, serving};
use sandpiper_testkit::traces::{descendants, groups_of};

/// Host ids that a server which was started as root has.
const IDS: u32 = 1_024;

/// Processes, control groups and files of one server and of its boxes.
#[derive(Debug)]
pub(crate) struct Holdings {
    /// Each with the time of its start: numbers are used again.
    processes: BTreeMap<i32, String>,
    /// Of the boxes, each with its inode: names are used again.
    pub(crate) groups: BTreeMap<PathBuf, u64>,
    /// The name of its groups; it ends with the server's number.
    name: String,
    ids: (u32, u32),
}

impl Holdings {
    /// Returns them as they are now. At least one box must be there.
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
        let mut parts = folder.iter().map(|part| part.to_string_lossy());
        let name = parts.find(|part| part.starts_with("sandpiper-")).unwrap();
        let name = name.into_owned();
        let serving = fs::metadata(format!("/proc/{}", serving(server)));
        let first = serving.unwrap().uid();
        let is_root = rustix::process::geteuid().is_root();
        let started = |pid: &i32| started(*pid).map(|at| (*pid, at));
        Self {
            processes: processes.iter().filter_map(started).collect(),
            groups,
            name,
            ids: (first, if is_root { first + IDS } else { first + 1 }),
        }
    }

    pub(crate) fn processes(&self) -> usize {
        self.processes.len()
    }

    /// Waits until no process of it is left.
    pub(crate) fn await_end(&self) {
        eventually("its processes end", || {
            let mut all = self.processes.iter();
            all.all(|(pid, at)| started(*pid).as_ref() != Some(at))
        });
    }

    /// Waits until its boxes' groups are gone.
    pub(crate) fn await_groups_end(&self) {
        eventually("its groups are removed", || self.has_no_group());
    }

    /// Whether its boxes' groups are gone.
    pub(crate) fn has_no_group(&self) -> bool {
        self.groups.iter().all(|(folder, inode)| {
            fs::metadata(folder).map_or(true, |it| it.ino() != *inode)
        })
    }

    /// Fails where a folder of temporary files has something of its ids, a
    /// lock of its number lies about, or something of it is mounted.
    pub(crate) fn assert_no_files(&self) {
        let own = |path: &PathBuf| {
            let found = path.symlink_metadata();
            found.is_ok_and(|it| (self.ids.0..self.ids.1).contains(&it.uid()))
        };
        let run = format!("sandpiper-{}", self.ids.0);
        // Canaries of an attack suite that was killed; no server makes any.
        let is_canary = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default();
            name.to_string_lossy().starts_with("sandpiper-attack-")
        };
        let files: Vec<PathBuf> = ["/tmp", "/var/tmp", "/dev/shm", "/run"]
            .into_iter()
            .flat_map(entries)
            .filter(|path| !path.ends_with(&run) && !is_canary(path))
            .filter(own)
            .collect();
        assert!(files.is_empty(), "{files:?}");
        let number = self.name.rsplit('-').next().unwrap();
        let lock = format!("instance-{number}.lock");
        for folder in ["/run/sandpiper".to_owned(), format!("/tmp/{run}")] {
            let path = Path::new(&folder).join(&lock);
            // Another server may have the number by now.
            let is_held = File::open(&path)
                .is_ok_and(|file| file.try_lock_shared().is_err());
            assert!(is_held || !path.exists(), "{}", path.display());
        }
        let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
        let of_boxes: BTreeSet<&str> =
            mounts.lines().filter(|line| line.contains("/rootfs")).collect();
        assert!(of_boxes.is_empty(), "{of_boxes:?}");
    }
}

fn is_box(folder: &Path) -> bool {
    let name = folder.file_name().unwrap_or_default();
    name.to_string_lossy().starts_with("box-")
}

fn entries(folder: &str) -> impl Iterator<Item = PathBuf> {
    let found = fs::read_dir(folder).into_iter().flatten().flatten();
    found.map(|entry| entry.path())
}

/// When a process was started; none where it has ended, reaped or not.
fn started(pid: i32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // Behind the name, which may hold anything: the state is the first field
    // and the start the 20th (proc_pid_stat(5)).
    let (_, rest) = stat.rsplit_once(')')?;
    let fields: Vec<&str> = rest.split_whitespace().collect();
    (fields[0] != "Z").then(|| fields[19].to_owned())
}
