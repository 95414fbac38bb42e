//! Pid 1's work: takes requests until the server is gone.

use std::borrow::Cow;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use libc::sock_filter;
use rustix::event::{PollFd, PollFlags, poll};
use serde_bytes::ByteBuf;

use super::files::as_program;
use super::mounts::{self, Tree};
use super::programs::{Programs, Waiting, are_left, leave_nothing};
use super::{artifacts, files, report};
use crate::error::{During, Result, SandboxError};
use crate::protocol::{self, Ended, Program, Reply, Request, Run, Setup};
use crate::{Artifact, BoxFile, sys};

/// Serves until the server closes the socket or is gone. The caller then ends,
/// and with pid 1 the kernel ends the whole box.
pub(super) fn serve(
    socket: &UnixStream,
    setup: &Setup,
    tree: &Tree,
    seccomp: &'static [sock_filter],
) -> io::Result<()> {
    let mut programs = Programs::new(socket, setup.user_namespace, seccomp)?;
    // The server hears meanwhile that the box stands.
    let let_go = programs
        .fork_ahead(mounts::OLD_ROOT)
        .and_then(|()| Ok(rustix::process::chdir("/")?))
        .during("let go of the host's tree");
    let_go.map_err(|error| report(socket, error))?;
    if let Some(programs) = &setup.ahead {
        // Nothing depends on either.
        let _ = rehearse();
        mounts::look_up(programs);
    }
    let waiting = Vec::new();
    let inodes = setup.inodes;
    let are_dying = false;
    let mut served =
        Served { programs, setup, tree, waiting, inodes, are_dying };
    while served.is_asked(socket)? {
        let Some((request, descriptors)) = protocol::receive(socket)? else {
            break;
        };
        match served.answer(request, descriptors) {
            Ok(reply) => protocol::send(socket, &reply, &[])?,
            Err(error) => return Err(report(socket, error)),
        }
    }
    Ok(())
}

/// Hears a request, of no effect: every page of a fork that is read is mapped
/// first, and every page that is written to is copied, and that then happens
/// while nobody waits.
fn rehearse() -> io::Result<()> {
    let file = BoxFile { path: "a".repeat(8), content: "a".repeat(8 << 10) };
    let artifact = Artifact {
        path: "a".repeat(8),
        mode: 0,
        content: Some(ByteBuf::from(vec![1; 8 << 10])),
    };
    let run = Run {
        files: Cow::Owned(vec![file]),
        artifacts: Cow::Owned(vec![artifact]),
        give_up: 0,
        program: Program::Prepared,
        gate: None,
        artifacts_writable: false,
        keep_artifacts: None,
    };
    let (near, far) = UnixStream::pair()?;
    // Nobody reads while it writes.
    near.set_nonblocking(true)?;
    far.set_nonblocking(true)?;
    protocol::send(&near, &Request::Run(run), &[])?;
    protocol::receive::<Request<'_>>(&far)?;
    // The clock has pages of its own.
    let _ = Instant::now().elapsed();
    Ok(())
}

/// The box, between requests.
struct Served<'a> {
    programs: Programs<'a>,
    setup: &'a Setup,
    tree: &'a Tree,
    /// The launchers that wait at their gates, in the order of preparing.
    waiting: Vec<Waiting>,
    /// How many inodes the tmpfs may have.
    inodes: u64,
    /// Whether what the last program left is killed, but not yet reaped.
    are_dying: bool,
}

