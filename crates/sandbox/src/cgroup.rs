//! Control groups: where this host lets boxes be limited, and the group of
//! one box.
//!
//! Version 2 is used where it has the memory and pids controllers, else the
//! version 1 hierarchies. Every process of a box moves itself in; the server
//! only makes, reads and removes groups.

mod detect;
mod folder;
mod group;
mod memory_limit;
mod top;
mod v2;

pub(crate) use folder::sweep_dead;
pub(crate) use group::{Group, OutOfMemory};
pub(crate) use top::Top;

/// What the groups of this host can enforce.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Controllers {
    /// A box's memory.
    pub memory: bool,
    /// A box's processes and threads.
    pub processes: bool,
    /// Equal shares of the CPU between boxes.
    pub cpu_share: bool,
    /// The CPU time that a box used, of all its processes.
    pub cpu_time: bool,
}
