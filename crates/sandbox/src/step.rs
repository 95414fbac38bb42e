//! One command in a live box: streams connected, limits watched, the first
//! thing that ends it told apart from all others.

use std::borrow::Cow;
use std::future::pending;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use tokio::io::Interest;
use tokio::sync::watch;
use tokio::time::sleep;

use crate::cgroup::{Group, OutOfMemory};
use crate::control::Control;
use crate::error::{Result, SandboxError};
use crate::launchers::Launchers;
use crate::protocol::{Ended, ExecSpec, Program, Reply, Request, Run};
use crate::remains::Remains;
use crate::streams::{Far, Near, Pipes};
use crate::uncharged::Uncharged;
use crate::{Artifact, Inputs, Outcome, StepSpec, Stop, sys};

/// CPU time that a launcher may use before its submission comes, beyond that
/// of the program. Only for the rlimit behind the group's accounting, which
/// counts from the start of the process.
const PREPARE_CPU_TIME: Duration = Duration::from_secs(60);
const NONE: Duration = Duration::ZERO;

/// What is asked of init, and the streams that go with it.
pub(crate) struct Asked<'a> {
    request: Request<'a>,
    near: Near,
    far: Option<Far>,
}

/// To run the command of `spec`, or to go on with its launcher where that
/// waits.
pub(crate) fn to_run<'a>(
    spec: &StepSpec,
    inputs: Inputs<'a>,
    processes: u32,
    launchers: &mut Launchers,
    pipes: &mut Pipes,
) -> Result<Asked<'a>> {
    let (kill_launchers, prepared) = launchers.take(spec);
    let (near, far, program) = match prepared {
        Some(near) => (near, None, Program::Prepared),
        None => {
            let (near, far) = pipes.take()?;
            let command = command(spec, processes);
            (near, Some(far), Program::New(command))
        }
    };
    let request = Request::Run(Run {
        files: Cow::Borrowed(inputs.files),
        artifacts: Cow::Borrowed(inputs.artifacts),
        kill_launchers,
        program,
        gate: spec.gate.clone(),
        artifacts_writable: spec.artifacts_writable,
        keep_artifacts: spec.keep_artifacts,
    });
    Ok(Asked { request, near, far })
}

/// Runs a command to its end, or kills the box when a limit is reached.
pub(crate) async fn run(
    control: &mut Control,
    remains: &mut Remains,
    spec: &StepSpec,
    asked: Asked<'_>,
    launchers: &mut Launchers,
) -> Result<Outcome> {
    let Asked { request, near, far } = asked;
    let group = &remains.group;
    // What the box used while it waited is not the program's.
    let before = group.cpu_time();
    let (over, overflow) = watch::channel(false);
    let (tell_dead, dead) = watch::channel(false);
    let ended = async {
        // In this order: init need not wait for what it does not need. A long
        // message is read while it is written.
        tokio::try_join!(
            biased;
            send(control, &request, far.as_ref()),
            async { group.raise_share() }
        )?;
        // The program's ends are the program's alone.
        drop(far);
        hear_the_end(control, spec).await
    };
    let verdict = async {
        let started = Instant::now();
        let limit = limit_reached(remains, before, spec, overflow.clone());
        let first = tokio::select! {
            // In this order: a program that ended in time has ended, whatever
            // else is true by now.
            biased;
            ended = ended => First::Ended(ended),
            stop = limit => First::Limit(stop),
        };
        let wall_time = started.elapsed();
        let verdict = judge(first, remains, spec, before, wall_time).await?;
        // Every process that could write to them is killed.
        tell_dead.send_replace(true);
        Ok(verdict)
    };
    // In this task: one of its own would have another thread woken for it.
    let carried = near.carry(spec, over, dead);
    let both = tokio::try_join!(verdict, carried);
    // It runs nothing more: what it is doing would be another's answer.
    let (verdict, (stdout, stderr)) = both.inspect_err(|_| remains.kill())?;
    if !verdict.others_wait {
        launchers.forget();
    }
    let Verdict { stop, fill_time, wall_time, cpu_time, artifacts, .. } =
        verdict;
    let is_over = *overflow.borrow();
    let has_ended = matches!(stop, Stop::Exited(_) | Stop::Signaled(_));
    let stop = if has_ended && is_over { Stop::Output } else { stop };
    Ok(Outcome {
        stop,
        stdout,
        stderr,
        fill_time,
        wall_time,
        cpu_time,
        artifacts,
    })
}

