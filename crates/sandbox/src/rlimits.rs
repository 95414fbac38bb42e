//! Limits of a process (getrlimit(2)): those of the server, and how to set one.

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

use crate::error::{Result, SandboxError};

/// Maximum bytes in the POSIX message queues of one box: the kernel's default.
pub const QUEUE_BYTES: u64 = 819_200;
/// Maximum number of queued signals of one box, timers included.
pub const QUEUED_SIGNALS: u64 = 1_024;

/// Maximum bytes of memory that a process may lock, charged as other memory: what
/// programs need that keep secrets out of swap, such as MongoDB's server.
pub(crate) const LOCKED_BYTES: u64 = 65_536;

/// The limit on core files at which the kernel starts no core handler. At every
/// other value, 0 included, it pipes a core to the handler that
/// `kernel.core_pattern` names (core(5)).
pub const NO_CORE: u64 = 1;

/// Raises the server's limits as far as its boxes need. Call it before a user
/// namespace is made. The kernel counts processes, queues and signals of all
/// boxes of a user together, and applies the limits that the maker of their
/// namespaces had.
pub(crate) fn raise_server_limits() -> Result<()> {
    let is_root = rustix::process::geteuid().is_root();
    // A server needs a dozen descriptors for each box and one for each
    // connection. The usual soft limit of 1,024 is for programs that use
    // select(2).
    raise(Resource::Nofile, false)?;
    for shared in [Resource::Nproc, Resource::Msgqueue, Resource::Sigpending] {
        raise(shared, is_root)?;
    }
    // This fails if the hard limit is lower and this process may not raise it.
    let is_set = set(Resource::Core, Some(NO_CORE), Some(NO_CORE)).is_ok();
    if !is_set && has_core_handler() {
        tracing::warn!(
            "the hard limit on core files is 0 and kernel.core_pattern names a \
             program: a crash in a box starts it on the host. Start the server \
             with a limit of 1 (ulimit -c 1, or LimitCORE=1 in its unit)"
        );
    }
    Ok(())
}

/// Returns whether the kernel pipes cores to a program of the host.
fn has_core_handler() -> bool {
    std::fs::read_to_string("/proc/sys/kernel/core_pattern")
        .is_ok_and(|pattern| pattern.starts_with('|'))
}

/// Raises a limit to the hard limit, or removes it if `to_none` is set and this
/// process may do so.
fn raise(resource: Resource, to_none: bool) -> Result<()> {
    let max = getrlimit(resource).maximum;
    // Root in a container may lack the right.
    if to_none && set(resource, None, None).is_ok() {
        return Ok(());
    }
    set(resource, max, max)
}

/// Sets soft and hard limits. A lower hard limit of the operator stays.
pub(crate) fn limit(limits: &[(Resource, (u64, u64))]) -> Result<()> {
    for &(resource, (soft, hard)) in limits {
        let max = getrlimit(resource).maximum.unwrap_or(u64::MAX);
        set(resource, Some(soft.min(max)), Some(hard.min(max)))?;
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
