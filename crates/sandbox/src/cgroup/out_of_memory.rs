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
    /// An eventfd that becomes readable, and the file that counts kills.
    V1(OwnedFd, File),
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
        Ok(Self::V1(event, control))
    }

    pub(super) fn has_killed(&self) -> bool {
        let (Self::V1(_, file) | Self::V2(file)) = self;
        has_counted(file, "oom_kill ")
    }
}
