//! The box as pid 1 and the processes that it forks know it.

use std::os::unix::net::UnixStream;

use libc::sock_filter;
use rustix::process::{DumpableBehavior, Signal};

use super::mounts::Tree;
use crate::error::{During, Result};
use crate::protocol::UserNamespace;

/// The values that are fixed for the whole life of a box.
#[derive(Clone, Copy)]
pub(super) struct BoxContext<'a> {
    /// The socket to the server.
    pub(super) socket: &'a UnixStream,
    pub(super) tree: &'a Tree,
    pub(super) user_namespace: UserNamespace,
    /// The filter of every program.
    pub(super) seccomp: &'a [sock_filter],
}

/// Has the kernel kill pid 1, and with it the box, when the outer half ends.
/// The kernel forgets this at a change of ids.
pub(super) fn follow_parent() -> Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))
        .during("follow the parent")
}

/// Keeps everyone but the host's root from tracing this process and reading
/// its memory. The kernel may take this back at a change of ids.
pub(super) fn become_undumpable() -> Result<()> {
    rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable)
        .during("become undumpable")
}
