//! The version 2 groups above all boxes of one server: made, given to the
//! server's user, and removed.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use super::detect::Hierarchy;
use super::files::{read, write};
use super::folder::{claim, give, make, sweep};
use super::group::Group;
use crate::BoxSpec;
use crate::error::{Result, SandboxError};

/// Controllers that boxes use.
const WANTED: [&str; 3] = ["memory", "pids", "cpu"];

/// The group `<base>/<name>`, with the groups `server`, where this process is,
/// and `boxes`: a group that has processes cannot limit its children.
#[derive(Debug)]
pub(crate) struct V2 {
    base: PathBuf,
    root: PathBuf,
    /// The group that this process came from, and goes back to.
    origin: PathBuf,
    controllers: Vec<String>,
    /// Whether this server enabled the controllers in the base.
    enabled_in_base: bool,
}

impl V2 {
    /// Makes the groups in `base`, the operator's choice, else in the group of
    /// this process. If that fails, root makes them at the top of the
    /// hierarchy: the group of its session has other processes.
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
        let root = base.join(name);
        let Some(lock) = claim(&root)? else { return Ok(None) };
        let mut made = Self {
            base,
            root,
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
        // Before the base limits its children: this process may be in it.
        write(&self.server().join("cgroup.procs"), "0")?;
        self.enabled_in_base = self.enable_in(&self.base).map_err(busy)?;
        self.enable_in(&self.root)?;
        self.enable_in(&self.boxes())?;
        Ok(())
    }

    /// Enables the controllers for the children of `group`. Returns `false` if
    /// they were enabled already.
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

    /// Returns every controller with `sign`, as `cgroup.subtree_control` takes
    /// it.
    fn each_with(&self, sign: char) -> String {
        let signed: Vec<_> =
            self.controllers.iter().map(|c| format!("{sign}{c}")).collect();
        signed.join(" ")
    }

    fn server(&self) -> PathBuf {
        self.root.join("server")
    }

    fn boxes(&self) -> PathBuf {
        self.root.join("boxes")
    }

    pub(super) fn has(&self, controller: &str) -> bool {
        self.controllers.iter().any(|name| name == controller)
    }

    /// Returns the folder that contains all groups.
    pub(super) fn folder(&self) -> &Path {
        &self.root
    }

    /// Gives `uid` the files that it needs to make boxes, but not the limits
    /// above them.
    pub(super) fn give_to(&self, uid: u32) -> Result<()> {
        // A process may move between groups only if its user may write
        // cgroup.procs of their common ancestor (cgroups(7)).
        give(&self.root.join("cgroup.procs"), uid)?;
        give(&self.boxes(), uid)?;
        give(&self.boxes().join("cgroup.procs"), uid)
    }

    pub(super) fn make_box(&self, name: &str, spec: &BoxSpec) -> Result<Group> {
        Group::make_v2(&self.boxes().join(name), &self.controllers, spec)
    }

    /// Kills the processes that are left in boxes, leaves the groups and removes
    /// them.
    pub(super) fn remove(&self) {
        sweep(&self.boxes());
        if let Err(error) = self.go_back() {
            tracing::warn!(%error, "cannot leave the server's control group");
        }
        sweep(&self.root);
    }

    /// Moves this process back to its first group: a group that holds a process
    /// cannot be removed.
    fn go_back(&self) -> Result<()> {
        // A group that limits its children takes no process. Only the root of
        // the hierarchy does, and only the root has no cgroup.type.
        let is_inner = self.base.join("cgroup.type").exists();
        if self.enabled_in_base && is_inner && self.base == self.origin {
            for group in [&self.root, &self.base] {
                let control = group.join("cgroup.subtree_control");
                write(&control, &self.each_with('-'))?;
            }
        }
        // Its maker may have removed the first group when it was empty.
        write(&self.origin.join("cgroup.procs"), "0")
            .or_else(|_| write(&self.base.join("cgroup.procs"), "0"))
    }
}

/// Words the kernel's error EBUSY.
fn busy(error: SandboxError) -> SandboxError {
    if error.cause.kind() != io::ErrorKind::ResourceBusy {
        return error;
    }
    SandboxError::other(
        error.step,
        "other processes are in this group; start the server in one of its own",
    )
}
