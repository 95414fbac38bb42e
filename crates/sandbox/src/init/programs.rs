//! The processes of a box, seen from pid 1: started, prepared, waited for,
//! reaped, and killed.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitStatus;

use libc::{pid_t, sock_filter};
use rustix::event::{PollFd, PollFlags, poll};

use super::exec;
use crate::error::{During, Result, SandboxError};
use crate::protocol::{Command, UserNamespace};
use crate::sys::{self, Fork};

/// Starts and reaps the programs of a box.
pub(super) struct Programs<'a> {
    socket: &'a UnixStream,
    user_namespace: UserNamespace,
    seccomp: &'a [sock_filter],
    /// Readable when a child has ended.
    children: OwnedFd,
}

/// A launcher at its gate.
pub(super) struct Waiting {
    pid: pid_t,
    gate: UnixStream,
}

/// A program that has all it needs.
pub(super) struct Running {
    pid: pid_t,
    /// Open until the end: where the submission came first, a launcher tells
    /// that it is prepared when nobody listens, and that must not fail.
    _gate: Option<UnixStream>,
}

impl<'a> Programs<'a> {
    pub(super) fn new(
        socket: &'a UnixStream,
        user_namespace: UserNamespace,
        seccomp: &'a [sock_filter],
    ) -> io::Result<Self> {
        sys::block_signals(&[libc::SIGCHLD])?;
        let children = sys::signal_fd(&[libc::SIGCHLD])?;
        Ok(Self { socket, user_namespace, seccomp, children })
    }

    /// Readable when a child has ended, until [`Programs::reap`].
    pub(super) fn children(&self) -> &OwnedFd {
        &self.children
    }

    /// Reaps what has ended; whether a launcher of `waiting` was among it.
    pub(super) fn reap<'b>(
        &self,
        waiting: impl IntoIterator<Item = &'b Waiting>,
    ) -> io::Result<bool> {
        let waiting: Vec<pid_t> = waiting.into_iter().map(|w| w.pid).collect();
        drain(&self.children);
        let mut is_missed = false;
        loop {
            match sys::wait_any(false) {
                Ok(Some(reaped)) => {
                    is_missed |= waiting.contains(&reaped.pid);
                }
                Ok(None) => return Ok(is_missed),
                Err(error) if is_childless(&error) => return Ok(is_missed),
                Err(error) => return Err(error),
            }
        }
    }

    /// Starts a program; an error when it could not be.
    pub(super) fn start(
        &self,
        command: &Command,
        streams: Vec<OwnedFd>,
    ) -> Result<Running> {
        let pid = self.spawn(command, streams, None)?;
        Ok(Running { pid, _gate: None })
    }

    /// The same for a launcher that prepares.
    pub(super) fn start_with_gate(
        &self,
        command: &Command,
        streams: Vec<OwnedFd>,
    ) -> Result<Waiting> {
        let (gate, far) = UnixStream::pair().during("make a gate")?;
        let pid = self.spawn(command, streams, Some(far.as_fd()))?;
        Ok(Waiting { pid, gate })
    }

    fn spawn(
        &self,
        command: &Command,
        streams: Vec<OwnedFd>,
        gate: Option<BorrowedFd<'_>>,
    ) -> Result<pid_t> {
        // Closed by a successful execve: then nothing comes out of it.
        let (failure, failed) =
            rustix::pipe::pipe_with(rustix::pipe::PipeFlags::CLOEXEC)
                .during("make pipe")?;
        match sys::fork().during("fork the program")? {
            Fork::Child => {
                let error = exec::become_program(
                    command,
                    &streams,
                    gate,
                    self.user_namespace,
                    self.seccomp,
                );
                // Init reads the end of the pipe in any case.
                let _ =
                    File::from(failed).write_all(error.to_string().as_bytes());
                sys::exit_now(127)
            }
            Fork::Parent(child) => {
                drop(failed);
                drop(streams);
                let mut reason = String::new();
                File::from(failure)
                    .read_to_string(&mut reason)
                    .during("start the program")?;
                if reason.is_empty() {
                    Ok(child)
                } else {
                    Err(SandboxError::other("start the program", reason))
                }
            }
        }
    }

    /// Waits until the launcher tells that it only lacks its submission.
    /// One of those that wait already may end meanwhile.
    pub(super) fn wait_until_prepared(
        &self,
        launcher: &Waiting,
        waiting: &[Waiting],
    ) -> Result<()> {
        let step = "prepare";
        loop {
            let mut ready = [
                PollFd::new(&launcher.gate, PollFlags::IN),
                PollFd::new(&self.children, PollFlags::IN),
                PollFd::new(self.socket, PollFlags::IN),
            ];
            rustix::io::retry_on_intr(|| poll(&mut ready, None))
                .during(step)?;
            if !ready[0].revents().is_empty() {
                return match (&launcher.gate).read(&mut [0]).during(step)? {
                    1 => Ok(()),
                    _ => Err(SandboxError::other(step, "the launcher ended")),
                };
            }
            if !ready[2].revents().is_empty() {
                return Err(SandboxError::other(step, "the server is gone"));
            }
            let ended = self.reap(waiting.iter().chain([launcher]));
            if ended.during(step)? {
                return Err(SandboxError::other(step, "the launcher ended"));
            }
        }
    }

    /// Waits for the program, reaping whatever else ends meanwhile. Where one
    /// of the launchers that wait does, `waiting` is empty afterwards.
    pub(super) fn wait_for(
        &self,
        program: &Running,
        waiting: &mut Vec<Waiting>,
    ) -> Result<ExitStatus> {
        let step = "wait for the program";
        loop {
            while let Some(reaped) = sys::wait_any(false).during(step)? {
                if reaped.pid == program.pid {
                    return Ok(reaped.status);
                }
                if waiting.iter().any(|other| other.pid == reaped.pid) {
                    waiting.clear();
                }
            }
            let mut ready = [
                PollFd::new(&self.children, PollFlags::IN),
                PollFd::new(self.socket, PollFlags::IN),
            ];
            rustix::io::retry_on_intr(|| poll(&mut ready, None))
                .during(step)?;
            // The server says nothing while a command runs: this is its end.
            if !ready[1].revents().is_empty() {
                return Err(SandboxError::other(step, "the server is gone"));
            }
            drain(&self.children);
        }
    }
}

