//! Pid 1's work: takes requests until the server is gone.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};

use super::exec::Around;
use super::programs::{Programs, Running, Waiting, are_left, leave_nothing};
use super::told::{Begun, Heard};
use super::{artifacts, inputs, mounts, report};
use crate::error::{During, Result, SandboxError};
use crate::protocol::{self, Ended, Program, Reply, Request, Run, Setup};
use crate::{Artifact, BoxFile, sys};

/// Serves until the server closes the socket or is gone. The caller then ends,
/// and with pid 1 the kernel ends the whole box.
pub(super) fn serve(setup: &Setup, around: Around) -> io::Result<()> {
    let socket = around.socket;
    let mut programs = Programs::new(around)?;
    // The server hears meanwhile that the box stands.
    let let_go = programs
        .fork_ahead(mounts::OLD_ROOT, setup.ahead.is_some())
        .and_then(|()| Ok(rustix::process::chdir("/")?))
        .during("let go of the host's tree");
    let_go.map_err(|error| report(socket, error))?;
    if let Some(programs) = &setup.ahead {
        mounts::look_up(programs);
    }
    let mut served = Served {
        programs,
        around,
        waiting: Vec::new(),
        inodes: setup.inodes + mounts::INODES_AHEAD,
        unused_inodes: mounts::INODES_AHEAD,
        are_dying: false,
    };
    loop {
        let answer = match served.hear() {
            Ok(Heard::Nothing) => return Ok(()),
            Ok(Heard::Request(request, with)) => served.answer(request, with),
            Ok(Heard::Begun(begun)) => served.go_on(begun).map(Reply::Ended),
            Err(error) => Err(error),
        };
        match answer {
            Ok(reply) => protocol::send(socket, &reply, &[])?,
            Err(error) => return Err(report(socket, error)),
        }
    }
}

/// The box, between requests.
struct Served {
    programs: Programs,
    around: Around,
    /// The launchers that wait at their gates, in the order of preparing.
    waiting: Vec<Waiting>,
    /// How many inodes the tmpfs may have.
    inodes: u64,
    /// How many of them wait for what comes with commands.
    unused_inodes: u64,
    /// Whether what the last program left is killed, but not yet reaped.
    are_dying: bool,
}

impl Served {
    /// Waits for the next request. Nothing when a launcher ended instead: a
    /// box in which one is missing is of no use.
    fn hear(&mut self) -> Result<Heard> {
        let step = "hear a request";
        if let Some(heard) = self.programs.hear()? {
            return Ok(heard);
        }
        let socket = self.around.socket;
        if !self.is_asked().during(step)? {
            return Ok(Heard::Nothing);
        }
        Ok(match protocol::receive(socket).during(step)? {
            Some((request, with)) => Heard::Request(request, with),
            None => Heard::Nothing,
        })
    }

    /// Waits until there is one. `false` when a launcher ended.
    fn is_asked(&mut self) -> io::Result<bool> {
        loop {
            let children = self.programs.children();
            let mut ready = [
                PollFd::new(self.around.socket, PollFlags::IN),
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
            Request::Setup(_) | Request::Join(_) => {
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
        self.end(
            &running,
            Begun { fill_time, started, artifacts_writable, keep_artifacts },
        )
    }

    /// Goes on with a run that the process of its program began.
    fn go_on(&mut self, begun: Begun) -> Result<Ended> {
        let running = self.programs.take_begun()?;
        self.end(&running, begun)
    }

    /// Waits for the end of a run.
    fn end(&mut self, running: &Running, begun: Begun) -> Result<Ended> {
        let Begun { started, artifacts_writable, .. } = begun;
        // What no file of the first run took may be the program's by now.
        self.unused_inodes = 0;
        let status = self.programs.wait_for(running, &mut self.waiting)?;
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
        let artifacts = match begun.keep_artifacts {
            Some(most) if status.success() => artifacts::read(most),
            _ => None,
        };
        Ok(Ended {
            artifacts,
            status: status.into_raw(),
            fill_micros: micros(begun.fill_time),
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
        let Around { tree, user_namespace, .. } = self.around;
        // Room for it, beside what the program may make.
        let needed = inputs::inodes(files, artifacts);
        let missing = needed.saturating_sub(self.unused_inodes);
        if missing > 0 {
            self.inodes += missing;
            tree.allow(self.inodes)?;
        }
        inputs::as_program(user_namespace, || {
            inputs::write(files, artifacts, tree)
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
