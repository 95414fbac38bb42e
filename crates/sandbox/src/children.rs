//! Children that have ended: reaped, or looked at.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;

use libc::pid_t;
use rustix::process::{
    Pid, WaitId, WaitIdOptions, WaitOptions, waitid, waitpid,
};

/// A child that has ended.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Reaped {
    pub(crate) pid: pid_t,
    pub(crate) status: ExitStatus,
}

/// Waits for any child. `Ok(None)`: none has ended yet (only without `block`).
/// An error of ECHILD says that there is no child.
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

/// How a child ended, if it has. It is not reaped, which takes the kernel
/// longer.
pub(crate) fn status(pid: pid_t) -> io::Result<Option<ExitStatus>> {
    let options =
        WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    let Some(ended) = waitid(WaitId::Pid(known(pid)?), options)? else {
        return Ok(None);
    };
    // As wait(2) packs it.
    let core = if ended.dumped() { 0x80 } else { 0 };
    let raw = match (ended.exit_status(), ended.terminating_signal()) {
        (Some(code), _) => (code & 0xff) << 8,
        (None, signal) => signal.unwrap_or(0) | core,
    };
    Ok(Some(ExitStatus::from_raw(raw)))
}

/// Sends `signal` to one process.
pub(crate) fn kill(pid: pid_t, signal: libc::c_int) -> io::Result<()> {
    let signal = rustix::process::Signal::from_named_raw(signal)
        .ok_or(io::ErrorKind::InvalidInput)?;
    Ok(rustix::process::kill_process(known(pid)?, signal)?)
}

fn wait(pid: Option<Pid>, block: bool) -> io::Result<Option<Reaped>> {
    // Also those that end with another signal than SIGCHLD (clone(2)).
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

/// 0 and negative numbers are no process, but many.
fn known(pid: pid_t) -> io::Result<Pid> {
    if pid < 1 {
        return Err(io::Error::other("that names no one process"));
    }
    Pid::from_raw(pid).ok_or_else(|| io::ErrorKind::InvalidInput.into())
}

#[cfg(test)]
mod tests {
    use std::process::Command;

    use super::*;

    #[test]
    fn an_end_is_told_as_wait_tells_it() {
        let check = |script: &str, words: &str| {
            let mut child =
                Command::new("sh").args(["-c", script]).spawn().unwrap();
            let pid = child.id().cast_signed();
            let looked_at = loop {
                if let Some(status) = status(pid).unwrap() {
                    break status;
                }
                std::thread::yield_now();
            };
            assert_eq!(looked_at.to_string(), words, "{script}");
            // It was not reaped.
            assert_eq!(child.wait().unwrap(), looked_at, "{script}");
        };
        check("exit 0", "exit status: 0");
        check("exit 255", "exit status: 255");
        check("kill -KILL $$", "signal: 9 (SIGKILL)");
        check("kill -TERM $$", "signal: 15 (SIGTERM)");
    }
}
