//! The work of pid 1: it answers requests until the server is gone.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};

use super::context::BoxContext;
use super::programs::{
    Launcher, Programs, RunningProgram, are_left, leave_nothing,
};
use super::{compile_artifacts, inputs, left_files, mounts};
use crate::error::{During, Result, SandboxError};
use crate::protocol::{self, Ended, Program, Reply, Request, Run, Setup};
use crate::{BoxFile, CompileArtifact, sys};

/// Answers requests until the server closes the socket, or is gone, or a
/// launcher ends while it waits. The caller then ends, and with pid 1 the
/// kernel ends the whole box.
pub(super) fn serve(setup: &Setup, context: BoxContext<'_>) -> Result<()> {
    let programs = Programs::new(context).during("watch children")?;
    let mut served = Served {
        programs,
        context,
        waiting: Vec::new(),
        inodes: setup.inodes,
        has_run: false,
        are_dying: false,
    };
    // Side by side: detaching takes the kernel 0.1 ms.
    served.programs.fork_ahead();
    mounts::detach_old_root()?;
    while let Some((request, descriptors)) = served.receive()? {
        let reply = served.answer(request, descriptors)?;
        protocol::send(context.socket, &reply, &[])
            .during("answer the server")?;
    }
    Ok(())
}

/// The box, between requests.
struct Served<'a> {
    programs: Programs<'a>,
    context: BoxContext<'a>,
    /// The launchers that wait at their gates, in the order of preparing.
    waiting: Vec<Launcher>,
    /// Files and folders that the tmpfs may have.
    inodes: u64,
    /// Whether a program has run.
    has_run: bool,
    /// Whether what the last program left is killed, but not yet reaped.
    are_dying: bool,
}

impl Served<'_> {
    /// Waits for the next request and reads it. Returns `None` when the server
    /// is gone, and when a launcher ended before a program ran: the box is of no
    /// use without it.
    fn receive(&mut self) -> Result<Option<(Request<'static>, Vec<OwnedFd>)>> {
        let step = "receive a request";
        if !self.is_asked().during(step)? {
            return Ok(None);
        }
        protocol::receive(self.context.socket).during(step)
    }

    /// Waits until a request can be read. Returns `false` if a launcher ended
    /// before a program ran. Later the program may have killed it, and its end
    /// is that of its step.
    fn is_asked(&mut self) -> io::Result<bool> {
        loop {
            let children = self.programs.children();
            let mut ready = [
                PollFd::new(self.context.socket, PollFlags::IN),
                PollFd::new(children, PollFlags::IN),
            ];
            rustix::io::retry_on_intr(|| poll(&mut ready, None))?;
            let [is_asked, has_ended] =
                ready.map(|descriptor| !descriptor.revents().is_empty());
            // First: a launcher that has ended must not get a request.
            if has_ended
                && self.programs.reap(&mut self.waiting)?
                && !self.has_run
            {
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
                Err(SandboxError::other("setup", "the box stands already"))
            }
            Request::Prepare(command) => {
                let mut launcher =
                    self.programs.start_with_gate(&command, descriptors)?;
                self.programs
                    .wait_until_prepared(&mut launcher, &mut self.waiting)?;
                self.waiting.push(launcher);
                Ok(Reply::Prepared)
            }
            Request::Run(run) => self.run(run, descriptors).map(Reply::Ended),
            // No process may change files while they are read: those that the
            // program left have been killed and reaped.
            Request::ReadFiles(spec) => {
                Ok(Reply::Files(left_files::read(&spec)))
            }
        }
    }

    fn run(&mut self, run: Run<'_>, streams: Vec<OwnedFd>) -> Result<Ended> {
        let asked = Instant::now();
        let Run {
            files, compile_artifacts, kill_launchers, program, gate, ..
        } = run;
        let Run { artifacts_writable, keep_compile_artifacts, .. } = run;
        if kill_launchers > 0 {
            self.waiting.drain(..kill_launchers.min(self.waiting.len()));
            self.leave_nothing()?;
        }
        self.write_inputs(&files, &compile_artifacts)?;
        // The program may use all memory that the box has left.
        drop((files, compile_artifacts));
        let inputs_time = asked.elapsed();
        if artifacts_writable {
            mounts::cover_artifacts()?;
        }
        let started = Instant::now();
        self.has_run = true;
        let running = self.start(program, gate, streams)?;
        let status = self.programs.wait_for(&running, &mut self.waiting)?;
        let wall_time = started.elapsed();
        if artifacts_writable || !self.waiting.is_empty() {
            self.leave_nothing()?;
        } else if are_left()? {
            // From here on these processes do nothing. The answer need not
            // wait until the kernel has freed their memory, which takes 10 ms
            // for a database.
            sys::kill_all().during("kill what the program left")?;
            self.are_dying = true;
        }
        if artifacts_writable {
            mounts::uncover_artifacts()?;
        }
        let compile_artifacts = match keep_compile_artifacts {
            Some(max_bytes) if status.success() => {
                compile_artifacts::read(max_bytes)
            }
            _ => None,
        };
        Ok(Ended {
            compile_artifacts,
            status: status.into_raw(),
            inputs_micros: micros(inputs_time),
            wall_micros: micros(wall_time),
            others_wait: !self.waiting.is_empty(),
        })
    }

    /// Starts a program, or lets the first launcher that waits go on.
    fn start(
        &mut self,
        program: Program,
        gate: Option<String>,
        streams: Vec<OwnedFd>,
    ) -> Result<RunningProgram> {
        match (program, gate) {
            (Program::New(command), None) => {
                self.programs.start(&command, streams)
            }
            (Program::New(command), Some(text)) => self
                .programs
                .start_with_gate(&command, streams)?
                .open_gate(&text),
            (Program::Prepared, text) => {
                self.take_prepared()?.open_gate(&text.unwrap_or_default())
            }
        }
    }

    /// Writes the files of a command, with the program's rights.
    fn write_inputs(
        &mut self,
        files: &[BoxFile],
        compile_artifacts: &[CompileArtifact],
    ) -> Result<()> {
        if files.is_empty() && compile_artifacts.is_empty() {
            return Ok(());
        }
        let BoxContext { tree, user_namespace, .. } = self.context;
        // Beside the files that the program may make.
        self.inodes += inputs::inodes(files, compile_artifacts);
        tree.limit_inodes(self.inodes)?;
        inputs::as_program(user_namespace, || {
            inputs::write(files, compile_artifacts, tree)
        })
    }

    fn leave_nothing(&mut self) -> Result<()> {
        self.are_dying = false;
        leave_nothing(&mut self.waiting)
    }

    fn take_prepared(&mut self) -> Result<Launcher> {
        if self.waiting.is_empty() {
            let reason = "no launcher waits";
            return Err(SandboxError::other("open the gate", reason));
        }
        Ok(self.waiting.remove(0))
    }
}

fn micros(time: Duration) -> u64 {
    u64::try_from(time.as_micros()).unwrap_or(u64::MAX)
}
