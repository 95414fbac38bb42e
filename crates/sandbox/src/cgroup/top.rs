//! The groups above all boxes of one server: found, made, handed to the
//! server's user, swept and removed.

use std::fs;
use std::io;
use std::os::unix::fs::{MetadataExt, chown};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::Duration;

use super::detect::{Hierarchy, hierarchies};
use super::{Controllers, Group};
use crate::BoxSpec;
use crate::error::{During, Result, SandboxError};
use crate::sys;

/// Where the boxes of one server get their groups.
#[derive(Debug)]
pub(crate) enum Top {
    /// One folder in each version 1 hierarchy, with its controllers.
    V1(Vec<(Vec<String>, PathBuf)>),
    /// A version 2 group; boxes are made below its `boxes`.
    V2 { top: PathBuf, controllers: Vec<String> },
    /// No group can be made here; the text says why.
    None(String),
}

/// Version 2 controllers that boxes use.
const WANTED: [&str; 3] = ["memory", "pids", "cpu"];

impl Top {
    /// Finds where groups can be made and makes the top ones, named `name`.
    /// What an earlier server of that name left is killed and removed first:
    /// the caller holds the lock of the name.
    ///
    /// `below` is the operator's choice of group, a path below the mount of
    /// each hierarchy; without it the process's own group is used.
    pub(crate) fn make(name: &str, below: Option<&Path>) -> Result<Self> {
        let all = hierarchies()?;
        let (v2, v1): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|h| h.controllers.is_empty());
        let mut reasons = Vec::new();
        for hierarchy in &v2 {
            match make_v2(hierarchy, name, below) {
                Ok(top) => return Ok(top),
                Err(error) => reasons.push(error.to_string()),
            }
        }
        let tops: Vec<_> = v1
            .into_iter()
            .filter_map(|hierarchy| {
                let base = chosen(&hierarchy, below);
                let top = base.join(name);
                match make_folder(&top) {
                    Ok(()) => Some((hierarchy.controllers, top)),
                    Err(error) => {
                        reasons.push(error.to_string());
                        None
                    }
                }
            })
            .collect();
        if tops.is_empty() {
            return Ok(Self::None(reasons.join("; ")));
        }
        Ok(Self::V1(tops))
    }

    /// What the groups can enforce.
    pub(crate) fn controllers(&self) -> Controllers {
        let has = |name: &str| match self {
            Self::V1(tops) => {
                tops.iter().any(|(names, _)| names.iter().any(|n| n == name))
            }
            Self::V2 { controllers, .. } => {
                controllers.iter().any(|n| n == name)
            }
            Self::None(_) => false,
        };
        Controllers {
            memory: has("memory"),
            processes: has("pids"),
            cpu_share: has("cpu"),
            cpu_time: has("cpuacct") || matches!(self, Self::V2 { .. }),
        }
    }

    /// Which version, and where; for the start line.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::V1(_) => "control groups v1".to_owned(),
            Self::V2 { .. } => "control groups v2".to_owned(),
            Self::None(reason) => format!("no control groups ({reason})"),
        }
    }

    /// The folders of the top groups, for whoever has to sweep them later.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        match self {
            Self::V1(tops) => tops.iter().map(|(_, top)| top.clone()).collect(),
            Self::V2 { top, .. } => vec![top.clone()],
            Self::None(_) => Vec::new(),
        }
    }

    /// Hands the groups to the user that the server becomes.
    pub(crate) fn give_to(&self, uid: u32) -> Result<()> {
        let give = |path: &Path| {
            chown(path, Some(uid), Some(uid))
                .during(&format!("give {} away", path.display()))
        };
        match self {
            Self::V1(tops) => tops.iter().try_for_each(|(_, top)| give(top)),
            Self::V2 { top, .. } => {
                // A process moves between groups only when its user may write
                // cgroup.procs of their common ancestor (cgroups(7)).
                give(&top.join("cgroup.procs"))?;
                give(&top.join("boxes"))?;
                give(&top.join("boxes/cgroup.procs"))
            }
            Self::None(_) => Ok(()),
        }
    }

    /// The group of a new box.
    pub(crate) fn make_box(&self, name: &str, spec: &BoxSpec) -> Result<Group> {
        match self {
            Self::V1(tops) => Group::make_v1(tops, name, spec),
            Self::V2 { top, controllers } => {
                Group::make_v2(&top.join("boxes").join(name), controllers, spec)
            }
            Self::None(_) => Ok(Group::none()),
        }
    }

    /// Removes the top groups; every box must be gone.
    pub(crate) fn remove(&self) {
        match self {
            Self::V1(tops) => {
                for (_, top) in tops {
                    sweep(top);
                }
            }
            Self::V2 { top, .. } => sweep(top),
            Self::None(_) => {}
        }
    }
}

