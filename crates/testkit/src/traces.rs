//! Traces that runs could leave on the host: processes, control groups, mounts,
//! files.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use crate::image_folder::image_folder;
use crate::server::Server;
use crate::wait::eventually;

/// Traces that a run could leave on the host. Ready boxes are not among them,
/// since they are different ones each time.
#[derive(Debug, PartialEq, Eq)]
pub struct Traces {
    /// The server's processes outside boxes.
    pub processes: BTreeSet<i32>,
    /// The mounts of each of them that are about images.
    mounts: Vec<String>,
    /// The files in the folders of images that boxes mount on.
    files: Vec<PathBuf>,
}

impl Traces {
    /// Returns the traces of the server with this process.
    pub fn of(server: i32) -> Self {
        let processes = outside(server);
        let images = image_folder();
        let images = images.to_str().unwrap();
        let mounts = |pid: &i32| {
            // Nothing if the process has ended meanwhile. Other mounts belong to
            // the host, and may change.
            let all = fs::read_to_string(format!("/proc/{pid}/mountinfo"))
                .unwrap_or_default();
            let is_of_a_box = |line: &&str| {
                line.contains(" - overlay image ") || line.contains(images)
            };
            let of_boxes = all.lines().filter(is_of_a_box);
            of_boxes.map(str::to_owned).collect::<Vec<_>>()
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
            mounts: processes.iter().flat_map(mounts).collect(),
            files: files.collect(),
            processes,
        }
    }
}

/// Waits until the server has only ready boxes, none that is being made or
/// removed, and returns the traces at that moment.
pub fn at_rest(server: &Server) -> Traces {
    let mut rest = Traces::of(server.pid());
    // The process that serves, its fork server, and the one that stays root.
    let usual = if rustix::process::geteuid().is_root() { 3 } else { 2 };
    eventually("the server has no box but those that are ready", || {
        let before = std::mem::replace(&mut rest, Traces::of(server.pid()));
        let ready = server.metrics().all_ready();
        let are_boxes = boxes(server.pid()).len() == ready;
        are_boxes && before == rest && rest.processes.len() == usual
    });
    rest
}

/// Returns `pid` and all of its descendants.
pub fn descendants(pid: i32) -> BTreeSet<i32> {
    let parents: Vec<(i32, i32)> = fs::read_dir("/proc")
        .unwrap()
        .flatten()
        .filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
            // After the name, which may contain anything, come the state and the
            // parent.
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

/// Returns whether `pid` or a descendant has this word in its command line, or in
/// the name of an open file.
pub fn shows(pid: i32, word: &str) -> bool {
    descendants(pid).into_iter().any(|pid| {
        let folder = PathBuf::from(format!("/proc/{pid}"));
        let command = fs::read(folder.join("cmdline")).unwrap_or_default();
        let files = fs::read_dir(folder.join("fd")).into_iter().flatten();
        let mut targets = files.flatten().filter_map(|file| {
            Some(
                fs::read_link(file.path()).ok()?.to_string_lossy().into_owned(),
            )
        });
        String::from_utf8_lossy(&command).contains(word)
            || targets.any(|target| target.contains(word))
    })
}

/// Returns `pid` and its descendants, except for those in boxes.
pub fn outside(pid: i32) -> BTreeSet<i32> {
    let all = descendants(pid).into_iter();
    all.filter(|pid| !groups_of(*pid).iter().any(|it| is_box(it))).collect()
}

/// Returns the names of a server's boxes, from their control groups.
pub fn boxes(server: i32) -> BTreeSet<OsString> {
    let folders = group_folders(server).into_iter();
    let entries = folders.flat_map(|it| fs::read_dir(it).into_iter().flatten());
    let names = entries.flatten().map(|entry| entry.path());
    let boxes = names.filter(|group| is_box(group));
    boxes.filter_map(|group| Some(group.file_name()?.to_owned())).collect()
}

/// Returns the control groups of a server, which contain those of its boxes. The
/// server writes them into its lock file, which it keeps open.
fn group_folders(server: i32) -> Vec<PathBuf> {
    let open = |pid| {
        fs::read_dir(format!("/proc/{pid}/fd")).into_iter().flatten().flatten()
    };
    let files = outside(server).into_iter().flat_map(open);
    let mut files = files.map(|entry| entry.path());
    let lock = files.find(|file| {
        fs::read_link(file).is_ok_and(|target| {
            let name = target.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("instance-")
        })
    });
    let text = fs::read_to_string(lock.expect("a lock")).unwrap();
    let folders: Vec<_> = text.lines().map(PathBuf::from).collect();
    assert!(!folders.is_empty(), "the server has no control group");
    folders
}

fn is_box(group: &Path) -> bool {
    let name = group.file_name().unwrap_or_default();
    name.to_string_lossy().starts_with("box-")
}

/// Returns the folders of a process's control groups that a server made; none if
/// the process has ended.
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
