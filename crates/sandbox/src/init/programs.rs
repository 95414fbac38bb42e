//! The processes of a box, seen from pid 1: started, prepared, waited for,
//! reaped, and killed.

use std::ffi::CStr;
use std::fs;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitStatus;

use libc::pid_t;
use rustix::event::{PollFd, PollFlags, poll};

use super::exec::{self, Around};
use super::told::{Heard, Told};
use crate::children;
use crate::error::{During, Result, SandboxError};
use crate::protocol::Command;
use crate::sys::{self, Turn, Twin};

/// Starts and reaps the programs of a box.
pub(super) struct Programs {
    around: Around,
    /// The process of the next program.
    ahead: Option<Forked>,
    /// Readable when a child has ended.
    children: OwnedFd,
}

/// A process that becomes a program. Until then it is in init's memory: to make
/// a copy of that, and to give it up, was 0.15 ms of a run.
struct Forked {
    twin: Twin,
    told: &'static Told,
}

/// A launcher at its gate.
pub(super) struct Waiting {
    forked: Forked,
    gate: UnixStream,
}

/// A program that has all it needs.
pub(super) struct Running {
    forked: Forked,
    /// Open until the end: where the submission came first, a launcher tells
    /// that it is prepared when nobody listens, and that must not fail.
    _gate: Option<UnixStream>,
}

impl Programs {
    pub(super) fn new(around: Around) -> io::Result<Self> {
        sys::block_signals(&[libc::SIGCHLD])?;
        let children = sys::signal_fd(&[libc::SIGCHLD])?;
        Ok(Self { around, ahead: None, children })
    }

    /// Starts the process of the first program, and meanwhile detaches a mount,
    /// which takes the kernel 0.1 ms. The process gives up all that a program
    /// must not have while nobody waits, and rehearses where the box is made
    /// ahead.
    pub(super) fn fork_ahead(
        &mut self,
        mount: &CStr,
        is_ahead: bool,
    ) -> io::Result<()> {
        let (forked, detached) = self.fork(Some(mount), is_ahead);
        // Where that fails it is tried again when there is somebody to tell.
        self.ahead = forked.ok();
        detached
    }

    /// Has the process that was started ahead hear the next request, where
    /// there is one.
    pub(super) fn hear(&mut self) -> Result<Option<Heard>> {
        let ahead = self.ahead.as_ref();
        let Some(ahead) = ahead.filter(|ahead| ahead.twin.is_here()) else {
            return Ok(None);
        };
        ahead.twin.go_on();
        ahead.told.take_back();
        if let Some(heard) = ahead.told.heard() {
            return Ok(Some(heard));
        }
        // Nothing where it was killed: the box ends, and how the socket does
        // tells whether it had read a request.
        ahead.told.failure().map_or(Ok(Some(Heard::Nothing)), Err)
    }

    /// The program that this process then became, where it began a run.
    pub(super) fn take_begun(&mut self) -> Result<Running> {
        let begun = self.ahead.take();
        let none = || SandboxError::other("go on with a run", "none has begun");
        Ok(Running { forked: begun.ok_or_else(none)?, _gate: None })
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
        let waiting: Vec<pid_t> = waiting
            .into_iter()
            .map(|launcher| launcher.forked.twin.pid)
            .collect();
        drain(&self.children);
        let mut is_missed = false;
        loop {
            match children::wait_any(false) {
                Ok(Some(reaped)) => {
                    is_missed |= waiting.contains(&reaped.pid);
                }
                Ok(None) => return Ok(is_missed),
                Err(error) if is_childless(&error) => return Ok(is_missed),
                Err(error) => return Err(error),
            }
        }
    }

    /// Starts a program. Why it could not become that is told by
    /// [`Programs::wait_for`].
    pub(super) fn start(
        &mut self,
        command: Command,
        streams: Vec<OwnedFd>,
    ) -> Result<Running> {
        let forked = self.spawn(command, streams)?;
        Ok(Running { forked, _gate: None })
    }

