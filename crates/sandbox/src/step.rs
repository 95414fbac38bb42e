//! One command in a live box: streams connected, limits watched, the first
//! thing that ends it told apart from all others.

use std::future::pending;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use tokio::io::{AsyncWriteExt, Interest};
use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::cgroup::{Group, OutOfMemory};
use crate::control::Control;
use crate::error::{During, Result, SandboxError};
use crate::live::Remains;
use crate::output;
use crate::protocol::{Command, Ended, Reply, Request};
use crate::{Outcome, StepSpec, Stop, sys};

/// Runs a command to its end, or kills the box when a limit is reached.
pub(crate) async fn run(
    control: &mut Control,
    remains: &Remains,
    spec: &StepSpec,
    processes: u32,
) -> Result<Outcome> {
    let (over, overflow) = watch::channel(false);
    let before = remains.group.cpu_time();
    let streams = start(control, spec, processes, over).await?;
    let started = Instant::now();
    let first = tokio::select! {
        // In this order: a program that ended in time has ended, whatever
        // else is true by now.
        biased;
        ended = hear_the_end(control) => First::Ended(ended),
        () = out_of_memory(&remains.group) => First::Limit(Stop::Memory),
        () = overflowed(overflow.clone()) => First::Limit(Stop::Output),
        () = cpu_time_spent(&remains.group, before, spec.cpu_time) => {
            First::Limit(Stop::CpuTime)
        }
        () = sleep(spec.wall_time) => First::Limit(Stop::WallTime),
    };
    let mut wall_time = started.elapsed();
    let killed_for_memory = || remains.group.killed_for_memory();
    let cpu_time = || {
        let now = remains.group.cpu_time();
        now.zip(before).map(|(now, before)| now.saturating_sub(before))
    };
    let stop = match first {
        First::Limit(stop) => {
            remains.kill_and_wait().await?;
            stop
        }
        First::Ended(Ok(ended)) => {
            wall_time = Duration::from_micros(ended.wall_micros);
            // Where nothing accounts for it, SIGXCPU is taken at its word.
            let spent = cpu_time().is_none_or(|used| used >= spec.cpu_time);
            stop_of(&ended, killed_for_memory(), spent)
        }
        // The kernel may have chosen init, or the whole group.
        First::Ended(Err(_)) if killed_for_memory() => {
            remains.kill_and_wait().await?;
            Stop::Memory
        }
        First::Ended(Err(error)) => {
            remains.kill();
            return Err(error);
        }
    };
    // Every process that could write to them is dead.
    let (stdout, stderr) = streams.finish().await?;
    let over = *overflow.borrow();
    let stop = match stop {
        Stop::Exited(_) | Stop::Signaled(_) if over => Stop::Output,
        stop => stop,
    };
    Ok(Outcome { stop, stdout, stderr, wall_time, cpu_time: cpu_time() })
}

/// What happened first.
enum First {
    Ended(Result<Ended>),
    Limit(Stop),
}

fn stop_of(
    ended: &Ended,
    killed_for_memory: bool,
    cpu_time_spent: bool,
) -> Stop {
    if killed_for_memory {
        return Stop::Memory;
    }
    let status = ExitStatus::from_raw(ended.status);
    match (status.code(), status.signal()) {
        (Some(code), _) => Stop::Exited(code),
        // The rlimit behind the group's accounting; a program can send itself
        // the signal too.
        (None, Some(libc::SIGXCPU)) if cpu_time_spent => Stop::CpuTime,
        (None, signal) => Stop::Signaled(signal.unwrap_or(0)),
    }
}

/// The tasks that carry a command's streams.
struct Streams {
    stdin: JoinHandle<()>,
    stdout: JoinHandle<Vec<u8>>,
    stderr: JoinHandle<Vec<u8>>,
    /// Tells the two above that nobody is left who could write.
    dead: watch::Sender<bool>,
}

impl Streams {
    /// What was written. To be called when no process of the command is left.
    async fn finish(mut self) -> Result<(Vec<u8>, Vec<u8>)> {
        let step = "collect the output";
        self.dead.send_replace(true);
        let stdout = (&mut self.stdout).await.during(step)?;
        let stderr = (&mut self.stderr).await.during(step)?;
        Ok((stdout, stderr))
    }
}

/// A command whose future was dropped: nobody reads its streams any more.
impl Drop for Streams {
    fn drop(&mut self) {
        self.stdin.abort();
        self.stdout.abort();
        self.stderr.abort();
    }
}