impl Waiting {
    /// Lets the launcher go on with its submission.
    pub(super) fn open_gate(self, text: &str) -> Result<Running> {
        let step = "open the gate";
        match (&self.gate).write_all(text.as_bytes()) {
            // It has ended, which its status tells.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            written => {
                written.during(step)?;
                self.gate.shutdown(Shutdown::Write).during(step)?;
            }
        }
        Ok(Running { pid: self.pid, _gate: Some(self.gate) })
    }
}

/// Kills and reaps every process of the box, but for the launchers that wait.
/// When others come faster than they can be killed, these end with them.
pub(super) fn leave_nothing(waiting: &mut Vec<Waiting>) -> Result<()> {
    /// More than programs need that do not resist.
    const ROUNDS: usize = 20;
    let step = "kill what the program left";
    if !waiting.is_empty() {
        for _ in 0..ROUNDS {
            let others = others(waiting).during(step)?;
            if others.is_empty() {
                return Ok(());
            }
            // All of them first: they die side by side.
            for &pid in &others {
                kill(pid).during(step)?;
            }
            for pid in others {
                reap(pid).during(step)?;
            }
        }
        waiting.clear();
    }
    loop {
        sys::kill_all().during(step)?;
        match sys::wait_any(true) {
            Ok(_) => {}
            Err(error) if is_childless(&error) => return Ok(()),
            Err(error) => return Err(SandboxError::new(step, error)),
        }
    }
}

/// Every process of the box but pid 1 and those that wait.
fn others(waiting: &[Waiting]) -> io::Result<Vec<pid_t>> {
    let mut others = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        // What is no number is no process.
        let pid = name.to_str().and_then(|name| name.parse().ok());
        others.extend(pid.filter(|&pid| {
            pid != 1 && waiting.iter().all(|launcher| launcher.pid != pid)
        }));
    }
    Ok(others)
}

fn kill(pid: pid_t) -> io::Result<()> {
    match sys::kill(pid, libc::SIGKILL) {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        killed => killed,
    }
}

/// Waits for a process that was killed, where it is a child of pid 1 by now;
/// else its parent ends as well, and a later look finds it.
fn reap(pid: pid_t) -> io::Result<()> {
    match sys::wait_for(pid) {
        Err(error) if !is_childless(&error) => Err(error),
        _ => Ok(()),
    }
}

fn is_childless(error: &io::Error) -> bool {
    error.raw_os_error() == Some(libc::ECHILD)
}

/// Empties the signal descriptor, so that it waits for the next signal.
fn drain(descriptor: &OwnedFd) {
    let mut buffer = [0; 128 * 4];
    // Nothing to read (EAGAIN) is what is wanted.
    let _ = rustix::io::read(descriptor.as_fd(), &mut buffer);
}