impl Served<'_> {
    /// Waits for the next request. `false` when a launcher ended instead: a
    /// box in which one is missing is of no use.
    fn is_asked(&mut self, socket: &UnixStream) -> io::Result<bool> {
        loop {
            let children = self.programs.children();
            let mut ready = [
                PollFd::new(socket, PollFlags::IN),
                PollFd::new(children, PollFlags::IN),
            ];
            rustix::io::retry_on_intr(|| poll(&mut ready, None))?;
            let [is_asked, has_ended] =
                ready.map(|descriptor| !descriptor.revents().is_empty());
            // First: a request must not meet a launcher that has ended.
            if has_ended && self.programs.reap(&self.waiting)? {
                return Ok(false);
            }
            if is_asked {
                return Ok(true);
            }
        }
    }

    fn answer(
        &mut self,
        request: Request<'_>,
        descriptors: Vec<OwnedFd>,
    ) -> Result<Reply> {
        if self.are_dying {
            self.leave_nothing()?;
        }
        match request {
            Request::Setup(_) => {
                Err(SandboxError::other("setup", "the box already stands"))
            }
            Request::Prepare(command) => {
                let launcher =
                    self.programs.start_with_gate(command, descriptors)?;
                self.programs.wait_until_prepared(&launcher, &self.waiting)?;
                self.waiting.push(launcher);
                Ok(Reply::Prepared)
            }
            Request::Run(run) => self.run(run, descriptors).map(Reply::Ended),
        }
    }

    fn run(&mut self, run: Run<'_>, streams: Vec<OwnedFd>) -> Result<Ended> {
        let asked = Instant::now();
        let Run { files, artifacts, give_up, program, gate, .. } = run;
        let Run { artifacts_writable, keep_artifacts, .. } = run;
        if give_up > 0 {
            self.waiting.drain(..give_up.min(self.waiting.len()));
            self.leave_nothing()?;
        }
        self.fill(&files, &artifacts)?;
        // What the program may use is what the box has left.
        drop((files, artifacts));
        let fill_time = asked.elapsed();
        if artifacts_writable {
            mounts::cover_artifacts()?;
        }
        let mut started = Instant::now();
        let running = match (program, gate) {
            (Program::New(command), None) => {
                self.programs.start(command, streams)?
            }
            (Program::New(command), Some(text)) => {
                let launcher =
                    self.programs.start_with_gate(command, streams)?;
                launcher.open_gate(&text)?
            }
            (Program::Prepared, text) => {
                let launcher = self.take_prepared()?;
                started = Instant::now();
                launcher.open_gate(&text.unwrap_or_default())?
            }
        };
        let status = self.programs.wait_for(&running, &mut self.waiting)?;
        let wall_time = started.elapsed();
        if artifacts_writable || !self.waiting.is_empty() {
            self.leave_nothing()?;
        } else if are_left()? {
            // From here on nothing of it does anything. The answer need not
            // wait for the kernel to take its memory back, which is 10 ms
            // for a database.
            sys::kill_all().during("kill what the program left")?;
            self.are_dying = true;
        }
        if artifacts_writable {
            mounts::uncover_artifacts()?;
        }
        let artifacts = match keep_artifacts {
            Some(most) if status.success() => artifacts::read(most),
            _ => None,
        };
        Ok(Ended {
            artifacts,
            status: status.into_raw(),
            fill_micros: micros(fill_time),
            wall_micros: micros(wall_time),
            others_wait: !self.waiting.is_empty(),
        })
    }

    /// Writes what came with a command, as the program.
    fn fill(
        &mut self,
        files: &[BoxFile],
        artifacts: &[Artifact],
    ) -> Result<()> {
        if files.is_empty() && artifacts.is_empty() {
            return Ok(());
        }
        // Room for it, beside what the program may make.
        self.inodes += files::inodes(files) + artifacts.len() as u64;
        self.tree.allow(self.inodes)?;
        as_program(self.setup.user_namespace, || {
            files::write(files, self.tree.files.as_fd())?;
            artifacts::write(artifacts, self.tree.artifacts.as_fd())
        })
    }

    fn leave_nothing(&mut self) -> Result<()> {
        self.are_dying = false;
        leave_nothing(&mut self.waiting)
    }

    fn take_prepared(&mut self) -> Result<Waiting> {
        if self.waiting.is_empty() {
            let reason = "no launcher waits there";
            return Err(SandboxError::other("open the gate", reason));
        }
        Ok(self.waiting.remove(0))
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_request_can_be_rehearsed() {
        super::rehearse().unwrap();
    }
}
