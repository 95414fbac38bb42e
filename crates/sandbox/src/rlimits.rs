//! Limits of a process (getrlimit(2)): the server's own, and how they are set.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::error::{Result, SandboxError};

/// Bytes in POSIX message queues of one box: the kernel's own default.
pub const QUEUE_BYTES: u64 = 819_200;
/// Signals of one box that are queued, timers included.
pub const QUEUED_SIGNALS: u64 = 1_024;

/// The value at which the kernel starts no core handler. At every other, 0 too,
/// it pipes a core to the handler that `kernel.core_pattern` names (core(5)).
pub const NO_CORE: u64 = 1;

/// What the server needs for its boxes. Call it before a user namespace is
/// made: the kernel counts processes, queues and signals for all boxes of a user
/// together, and holds them to what the maker of their namespaces had.
pub(crate) fn prepare_server() -> Result<()> {
    let is_root = rustix::process::geteuid().is_root();
    // A server has a dozen descriptors for each box and one for each
    // connection; the usual soft limit of 1,024 is for programs that use
    // select(2).
    raise(Resource::Nofile, false)?;
    for shared in [Resource::Nproc, Resource::Msgqueue, Resource::Sigpending] {
        raise(shared, is_root)?;
    }
    // It fails if the hard limit is lower and this process may not raise it.
    let is_set = set(Resource::Core, Some(NO_CORE), Some(NO_CORE)).is_ok();
    if !is_set && has_core_handler() {
        tracing::warn!(
            "the hard limit on core files is 0, and the kernel pipes cores to \
             a program: a crash in a box starts it, outside of the box. Start \
             the server with a limit of 1 (ulimit -c 1; LimitCORE=1)"
        );
    }
    Ok(())
}

/// Whether the kernel pipes cores to a program of the host's.
fn has_core_handler() -> bool {
    std::fs::read_to_string("/proc/sys/kernel/core_pattern")
        .is_ok_and(|pattern| pattern.starts_with('|'))
}

/// To the hard limit, or to none.
fn raise(resource: Resource, to_none: bool) -> Result<()> {
    let most = getrlimit(resource).maximum;
    // Root in a container may lack the right.
    if to_none && set(resource, None, None).is_ok() {
        return Ok(());
    }
    set(resource, most, most)
}

/// Sets soft and hard limits, as far as they do not exceed the hard limits that
/// are there: an operator's own, lower one stays.
pub(crate) fn limit(limits: &[(Resource, (u64, u64))]) -> Result<()> {
    for &(resource, (soft, hard)) in limits {
        let most = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        set(resource, Some(soft.min(most)), Some(hard.min(most)))?;
    }
    Ok(())
}

fn set(
    resource: Resource,
    current: Option<u64>,
    maximum: Option<u64>,
) -> Result<()> {
    setrlimit(resource, Rlimit { current, maximum }).map_err(|error| {
        SandboxError::new(format!("set limit {resource:?}"), error.into())
    })
}