/// What happened first.
enum First {
    Ended(Result<Ended>),
    Limit(Stop),
}

/// Resolves with the first limit that is reached.
async fn limit_reached(
    Remains { group, uncharged, .. }: &Remains,
    before: Option<Duration>,
    spec: &StepSpec,
    overflow: watch::Receiver<bool>,
) -> Stop {
    tokio::select! {
        biased;
        () = out_of_memory(group) => Stop::Memory,
        () = too_much_uncharged(uncharged.as_ref()) => Stop::Memory,
        () = overflowed(overflow) => Stop::Output,
        () = cpu_time_spent(group, before, spec.cpu_time) => Stop::CpuTime,
        () = sleep(spec.wall_time) => Stop::WallTime,
    }
}

/// What is known of a command that is over: no process of it is left.
struct Verdict {
    stop: Stop,
    fill_time: Duration,
    wall_time: Duration,
    cpu_time: Option<Duration>,
    artifacts: Option<Vec<Artifact>>,
    /// Whether the launchers that were prepared for later still wait.
    others_wait: bool,
}

async fn judge(
    first: First,
    remains: &Remains,
    spec: &StepSpec,
    before: Option<Duration>,
    wall_time: Duration,
) -> Result<Verdict> {
    let group = &remains.group;
    let cpu_time = || {
        group.cpu_time().zip(before).map(|(now, then)| now.saturating_sub(then))
    };
    let stop = match first {
        First::Ended(Ok(ended)) => {
            let cpu_time = cpu_time();
            // Where nothing accounts for it, SIGXCPU is taken at its word.
            let spent = cpu_time.is_none_or(|used| used >= spec.cpu_time);
            return Ok(Verdict {
                stop: stop_of(&ended, group.killed_for_memory(), spent),
                fill_time: Duration::from_micros(ended.fill_micros),
                wall_time: Duration::from_micros(ended.wall_micros),
                cpu_time,
                artifacts: ended.artifacts,
                others_wait: ended.others_wait,
            });
        }
        // The kernel may have chosen init, which writes what came with the
        // command, or the whole group.
        First::Ended(Err(_)) if group.killed_for_memory() => Stop::Memory,
        First::Ended(Err(error)) => return Err(error),
        First::Limit(stop) => stop,
    };
    remains.kill_and_wait().await?;
    Ok(Verdict {
        stop,
        fill_time: Duration::ZERO,
        wall_time,
        cpu_time: cpu_time(),
        artifacts: None,
        others_wait: false,
    })
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

/// Starts a launcher that prepares, and waits until it is at its gate.
pub(crate) async fn prepare(
    control: &mut Control,
    spec: &StepSpec,
    processes: u32,
    (near, far): (Near, Far),
) -> Result<Near> {
    let request = Request::Prepare(command(spec, processes));
    send(control, &request, Some(&far)).await?;
    match control.receive().await? {
        (Reply::Prepared, _) => Ok(near),
        _ => Err(SandboxError::other("prepare", "expected a launcher")),
    }
}

async fn send(
    control: &mut Control,
    request: &Request<'_>,
    far: Option<&Far>,
) -> Result<()> {
    let far: Vec<_> = far.into_iter().flatten().map(AsFd::as_fd).collect();
    control.send(request, &far).await
}

fn command(spec: &StepSpec, processes: u32) -> ExecSpec {
    let ahead = if spec.gate.is_some() { PREPARE_CPU_TIME } else { NONE };
    ExecSpec {
        command: spec.command.clone(),
        environment: spec.environment.clone(),
        cpu_seconds: (spec.cpu_time + ahead).as_secs() + 1,
        processes: u64::from(processes),
        file_bytes: spec.file_bytes,
        open_files: spec.open_files,
    }
}

async fn hear_the_end(control: &mut Control, spec: &StepSpec) -> Result<Ended> {
    let artifacts = spec.keep_artifacts.unwrap_or(0);
    match control.receive_with(artifacts).await? {
        (Reply::Ended(ended), _) => Ok(ended),
        _ => Err(SandboxError::other("hear from init", "expected an end")),
    }
}

async fn too_much_uncharged(counts: Option<&Uncharged>) {
    match counts {
        Some(counts) => counts.too_much().await,
        None => pending().await,
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
    let mut left = limit;
    loop {
        sleep((left / cores).max(SHORTEST)).await;
        let used = group.cpu_time().unwrap_or(before).saturating_sub(before);
        match limit.checked_sub(used).filter(|left| !left.is_zero()) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}