fn chosen(hierarchy: &Hierarchy, below: Option<&Path>) -> PathBuf {
    match below {
        Some(path) => {
            hierarchy.mount.join(path.strip_prefix("/").unwrap_or(path))
        }
        None => hierarchy.own.clone(),
    }
}

/// Sweeps what an earlier server left under the same name, then makes it anew.
fn make_folder(top: &Path) -> Result<()> {
    sweep(top);
    fs::create_dir(top).during(&format!("make group {}", top.display()))
}

/// Makes `<base>/<name>/{server,boxes}` and moves this process into `server`:
/// a version 2 group with processes of its own cannot limit its children.
fn make_v2(
    hierarchy: &Hierarchy,
    name: &str,
    below: Option<&Path>,
) -> Result<Top> {
    let own = chosen(hierarchy, below);
    let is_root = rustix::process::geteuid().is_root();
    let candidates = [
        Some(own.clone()),
        // Root need not stay in a session's group that has no controllers to
        // give: it makes its own beside it.
        (is_root && below.is_none()).then(|| hierarchy.mount.clone()),
    ];
    let mut last = SandboxError::other("version 2", "no group to start from");
    for base in candidates.into_iter().flatten() {
        match make_v2_in(&base, name) {
            Ok(top) => return Ok(top),
            Err(error) => last = error,
        }
    }
    Err(last)
}

fn make_v2_in(base: &Path, name: &str) -> Result<Top> {
    let offered = read(&base.join("cgroup.controllers"))?;
    let offered: Vec<_> = offered.split_ascii_whitespace().collect();
    if !offered.contains(&"memory") || !offered.contains(&"pids") {
        let reason = "the group has no memory and pids controllers";
        return Err(SandboxError::other(base.display().to_string(), reason));
    }
    let top = base.join(name);
    make_folder(&top)?;
    let made = fill_v2(base, &top, &offered);
    if made.is_err() {
        sweep(&top);
    }
    made
}

fn fill_v2(base: &Path, top: &Path, offered: &[&str]) -> Result<Top> {
    let server = top.join("server");
    for folder in [&server, &top.join("boxes")] {
        fs::create_dir(folder)
            .during(&format!("make group {}", folder.display()))?;
    }
    write(&server.join("cgroup.procs"), "0")?;
    let controllers: Vec<String> = WANTED
        .iter()
        .filter(|wanted| offered.contains(wanted))
        .map(|&wanted| wanted.to_owned())
        .collect();
    let enable: Vec<_> = controllers.iter().map(|c| format!("+{c}")).collect();
    for group in [base, top, &top.join("boxes")] {
        let control = group.join("cgroup.subtree_control");
        let enabled = read(&control)?;
        let enabled: Vec<_> = enabled.split_ascii_whitespace().collect();
        if controllers.iter().any(|c| !enabled.contains(&c.as_str())) {
            write(&control, &enable.join(" "))?;
        }
    }
    Ok(Top::V2 { top: top.to_owned(), controllers })
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
    // Killed processes leave their groups when they are reaped by whoever
    // inherited them; that takes a moment, not more.
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
    for pid in members.lines().filter_map(|line| line.parse().ok()) {
        if pid != own {
            // It may have ended in between.
            let _ = sys::kill(pid, libc::SIGKILL);
        }
    }
    fs::remove_dir(group)
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).during(&format!("read {}", path.display()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).during(&format!("write {}", path.display()))
}
