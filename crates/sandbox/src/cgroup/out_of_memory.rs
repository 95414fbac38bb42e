//! How the kernel reports that a box is out of memory.

use std::fs::File;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;

use rustix::event::EventfdFlags;

use super::files::{has_counted, open, write};
use crate::error::{During, Result};

/// How the kernel reports that a box is out of memory.
#[derive(Debug)]
pub(crate) enum OutOfMemory {
    /// An eventfd that becomes readable, the file that counts kills, and those
    /// that count how often one of the limits was reached.
    V1 { event: OwnedFd, control: File, failures: Vec<File> },
    /// `memory.events`, which raises an exceptional condition when it changes.
    V2(File),
}

impl OutOfMemory {
    pub(super) fn watch_v1(folder: &Path) -> Result<Self> {
        let control = open(&folder.join("memory.oom_control"))?;
        let flags = EventfdFlags::CLOEXEC | EventfdFlags::NONBLOCK;
        let event = rustix::event::eventfd(0, flags).during("make eventfd")?;
        let registration =
            format!("{} {}", event.as_raw_fd(), control.as_raw_fd());
        write(&folder.join("cgroup.event_control"), &registration)?;
        // The second is absent if the kernel counts no swap.
        let failures = ["memory.failcnt", "memory.memsw.failcnt"]
            .iter()
            .filter_map(|name| File::open(folder.join(name)).ok())
            .collect();
        Ok(Self::V1 { event, control, failures })
    }

    pub(super) fn has_killed(&self) -> bool {
        let (Self::V1 { control: file, .. } | Self::V2(file)) = self;
        has_counted(file, "oom_kill ")
    }

    pub(super) fn reached_limit(&self) -> bool {
        match self {
            Self::V1 { failures, .. } => {
                failures.iter().any(|file| has_counted(file, ""))
            }
            Self::V2(events) => has_counted(events, "oom "),
        }
    }
}
