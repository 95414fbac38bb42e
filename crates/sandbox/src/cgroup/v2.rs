//! The version 2 groups above all boxes of one server: found a place, made,
//! handed to the server's user, and removed.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::detect::Hierarchy;
use super::folder::{claim, give, make, read, sweep, write};
use super::group::Group;
use crate::BoxSpec;
use crate::error::{Result, SandboxError};

/// Controllers that boxes use.
const WANTED: [&str; 3] = ["memory", "pids", "cpu"];

/// `<base>/<name>` with `server`, where this process lives, and `boxes`: a
/// group with processes of its own cannot limit its children.
#[derive(Debug)]
pub(crate) struct V2 {
    base: PathBuf,
    top: PathBuf,
    /// The group that this process came from, and goes back to.
    origin: PathBuf,
    controllers: Vec<String>,
    /// Whether the base limits its children because of us alone.
    enabled_in_base: bool,
}

impl V2 {
    /// Makes the groups where that is possible: in `base`, the operator's
    /// choice, else in the process's own group. Root need not stay in its
    /// session's group, which has other processes: it makes them beside it.
    pub(super) fn make(
        hierarchy: &Hierarchy,
        name: &str,
        base: Option<PathBuf>,
    ) -> Result<Option<(Self, File)>> {
        let mut bases = vec![base.clone().unwrap_or(hierarchy.own.clone())];
        let is_root = rustix::process::geteuid().is_root();
        if base.is_none() && is_root && hierarchy.own != hierarchy.mount {
            bases.push(hierarchy.mount.clone());
        }
        let mut reasons = Vec::new();
        for base in bases {
            match Self::make_in(base, name, &hierarchy.own) {
                Ok(made) => return Ok(made),
                Err(error) => reasons.push(error.to_string()),
            }
        }
        Err(SandboxError::other("version 2", reasons.join("; ")))
    }

    fn make_in(
        base: PathBuf,
        name: &str,
        origin: &Path,
    ) -> Result<Option<(Self, File)>> {
        let offered = read(&base.join("cgroup.controllers"))?;
        let offered: Vec<_> = offered.split_ascii_whitespace().collect();
        if !offered.contains(&"memory") || !offered.contains(&"pids") {
            let reason = "the group has no memory and pids controllers";
            return Err(SandboxError::other(
                base.display().to_string(),
                reason,
            ));
        }
        let controllers = WANTED
            .iter()
            .filter(|wanted| offered.contains(wanted))
            .map(|&wanted| wanted.to_owned())
            .collect();
        let top = base.join(name);
        let Some(lock) = claim(&top)? else { return Ok(None) };
        let mut made = Self {
            base,
            top,
            origin: origin.to_owned(),
            controllers,
            enabled_in_base: false,
        };
        match made.fill() {
            Ok(()) => Ok(Some((made, lock))),
            Err(error) => {
                made.remove();
                Err(error)
            }
        }
    }

    fn fill(&mut self) -> Result<()> {
        make(&self.server())?;
        make(&self.boxes())?;
        // Before the base limits its children: it may be where we are.
        write(&self.server().join("cgroup.procs"), "0")?;
        self.enabled_in_base = self.enable_in(&self.base).map_err(busy)?;
        self.enable_in(&self.top)?;
        self.enable_in(&self.boxes())?;
        Ok(())
    }

    /// Lets the children of `group` be limited; whether they could not yet be.
    fn enable_in(&self, group: &Path) -> Result<bool> {
        let control = group.join("cgroup.subtree_control");
        let enabled = read(&control)?;
        let enabled: Vec<_> = enabled.split_ascii_whitespace().collect();
        if self.controllers.iter().all(|c| enabled.contains(&c.as_str())) {
            return Ok(false);
        }
        write(&control, &self.each_with('+'))?;
        Ok(true)
    }

    /// Every controller with `sign`, as `cgroup.subtree_control` takes it.
    fn each_with(&self, sign: char) -> String {
        let signed: Vec<_> =
            self.controllers.iter().map(|c| format!("{sign}{c}")).collect();
        signed.join(" ")
    }

    fn server(&self) -> PathBuf {
        self.top.join("server")
    }

    fn boxes(&self) -> PathBuf {
        self.top.join("boxes")
    }

    pub(super) fn has(&self, controller: &str) -> bool {
        self.controllers.iter().any(|name| name == controller)
    }

    /// The one folder that all are in.
    pub(super) fn folder(&self) -> &Path {
        &self.top
    }

    /// Hands to `uid` what it needs to make boxes, not the limits above them.
    pub(super) fn give_to(&self, uid: u32) -> Result<()> {
        // A process moves between groups only when its user may write
        // cgroup.procs of their common ancestor (cgroups(7)).
        give(&self.top.join("cgroup.procs"), uid)?;
        give(&self.boxes(), uid)?;
        give(&self.boxes().join("cgroup.procs"), uid)
    }

    pub(super) fn make_box(&self, name: &str, spec: &BoxSpec) -> Result<Group> {
        Group::make_v2(&self.boxes().join(name), &self.controllers, spec)
    }

    /// Kills what is left in boxes, leaves the groups and removes them.
    pub(super) fn remove(&self) {
        sweep(&self.boxes());
        if let Err(error) = self.go_back() {
            tracing::warn!(%error, "cannot leave the server's control group");
        }
        sweep(&self.top);
    }

    /// Moves this process to where it came from: a group that holds a process
    /// cannot be removed.
    fn go_back(&self) -> Result<()> {
        // A group that limits its children takes no process, but for the root
        // of the hierarchy, which alone has no type.
        let is_inner = self.base.join("cgroup.type").exists();
        if self.enabled_in_base && is_inner && self.base == self.origin {
            for group in [&self.top, &self.base] {
                let control = group.join("cgroup.subtree_control");
                write(&control, &self.each_with('-'))?;
            }
        }
        // Whoever made the first may have removed it when it was empty.
        write(&self.origin.join("cgroup.procs"), "0")
            .or_else(|_| write(&self.base.join("cgroup.procs"), "0"))
    }
}

/// Says what the kernel means by busy.
fn busy(error: SandboxError) -> SandboxError {
    if error.cause.kind() != io::ErrorKind::ResourceBusy {
        return error;
    }
    SandboxError::other(
        error.step,
        "other processes are in this group; start the server in one of its own",
    )
}
