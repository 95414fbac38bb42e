//! The processes of a box, seen from pid 1: forked, given a command, waited
//! for, reaped and killed.

use std::fs;
use std::io::{self, Read, Write};
use std::net::Shutdown;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::ExitStatus;

use libc::{c_int, pid_t};
use rustix::event::{PollFd, PollFlags, poll};

use super::context::BoxContext;
use super::exec;
use crate::children;
use crate::error::{During, Result, SandboxError};
use crate::protocol::{self, ExecSpec, SerializedError};
use crate::sys::{self, Fork};

/// Starts and reaps the programs of a box.
pub(super) struct Programs<'a> {
    context: BoxContext<'a>,
    /// The process of the next program, if it was forked already.
    next: Option<Process>,
    /// Readable when a child has ended.
    children: OwnedFd,
}

/// A process that becomes a program when its command comes.
struct Process {
    pid: pid_t,
    /// Pid 1 sends the command there. Execve closes the other end. If the
    /// process cannot become the program, it first sends the reason.
    channel: UnixStream,
}

/// A launcher that waits at its gate.
pub(super) struct Launcher {
    process: Process,
    gate: UnixStream,
    /// Its end, if it was reaped while it waited.
    ended: Option<ExitStatus>,
}

/// A program that has all it needs.
pub(super) struct RunningProgram {
    process: Process,
    /// Stays open until the end. A launcher whose submission came first still
    /// writes that it is prepared, and this write must not fail.
    _gate: Option<UnixStream>,
    /// Its end, if it was reaped already.
    ended: Option<ExitStatus>,
}

impl<'a> Programs<'a> {
    pub(super) fn new(context: BoxContext<'a>) -> io::Result<Self> {
        sys::block_signals(&[libc::SIGCHLD])?;
        let children = sys::signal_fd(&[libc::SIGCHLD])?;
        Ok(Self { context, next: None, children })
    }

    /// Forks the process of the first program, so that it gives up its rights
    /// while nobody waits for it.
    pub(super) fn fork_ahead(&mut self) {
        // After a failure the first command forks again, and its answer
        // reports why that failed.
        self.next = self.fork().ok();
    }

    /// Returns a descriptor that is readable when a child has ended, until
    /// [`Programs::reap`].
    pub(super) fn children(&self) -> &OwnedFd {
        &self.children
    }

    /// Reaps all children that have ended. Returns whether a launcher of
    /// `waiting` was among them, and notes its end there.
    pub(super) fn reap<'b>(
        &mut self,
        waiting: impl IntoIterator<Item = &'b mut Launcher>,
    ) -> io::Result<bool> {
        let mut waiting: Vec<_> = waiting.into_iter().collect();
        drain(&self.children);
        let mut is_missed = false;
        loop {
            match children::wait_any(false) {
                Ok(Some(reaped)) => {
                    let mut all = waiting.iter_mut();
                    if let Some(one) = all.find(|w| w.is_process(reaped.pid)) {
                        one.ended = Some(reaped.status);
                        is_missed = true;
                    }
                    self.next.take_if(|next| next.pid == reaped.pid);
                }
                Ok(None) => return Ok(is_missed),
                Err(error) if is_childless(&error) => return Ok(is_missed),
                Err(error) => return Err(error),
            }
        }
    }

    /// Starts a program. [`Programs::wait_for`] reports an execve that failed.
    pub(super) fn start(
        &mut self,
        command: &ExecSpec,
        streams: Vec<OwnedFd>,
    ) -> Result<RunningProgram> {
        let process = self.spawn(command, streams)?;
        Ok(RunningProgram { process, _gate: None, ended: None })
    }

    /// Starts a launcher, which has a gate beside its streams.
    pub(super) fn start_with_gate(
        &mut self,
        command: &ExecSpec,
        mut streams: Vec<OwnedFd>,
    ) -> Result<Launcher> {
        let (gate, launchers_end) = UnixStream::pair().during("make a gate")?;
        streams.push(launchers_end.into());
        let process = self.spawn(command, streams)?;
        Ok(Launcher { process, gate, ended: None })
    }

    /// Gives the next process its command.
    fn spawn(
        &mut self,
        command: &ExecSpec,
        descriptors: Vec<OwnedFd>,
    ) -> Result<Process> {
        let process = self.next.take().map_or_else(|| self.fork(), Ok)?;
        let borrowed: Vec<_> = descriptors.iter().map(AsFd::as_fd).collect();
        match protocol::send(&process.channel, command, &borrowed) {
            Ok(()) => Ok(process),
            // It has failed before, and says why.
            Err(error) => process
                .wait_for_start()
                .and(Err(SandboxError::new("send the command", error))),
        }
    }

    fn fork(&self) -> Result<Process> {
        let step = "fork the program";
        let (channel, childs_end) = UnixStream::pair().during(step)?;
        match sys::fork().during(step)? {
            Fork::Child => exec::become_program(&childs_end, self.context),
            Fork::Parent(pid) => Ok(Process { pid, channel }),
        }
    }

    /// Waits until the launcher lacks only its submission. One of those in
    /// `waiting` may end meanwhile.
    pub(super) fn wait_until_prepared(
        &mut self,
        launcher: &mut Launcher,
        waiting: &mut [Launcher],
    ) -> Result<()> {
        let step = "prepare";
        loop {
            let mut ready = [
                PollFd::new(&launcher.gate, PollFlags::IN),
                PollFd::new(&self.children, PollFlags::IN),
                PollFd::new(self.context.socket, PollFlags::IN),
            ];
            rustix::io::retry_on_intr(|| poll(&mut ready, None))
                .during(step)?;
            if !ready[0].revents().is_empty() {
                return match (&launcher.gate).read(&mut [0]).during(step)? {
                    1 => Ok(()),
                    _ => launcher.process.wait_for_start().and_then(|()| {
                        Err(SandboxError::other(step, "the launcher ended"))
                    }),
                };
            }
            if !ready[2].revents().is_empty() {
                return Err(SandboxError::other(step, "the server is gone"));
            }
            let ended = self.reap(waiting.iter_mut().chain([&mut *launcher]));
            if ended.during(step)? {
                launcher.process.wait_for_start()?;
                return Err(SandboxError::other(step, "the launcher ended"));
            }
        }
    }

    /// Waits for the end of the program, and reaps whatever else ends
    /// meanwhile. If that is one of the launchers in `waiting`, the list is
    /// empty afterwards.
    pub(super) fn wait_for(
        &self,
        program: &RunningProgram,
        waiting: &mut Vec<Launcher>,
    ) -> Result<ExitStatus> {
        if let Some(status) = program.ended {
            return Ok(status);
        }
        let step = "wait for the program";
        loop {
            while let Some(reaped) = children::wait_any(false).during(step)? {
                if reaped.pid == program.process.pid {
                    program.process.wait_for_start()?;
                    return Ok(reaped.status);
                }
                if waiting.iter().any(|w| w.is_process(reaped.pid)) {
                    waiting.clear();
                }
            }
            let mut ready = [
                PollFd::new(&self.children, PollFlags::IN),
                PollFd::new(self.context.socket, PollFlags::IN),
            ];
            rustix::io::retry_on_intr(|| poll(&mut ready, None))
                .during(step)?;
            // The server sends nothing while a command runs: this is its end.
            if !ready[1].revents().is_empty() {
                return Err(SandboxError::other(step, "the server is gone"));
            }
            drain(&self.children);
        }
    }
}