async fn start(
    control: &mut Control,
    spec: &StepSpec,
    processes: u32,
    over: watch::Sender<bool>,
) -> Result<Streams> {
    let (stdin, far_stdin) = output::incoming()?;
    let (stdout, far_stdout) = output::outgoing()?;
    let (stderr, far_stderr) = output::outgoing()?;
    let command = Command {
        command: spec.command.clone(),
        environment: spec.environment.clone(),
        artifacts_writable: spec.artifacts_writable,
        cpu_seconds: spec.cpu_time.as_secs() + 1,
        processes: u64::from(processes),
        file_bytes: spec.file_bytes,
        open_files: spec.open_files,
    };
    let far = [far_stdin.as_fd(), far_stdout.as_fd(), far_stderr.as_fd()];
    control.send(&Request::Run(command), &far).await?;
    let (tell_dead, dead) = watch::channel(false);
    let capture = |stream, over| {
        let cap = spec.output_bytes;
        tokio::spawn(output::capture(stream, cap, over, dead.clone()))
    };
    Ok(Streams {
        stdin: tokio::spawn(feed(stdin, spec.stdin.clone())),
        stdout: capture(stdout, over.clone()),
        stderr: capture(stderr, over),
        dead: tell_dead,
    })
}

/// Writes all of stdin and closes it. A program that does not read it, or has
/// ended, is no failure.
async fn feed(mut stdin: pipe::Sender, bytes: Vec<u8>) {
    let _ = stdin.write_all(&bytes).await;
}

async fn hear_the_end(control: &mut Control) -> Result<Ended> {
    match control.receive().await? {
        (Reply::Ended(ended), _) => Ok(ended),
        _ => Err(SandboxError::other("hear from init", "expected an end")),
    }
}

/// Resolves when either stream went over its cap.
async fn overflowed(mut overflow: watch::Receiver<bool>) {
    if overflow.wait_for(|&over| over).await.is_err() {
        // Both streams ended within their caps.
        pending::<()>().await;
    }
}

/// Resolves when the kernel tells that the box is out of memory; never where
/// it cannot tell.
async fn out_of_memory(group: &Group) {
    let watched = match group.out_of_memory() {
        Some(OutOfMemory::V1(event, _)) => killed_v1(event, group).await,
        // The file raises an exceptional condition at every change, such as a
        // process that was throttled: only a kill is the end.
        Some(OutOfMemory::V2(events)) => {
            changed(events, Interest::PRIORITY, || group.killed_for_memory())
                .await
        }
        None => pending().await,
    };
    if let Err(error) = watched {
        tracing::error!(%error, "cannot watch a box's memory");
        pending::<()>().await;
    }
}

/// Resolves when the kernel has killed in this group. The event comes just
/// before that, and to every group below the one whose memory is spent: in a
/// small container to all boxes, though only one of them loses a program.
async fn killed_v1(event: &OwnedFd, group: &Group) -> io::Result<()> {
    /// Together far longer than the kernel takes to choose.
    const LOOKS_MS: [u64; 5] = [0, 1, 10, 100, 1_000];
    loop {
        changed(event, Interest::READABLE, || true).await?;
        // Before the looks: what happens meanwhile is another event. It never
        // blocks.
        let _ = rustix::io::read(event, &mut [0_u8; 8]);
        for pause in LOOKS_MS.map(Duration::from_millis) {
            sleep(pause).await;
            if group.killed_for_memory() {
                return Ok(());
            }
        }
    }
}

/// Resolves when `source` reports and `is_end` then holds.
async fn changed(
    source: &impl AsFd,
    interest: Interest,
    is_end: impl Fn() -> bool,
) -> io::Result<()> {
    let own = source.as_fd().try_clone_to_owned()?;
    let watched = sys::watch(own, interest)?;
    loop {
        let mut ready = watched.ready(interest).await?;
        if is_end() {
            return Ok(());
        }
        ready.clear_ready();
    }
}

/// Resolves when the box has used its CPU time. Looks only when it can have
/// been reached: with every core busy since the last look.
async fn cpu_time_spent(
    group: &Group,
    before: Option<Duration>,
    limit: Duration,
) {
    const SHORTEST: Duration = Duration::from_millis(10);
    let Some(before) = before else { return pending().await };
    // One system call, where std would read files at every step.
    let cores = rustix::thread::sched_getaffinity(None)
        .map_or(1, |cores| cores.count().max(1));
    loop {
        let used = group.cpu_time().unwrap_or(before).saturating_sub(before);
        let Some(left) = limit.checked_sub(used).filter(|l| !l.is_zero())
        else {
            return;
        };
        sleep((left / cores).max(SHORTEST)).await;
    }
}
