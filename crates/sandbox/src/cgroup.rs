//! Control groups: the place for them on this host, and the group of one box.
//!
//! Version 2 is used if it has the memory and pids controllers, else the
//! version 1 hierarchies. The first process of a box moves itself into the
//! group. The server only makes, reads and removes groups.

mod detect;
mod files;
mod folder;
mod group;
mod memory_limit;
mod out_of_memory;
mod root;
mod v2;

pub use detect::memory_limit;
pub(crate) use folder::sweep_dead;
pub(crate) use group::Group;
pub(crate) use out_of_memory::OutOfMemory;
pub(crate) use root::CgroupRoot;

/// The limits that the control groups of this host can enforce.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Controllers {
    /// Memory of a box.
    pub memory: bool,
    /// Processes and threads of a box.
    pub processes: bool,
    /// Equal shares of the CPU between boxes.
    pub cpu_share: bool,
    /// CPU time of all processes of a box together.
    pub cpu_time: bool,
}

impl Controllers {
    /// Returns each limit by the name that users read, and whether the host
    /// can enforce it.
    pub fn by_name(self) -> [(&'static str, bool); 4] {
        let Self { memory, processes, cpu_share, cpu_time } = self;
        [
            ("memory", memory),
            ("processes", processes),
            ("CPU shares", cpu_share),
            ("CPU time", cpu_time),
        ]
    }
}