    /// The same for a launcher that prepares.
    pub(super) fn start_with_gate(
        &mut self,
        command: Command,
        mut streams: Vec<OwnedFd>,
    ) -> Result<Waiting> {
        let (gate, far) = UnixStream::pair().during("make a gate")?;
        streams.push(far.into());
        let forked = self.spawn(command, streams)?;
        Ok(Waiting { forked, gate })
    }

    /// Returns when it has become its program, or has failed.
    fn spawn(
        &mut self,
        command: Command,
        descriptors: Vec<OwnedFd>,
    ) -> Result<Forked> {
        let forked = match self.ahead.take() {
            Some(forked) if forked.twin.is_here() => forked,
            Some(forked) => {
                forked.failure()?;
                self.fork(None, false).0?
            }
            None => self.fork(None, false).0?,
        };
        forked.told.give(command, descriptors);
        forked.twin.go_on();
        forked.told.take_back();
        Ok(forked)
    }

    fn fork(
        &self,
        mount: Option<&CStr>,
        is_ahead: bool,
    ) -> (Result<Forked>, io::Result<()>) {
        let told: &'static Told = Box::leak(Box::default());
        let around = self.around;
        let act = move |turn: Turn| {
            exec::become_program(told, &turn, around, is_ahead);
            127
        };
        let (twin, detached) = sys::fork_twin(act, mount);
        let forked = twin.map(|twin| Forked { twin, told });
        (forked.during("fork the program"), detached)
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
                PollFd::new(self.around.socket, PollFlags::IN),
            ];
            rustix::io::retry_on_intr(|| poll(&mut ready, None))
                .during(step)?;
            if !ready[0].revents().is_empty() {
                return match (&launcher.gate).read(&mut [0]).during(step)? {
                    1 => Ok(()),
                    _ => launcher.forked.failure().and_then(|()| {
                        Err(SandboxError::other(step, "the launcher ended"))
                    }),
                };
            }
            if !ready[2].revents().is_empty() {
                return Err(SandboxError::other(step, "the server is gone"));
            }
            let ended = self.reap(waiting.iter().chain([launcher]));
            if ended.during(step)? {
                launcher.forked.failure()?;
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
            while let Some(reaped) = children::wait_any(false).during(step)? {
                if reaped.pid == program.forked.twin.pid {
                    program.forked.failure()?;
                    return Ok(reaped.status);
                }
                if waiting.iter().any(|w| w.forked.twin.pid == reaped.pid) {
                    waiting.clear();
                }
            }
            let mut ready = [
                PollFd::new(&self.children, PollFlags::IN),
                PollFd::new(self.around.socket, PollFlags::IN),
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

/// Whether any process of the box is left. Each is a descendant of pid 1: one
/// that loses its parent becomes pid 1's child.
pub(super) fn are_left() -> Result<bool> {
    loop {
        match children::wait_any(false) {
            Ok(Some(_)) => {}
            Ok(None) => return Ok(true),
            Err(error) if is_childless(&error) => return Ok(false),
            Err(error) => {
                return Err(SandboxError::new("look who is left", error));
            }
        }
    }
}

impl Forked {
    /// An error where it could not become its program. To be called when it
    /// has ended.
    fn failure(&self) -> Result<()> {
        self.told.failure().map_or(Ok(()), |error| {
            Err(SandboxError::other("start the program", error.to_string()))
        })
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
        Ok(Running { forked: self.forked, _gate: Some(self.gate) })
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
        match children::wait_any(true) {
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
            pid != 1
                && waiting
                    .iter()
                    .all(|launcher| launcher.forked.twin.pid != pid)
        }));
    }
    Ok(others)
}

fn kill(pid: pid_t) -> io::Result<()> {
    match children::kill(pid, libc::SIGKILL) {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        killed => killed,
    }
}

/// Waits for a process that was killed, where it is a child of pid 1 by now;
/// else its parent ends as well, and a later look finds it.
fn reap(pid: pid_t) -> io::Result<()> {
    match children::wait_for(pid) {
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
