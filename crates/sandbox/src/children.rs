//! Waiting for children, and killing processes.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use libc::pid_t;
use rustix::process::{Pid, WaitOptions, waitpid};

/// A child that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reaped {
    pub(crate) pid: pid_t,
    pub(crate) status: ExitStatus,
}

/// Waits for any child. Returns `Ok(None)` without `block` if none has ended
/// yet, and the error ECHILD if there is no child.
pub(crate) fn wait_any(block: bool) -> io::Result<Option<Reaped>> {
    wait(None, block)
}

/// Waits for one child to end.
pub(crate) fn wait_for(pid: pid_t) -> io::Result<ExitStatus> {
    loop {
        match wait(Some(known(pid)?), true) {
            Ok(Some(reaped)) => return Ok(reaped.status),
            Ok(None) => {}
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// Sends `signal` to one process.
pub(crate) fn kill(pid: pid_t, signal: libc::c_int) -> io::Result<()> {
    let signal = rustix::process::Signal::from_named_raw(signal)
        .ok_or(io::ErrorKind::InvalidInput)?;
    Ok(rustix::process::kill_process(known(pid)?, signal)?)
}

fn wait(pid: Option<Pid>, block: bool) -> io::Result<Option<Reaped>> {
    // Without __WALL, children that end with another signal than SIGCHLD would
    // not be found (clone(2)).
    let mut options =
        WaitOptions::from_bits_retain(libc::__WALL.cast_unsigned());
    options.set(WaitOptions::NOHANG, !block);
    let reaped = match pid {
        Some(pid) => waitpid(Some(pid), options)?,
        None => rustix::process::wait(options)?,
    };
    let reaped = reaped.map(|(pid, status)| Reaped {
        pid: pid.as_raw_pid(),
        status: ExitStatus::from_raw(status.as_raw()),
    });
    Ok(reaped)
}

/// Refuses 0 and negative numbers, which stand for many processes.
fn known(pid: pid_t) -> io::Result<Pid> {
    if pid < 1 {
        return Err(io::Error::other("the number does not name one process"));
    }
    Pid::from_raw(pid).ok_or_else(|| io::ErrorKind::InvalidInput.into())
}
