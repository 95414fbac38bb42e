//! Pid 1's work: takes requests, runs commands, reaps, and leaves nothing of
//! a command behind.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::Instant;

use libc::{pid_t, sock_filter};
use rustix::event::{PollFd, PollFlags, poll};

use super::{exec, files, mounts, report};
use crate::error::{During, Result, SandboxError};
use crate::protocol::{self, Command, Ended, Reply, Request, Setup};
use crate::sys::{self, Fork};

/// Serves until the server closes the socket or is gone. The caller then ends,
/// and with pid 1 the kernel ends the whole box.
pub(super) fn serve(socket: &UnixStream, setup: &Setup) -> io::Result<()> {
    let seccomp: Vec<_> = setup
        .seccomp
        .iter()
        .map(|&(code, jt, jf, k)| sock_filter { code, jt, jf, k })
        .collect();
    sys::block_signals(&[libc::SIGCHLD])?;
    let children = sys::signal_fd(&[libc::SIGCHLD])?;
    while let Some((request, descriptors)) = protocol::receive(socket)? {
        let reply = match request {
            Request::Setup(_) => {
                Err(SandboxError::other("setup", "the box already stands"))
            }
            Request::Files(list) => files::write(&list, setup.user_namespace)
                .map(|()| Reply::Written),
            Request::Run(command) => {
                let inside = Inside { socket, setup, children: &children };
                inside.run(&command, descriptors, &seccomp).map(Reply::Ended)
            }
        };
        match reply {
            Ok(reply) => protocol::send(socket, &reply, &[])?,
            Err(error) => return Err(report(socket, error)),
        }
    }
    Ok(())
}

/// What a command needs of the box.
struct Inside<'a> {
    socket: &'a UnixStream,
    setup: &'a Setup,
    /// Readable when a child has ended.
    children: &'a OwnedFd,
}

impl Inside<'_> {
    fn run(
        &self,
        command: &Command,
        streams: Vec<OwnedFd>,
        seccomp: &[sock_filter],
    ) -> Result<Ended> {
        if command.artifacts_writable {
            mounts::cover_artifacts()?;
        }
        let started = Instant::now();
        let child = self.start(command, streams, seccomp)?;
        let status = self.wait_for(child)?;
        let wall_micros = started.elapsed().as_micros();
        leave_nothing()?;
        if command.artifacts_writable {
            mounts::uncover_artifacts()?;
        }
        Ok(Ended {
            status: status.into_raw(),
            wall_micros: u64::try_from(wall_micros).unwrap_or(u64::MAX),
        })
    }

    /// Starts the program; an error when it could not be.
    fn start(
        &self,
        command: &Command,
        streams: Vec<OwnedFd>,
        seccomp: &[sock_filter],
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
                    self.setup.user_namespace,
                    seccomp,
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

    /// Waits for the program, reaping whatever else ends meanwhile.
    fn wait_for(&self, child: pid_t) -> Result<ExitStatus> {
        let step = "wait for the program";
        loop {
            while let Some(reaped) = sys::wait_any(false).during(step)? {
                if reaped.pid == child {
                    return Ok(reaped.status);
                }
            }
            let mut ready = [
                PollFd::new(self.children, PollFlags::IN),
                PollFd::new(self.socket, PollFlags::IN),
            ];
            rustix::io::retry_on_intr(|| poll(&mut ready, None))
                .during(step)?;
            // The server says nothing while a command runs: this is its end.
            if !ready[1].revents().is_empty() {
                return Err(SandboxError::other(step, "the server is gone"));
            }
            drain(self.children);
        }
    }
}

/// Kills and reaps every process that a command left running.
fn leave_nothing() -> Result<()> {
    let step = "kill what the program left";
    loop {
        sys::kill_all().during(step)?;
        match sys::wait_any(true) {
            Ok(_) => {}
            Err(error) if error.raw_os_error() == Some(libc::ECHILD) => {
                return Ok(());
            }
            Err(error) => return Err(SandboxError::new(step, error)),
        }
    }
}

/// Empties the signal descriptor, so that it waits for the next signal.
fn drain(descriptor: &OwnedFd) {
    let mut buffer = [0; 128 * 4];
    // Nothing to read (EAGAIN) is what is wanted.
    let _ = rustix::io::read(descriptor.as_fd(), &mut buffer);
}
