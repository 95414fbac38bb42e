//! The groups above all boxes of one server: found, made, handed to the
//! server's user, and removed.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::detect::{Hierarchy, hierarchies};
use super::folder::{claim, give, sweep};
use super::v2::V2;
use super::{Controllers, Group};
use crate::BoxSpec;
use crate::error::Result;

/// Where the boxes of one server get their groups.
#[derive(Debug)]
pub(crate) enum Top {
    /// One folder in each version 1 hierarchy, with its controllers.
    V1(Vec<(Vec<String>, PathBuf)>),
    /// Version 2.
    V2(V2),
    /// No group can be made here; the text says why.
    None(String),
}

impl Top {
    /// Finds where groups can be made and makes the top ones, named `name`.
    /// What an earlier server of that name left is killed and removed first.
    /// Gives the groups' locks as well, which keep others from doing that;
    /// `None` where a live server has groups of this name.
    ///
    /// `below` is the operator's choice of group, a path below the mount of
    /// each hierarchy; without it the process's own group is used.
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
        let (mut tops, mut locks) = (Vec::new(), Vec::new());
        for hierarchy in v1 {
            let base = chosen(&hierarchy, below);
            let top = base.unwrap_or(hierarchy.own).join(name);
            match claim(&top) {
                Ok(Some(lock)) => {
                    tops.push((hierarchy.controllers, top));
                    locks.push(lock);
                }
                Ok(None) => {
                    Self::V1(tops).remove();
                    return Ok(None);
                }
                Err(error) => reasons.push(error.to_string()),
            }
        }
        let made = if tops.is_empty() {
            Self::None(reasons.join("; "))
        } else {
            Self::V1(tops)
        };
        Ok(Some((made, locks)))
    }

    /// What the groups can enforce.
    pub(crate) fn controllers(&self) -> Controllers {
        let has = |name: &str| match self {
            Self::V1(tops) => {
                tops.iter().any(|(names, _)| names.iter().any(|n| n == name))
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

    /// Which version, and where; for the start line.
    pub(crate) fn describe(&self) -> String {
        match self {
            Self::V1(_) => "control groups v1".to_owned(),
            Self::V2(_) => "control groups v2".to_owned(),
            Self::None(reason) => format!("no control groups ({reason})"),
        }
    }

    /// The folders of the top groups, for whoever has to sweep them later.
    pub(crate) fn folders(&self) -> Vec<PathBuf> {
        match self {
            Self::V1(tops) => tops.iter().map(|(_, top)| top.clone()).collect(),
            Self::V2(v2) => vec![v2.folder().to_owned()],
            Self::None(_) => Vec::new(),
        }
    }

    /// Hands the groups to the user that the server becomes.
    pub(crate) fn give_to(&self, uid: u32) -> Result<()> {
        match self {
            Self::V1(tops) => {
                tops.iter().try_for_each(|(_, top)| give(top, uid))
            }
            Self::V2(v2) => v2.give_to(uid),
            Self::None(_) => Ok(()),
        }
    }

    /// The group of a new box.
    pub(crate) fn make_box(&self, name: &str, spec: &BoxSpec) -> Result<Group> {
        match self {
            Self::V1(tops) => Group::make_v1(tops, name, spec),
            Self::V2(v2) => v2.make_box(name, spec),
            Self::None(_) => Ok(Group::none()),
        }
    }

    /// Removes the top groups, and whatever is still in them.
    pub(crate) fn remove(&self) {
        match self {
            Self::V1(tops) => tops.iter().for_each(|(_, top)| sweep(top)),
            Self::V2(v2) => v2.remove(),
            Self::None(_) => {}
        }
    }
}

/// The operator's choice in one hierarchy.
fn chosen(hierarchy: &Hierarchy, below: Option<&Path>) -> Option<PathBuf> {
    let below = below?;
    Some(hierarchy.mount.join(below.strip_prefix("/").unwrap_or(below)))
}
