//! The control groups above all boxes of one server: found, made, given to the
//! server's user, and removed.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::detect::{Hierarchy, hierarchies};
use super::folder::{claim, give, sweep};
use super::v2::V2;
use super::{Controllers, Group};
use crate::BoxSpec;
use crate::error::Result;

/// The place where the boxes of one server get their groups.
#[derive(Debug)]
pub(crate) enum CgroupRoot {
    /// One folder in each version 1 hierarchy, with its controllers.
    V1(Vec<(Vec<String>, PathBuf)>),
    /// Version 2.
    V2(V2),
    /// No group can be made here, for this reason.
    None(String),
}

impl CgroupRoot {
    /// Finds where groups can be made, and makes the root groups with this
    /// name. The groups of an earlier server with the name are removed first,
    /// and their processes killed.
    ///
    /// Returns the root and the locks of its groups, which keep other servers
    /// from doing the same. Returns `None` if a live server has groups of this
    /// name.
    ///
    /// `below` is the operator's choice of parent group, a path below the mount
    /// of each hierarchy. Without it the group of this process is used.
    pub(crate) fn make(
        name: &str,
        below: Option<&Path>,
    ) -> Result<Option<(Self, Vec<File>)>> {
        let all = hierarchies()?;
        let (v2, v1): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|h| h.controllers.is_empty());
        let mut reasons = Vec::new();
        for hierarchy in &v2 {
            match V2::make(hierarchy, name, chosen(hierarchy, below)) {
                Ok(Some((v2, lock))) => {
                    return Ok(Some((Self::V2(v2), vec![lock])));
                }
                Ok(None) => return Ok(None),
                Err(error) => reasons.push(error.to_string()),
            }
        }
        let (mut roots, mut locks) = (Vec::new(), Vec::new());
        for hierarchy in v1 {
            let is_same = |(names, _): &(_, _)| *names == hierarchy.controllers;
            // A hierarchy can be mounted in several places.
            if roots.iter().any(is_same) {
                continue;
            }
            let base = chosen(&hierarchy, below);
            let root = base.unwrap_or(hierarchy.own).join(name);
            match claim(&root) {
                Ok(Some(lock)) => {
                    roots.push((hierarchy.controllers, root));
                    locks.push(lock);
                }
                Ok(None) => {
                    Self::V1(roots).remove();
                    return Ok(None);
                }
                Err(error) => reasons.push(error.to_string()),
            }
        }
        let made = if roots.is_empty() {
            Self::None(reasons.join("; "))
        } else {
            Self::V1(roots)
        };
        Ok(Some((made, locks)))
    }

    /// Returns the limits that the groups can enforce.
    pub(crate) fn controllers(&self) -> Controllers {
        let has = |name: &str| match self {
            Self::V1(roots) => {
                roots.iter().any(|(names, _)| names.iter().any(|n| n == name))
            }
            Self::V2(v2) => v2.has(name),
            Self::None(_) => false,
        };
        Controllers {
            memory: has("memory"),
            processes: has("pids"),
            cpu_share: has("cpu"),
            cpu_time: has("cpuacct") || matches!(self, Self::V2(_)),
        }
    }

    /// Returns the version in words, or the reason why there are no groups.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::V1(_) => "control groups v1".to_owned(),
            Self::V2(_) => "control groups v2".to_owned(),
            Self::None(reason) => format!("no control groups ({reason})"),
        }
    }

    /// Returns the folders of the root groups, so that they can be recorded.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        match self {
            Self::V1(roots) => {
                roots.iter().map(|(_, root)| root.clone()).collect()
            }
            Self::V2(v2) => vec![v2.folder().to_owned()],
            Self::None(_) => Vec::new(),
        }
    }

    /// Gives the groups to the user that the server becomes.
    pub(crate) fn give_to(&self, uid: u32) -> Result<()> {
        match self {
            Self::V1(roots) => {
                roots.iter().try_for_each(|(_, root)| give(root, uid))
            }
            Self::V2(v2) => v2.give_to(uid),
            Self::None(_) => Ok(()),
        }
    }

    /// Makes the group of a new box.
    pub(crate) fn make_box(&self, name: &str, spec: &BoxSpec) -> Result<Group> {
        match self {
            Self::V1(roots) => Group::make_v1(roots, name, spec),
            Self::V2(v2) => v2.make_box(name, spec),
            Self::None(_) => Ok(Group::none()),
        }
    }

    /// Removes the root groups, and kills the processes that are still in them.
    pub(crate) fn remove(&self) {
        match self {
            Self::V1(roots) => roots.iter().for_each(|(_, root)| sweep(root)),
            Self::V2(v2) => v2.remove(),
            Self::None(_) => {}
        }
    }
}

/// Returns the operator's choice in one hierarchy.
fn chosen(hierarchy: &Hierarchy, below: Option<&Path>) -> Option<PathBuf> {
    let below = below?;
    Some(hierarchy.mount.join(below.strip_prefix("/").unwrap_or(below)))
}