/// Returns whether any process of the box is left. Each is a descendant of pid
/// 1: one that loses its parent becomes pid 1's child.
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

impl Process {
    /// Blocks until the process is its program, or has ended.
    ///
    /// # Errors
    /// It reported that it could not become its program.
    fn wait_for_start(&self) -> Result<()> {
        let step = "start the program";
        match protocol::receive::<SerializedError>(&self.channel) {
            // Nothing was left to read: execve closed the other end.
            Ok(None) => Ok(()),
            Ok(Some((report, _))) => Err(report.into_error(step)),
            Err(error) => Err(SandboxError::new(step, error)),
        }
    }
}

impl Launcher {
    /// Returns whether it has this pid, and was not reaped yet.
    fn is_process(&self, pid: pid_t) -> bool {
        self.process.pid == pid && self.ended.is_none()
    }

    /// Lets the launcher go on with its submission.
    pub(super) fn open_gate(self, text: &str) -> Result<RunningProgram> {
        let step = "open the gate";
        match (&self.gate).write_all(text.as_bytes()) {
            // It has ended, which its status will show.
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
            written => {
                written.during(step)?;
                self.gate.shutdown(Shutdown::Write).during(step)?;
            }
        }
        let Self { process, gate, ended } = self;
        Ok(RunningProgram { process, _gate: Some(gate), ended })
    }
}

/// Kills and reaps every process of the box except the launchers that wait, and
/// has these go on if they were stopped. They are killed too if other processes
/// are forked faster than they can be killed.
pub(super) fn leave_nothing(waiting: &mut Vec<Launcher>) -> Result<()> {
    /// More than is needed for programs that do not resist.
    const MAX_ROUNDS: usize = 20;
    let step = "kill what the program left";
    if !waiting.is_empty() {
        for _ in 0..MAX_ROUNDS {
            let others = others(waiting).during(step)?;
            if others.is_empty() {
                return go_on(waiting).during(step);
            }
            // All of them first: they die side by side.
            for &pid in &others {
                signal(pid, libc::SIGKILL).during(step)?;
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

/// Returns every process of the box except pid 1 and the launchers that wait.
fn others(waiting: &[Launcher]) -> io::Result<Vec<pid_t>> {
    let mut others = Vec::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        // Only the names of processes are numbers.
        let pid = name.to_str().and_then(|name| name.parse().ok());
        others.extend(pid.filter(|&pid| {
            pid != 1 && !waiting.iter().any(|w| w.is_process(pid))
        }));
    }
    Ok(others)
}

/// Has the launchers that wait go on. The kernel also drops a SIGSTOP that has
/// not taken effect yet (signal(7)), and nobody is left to send another.
fn go_on(waiting: &[Launcher]) -> io::Result<()> {
    let left = waiting.iter().filter(|launcher| launcher.ended.is_none());
    for launcher in left {
        signal(launcher.process.pid, libc::SIGCONT)?;
    }
    Ok(())
}

/// Signals a process, unless it is gone.
fn signal(pid: pid_t, signal: c_int) -> io::Result<()> {
    match children::kill(pid, signal) {
        Err(error) if error.raw_os_error() == Some(libc::ESRCH) => Ok(()),
        sent => sent,
    }
}

/// Waits for a process that was killed, if it is a child of pid 1 by now. If
/// not, its parent ends as well, and the next round finds it.
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
    // EAGAIN says that it is empty, which is the aim.
    let _ = rustix::io::read(descriptor.as_fd(), &mut buffer);
}
