//! Runs one command in a box: connects its streams, watches its limits,
//! and finds which event ended it first.

use std::borrow::Cow;
use std::os::fd::AsFd;
use std::os::unix::process::ExitStatusExt;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::time::timeout;

use crate::cgroup::Group;
use crate::error::{Result, SandboxError};
use crate::init_socket::InitSocket;
use crate::launchers::Launchers;
use crate::limit_watch::{Watched, first_limit};
use crate::process_handles::ProcessHandles;
use crate::protocol::{Ended, ExecSpec, Program, Reply, Request, Run};
use crate::streams::{self, ChildPipes, ParentPipes, StreamSignals};
use crate::{
    Attachment, CompileArtifact, FilesSpec, Inputs, LeftFiles, StepEnd,
    StepOutcome, StepSpec,
};

/// CPU time that a launcher may use before its submission comes, in addition to
/// the limit of the program. It concerns only the rlimit, which counts from the
/// start of the process. The group's count starts with the submission.
const PREPARE_CPU_TIME: Duration = Duration::from_secs(60);

/// Memory to read the files that a step left, besides the files: names, and the
/// folders being read.
const READ_FILES_MEMORY: u64 = 16 << 20;

/// A request to init, and the streams that go with it.
pub(crate) struct StepRequest<'a> {
    request: Request<'a>,
    pipes: ParentPipes,
    child_pipes: Option<ChildPipes>,
}

/// Returns the request to run the command of `spec`, or to go on with its
/// launcher if that waits already.
pub(crate) fn request_for<'a>(
    spec: &StepSpec,
    inputs: Inputs<'a>,
    processes: u32,
    launchers: &mut Launchers,
) -> Result<StepRequest<'a>> {
    let (kill_launchers, prepared) = launchers.take(spec);
    let (pipes, child_pipes, program) = match prepared {
        Some(pipes) => (pipes, None, Program::Prepared),
        None => {
            let (pipes, child_pipes) = streams::pipes()?;
            let command = command(spec, processes);
            (pipes, Some(child_pipes), Program::New(command))
        }
    };
    let request = Request::Run(Run {
        files: Cow::Borrowed(inputs.files),
        compile_artifacts: Cow::Borrowed(inputs.compile_artifacts),
        kill_launchers,
        program,
        gate: spec.gate.clone(),
        artifacts_writable: spec.artifacts_writable,
        keep_compile_artifacts: spec.keep_compile_artifacts,
    });
    Ok(StepRequest { request, pipes, child_pipes })
}

/// Runs a command to its end, or kills the box when a limit is reached.
pub(crate) async fn run(
    init_socket: &mut InitSocket,
    handles: &mut ProcessHandles,
    spec: &StepSpec,
    request: StepRequest<'_>,
    launchers: &mut Launchers,
    attachment: &mut Attachment,
) -> Result<StepOutcome> {
    let StepRequest { request, pipes, child_pipes } = request;
    let group = &handles.group;
    // CPU time that the box used while it waited does not count.
    let before = group.cpu_time();
    let memory_peak = spec.measure_memory.then(|| group.restart_peak());
    let (over, overflow) = watch::channel(false);
    let (report_dead, dead) = watch::channel(false);
    let (activity, seen) = watch::channel(());
    let Attachment { output, input, stop, idle_time } = attachment;
    let watched =
        Watched { stop: stop.as_mut(), idle_time: *idle_time, activity: seen };
    let ended = async {
        // The request first: init can work on it while the share is raised. A
        // long message is read while it is written.
        tokio::try_join!(
            biased;
            send(init_socket, &request, child_pipes.as_ref()),
            async { group.raise_share() }
        )?;
        // Only the program may keep its ends open.
        drop(child_pipes);
        receive_end(init_socket, spec).await
    };
    let finished = async {
        let started = Instant::now();
        let limit =
            first_limit(handles, before, spec, overflow.clone(), watched);
        let first = tokio::select! {
            // In this order: if the program ended in time, no limit of time
            // matters. Those of memory and output are looked at below.
            biased;
            ended = ended => First::Ended(ended),
            end = limit => First::Limit(end),
        };
        let wall_time = started.elapsed();
        let finished =
            end_step(first, handles, spec, before, wall_time).await?;
        // Every process that could write to the streams is dead.
        report_dead.send_replace(true);
        Ok(finished)
    };
    // In this task: a task of its own would wake another thread.
    let signals = StreamSignals { over, dead, activity };
    let carried = pipes.carry(spec, output.as_ref(), input.as_mut(), signals);
    let both = tokio::try_join!(finished, carried);
    // After an error the box must run nothing more: the next request could get
    // the answer to this one.
    let (finished, (stdout, stderr)) = both.inspect_err(|_| handles.kill())?;
    if !finished.others_wait {
        launchers.forget();
    }
    let FinishedStep { end, inputs_time, wall_time, cpu_time, .. } = finished;
    let has_ended = matches!(end, StepEnd::Exited(_) | StepEnd::Signaled(_));
    let is_over = has_ended && *overflow.borrow();
    let end = if is_over { StepEnd::Output } else { end };
    report_shortage(end, &handles.group);
    Ok(StepOutcome {
        end,
        stdout,
        stderr,
        inputs_time,
        wall_time,
        cpu_time,
        memory_peak: memory_peak.and_then(|peak| peak?.bytes()),
        files: None,
        compile_artifacts: finished.compile_artifacts,
    })
}

/// Returns the files that the last step left. The step's limits do not count
/// any more: the box gets memory for the files, and a time of its own.
pub(crate) async fn read_files(
    init_socket: &mut InitSocket,
    handles: &mut ProcessHandles,
    spec: &FilesSpec,
) -> Result<LeftFiles> {
    // Init holds them, and encodes them.
    handles.group.add_memory(2 * spec.max_bytes + READ_FILES_MEMORY)?;
    let request = Request::ReadFiles(Cow::Borrowed(spec));
    let read = async {
        init_socket.send(&request, &[]).await?;
        init_socket.receive_with(spec.max_bytes).await
    };
    let step = "read files";
    match timeout(spec.wall_time, read).await {
        Ok(reply) => match reply? {
            (Reply::Files(files), _) => Ok(files),
            _ => Err(SandboxError::other(step, "expected files")),
        },
        Err(_) => Err(SandboxError::other(step, "it took too long")),
    }
}

/// The event that happened first.
enum First {
    Ended(Result<Ended>),
    Limit(StepEnd),
}

/// The end of a command, of which no process is left.
struct FinishedStep {
    end: StepEnd,
    inputs_time: Duration,
    wall_time: Duration,
    cpu_time: Option<Duration>,
    compile_artifacts: Option<Vec<CompileArtifact>>,
    /// Whether the launchers of later steps still wait.
    others_wait: bool,
}

/// Kills the box if a limit came first, or if init is dead, and waits for its end.
async fn end_step(
    first: First,
    handles: &ProcessHandles,
    spec: &StepSpec,
    cpu_before: Option<Duration>,
    wall_time: Duration,
) -> Result<FinishedStep> {
    let group = &handles.group;
    let cpu_time = || {
        group
            .cpu_time()
            .zip(cpu_before)
            .map(|(now, then)| now.saturating_sub(then))
    };
    let end = match first {
        First::Ended(Ok(ended)) => {
            let cpu_time = cpu_time();
            // If the host does not measure CPU time, SIGXCPU is trusted.
            let spent = cpu_time.is_none_or(|used| used >= spec.cpu_time);
            return Ok(FinishedStep {
                end: end_of(&ended, group.killed_for_memory(), spent),
                inputs_time: Duration::from_micros(ended.inputs_micros),
                wall_time: Duration::from_micros(ended.wall_micros),
                cpu_time,
                compile_artifacts: ended.compile_artifacts,
                others_wait: ended.others_wait,
            });
        }
        // The kernel may have killed init, which writes the files, or the whole
        // group.
        First::Ended(Err(_)) if group.killed_for_memory() => StepEnd::Memory,
        First::Ended(Err(error)) => return Err(error),
        First::Limit(end) => end,
    };
    handles.kill_and_wait().await?;
    Ok(FinishedStep {
        end,
        inputs_time: Duration::ZERO,
        wall_time,
        cpu_time: cpu_time(),
        compile_artifacts: None,
        others_wait: false,
    })
}

/// Logs that the box was within its memory limit if the kernel killed in it then.
fn report_shortage(end: StepEnd, group: &Group) {
    if end == StepEnd::Memory
        && group.killed_for_memory()
        && !group.reached_memory_limit()
    {
        tracing::warn!(
            "the kernel killed a program that was within its memory limit: the \
             host, or the server's control group, has too little memory for \
             this many boxes"
        );
    }
}

fn end_of(
    ended: &Ended,
    killed_for_memory: bool,
    cpu_time_spent: bool,
) -> StepEnd {
    if killed_for_memory {
        return StepEnd::Memory;
    }
    let status = ExitStatus::from_raw(ended.status);
    match (status.code(), status.signal()) {
        (Some(code), _) => StepEnd::Exited(code),
        // The rlimit sends it, but so can the program itself.
        (None, Some(libc::SIGXCPU)) if cpu_time_spent => StepEnd::CpuTime,
        (None, signal) => StepEnd::Signaled(signal.unwrap_or(0)),
    }
}

/// Starts a launcher that prepares, and waits until it is at its gate. Returns
/// our ends of its pipes.
pub(crate) async fn prepare_launcher(
    init_socket: &mut InitSocket,
    spec: &StepSpec,
    processes: u32,
) -> Result<ParentPipes> {
    let (pipes, child_pipes) = streams::pipes()?;
    let request = Request::Prepare(command(spec, processes));
    send(init_socket, &request, Some(&child_pipes)).await?;
    match init_socket.receive().await? {
        (Reply::Prepared, _) => Ok(pipes),
        _ => Err(SandboxError::other("prepare", "expected a launcher")),
    }
}

async fn send(
    init_socket: &mut InitSocket,
    request: &Request<'_>,
    child_pipes: Option<&ChildPipes>,
) -> Result<()> {
    let child_pipes: Vec<_> =
        child_pipes.into_iter().flatten().map(AsFd::as_fd).collect();
    init_socket.send(request, &child_pipes).await
}

fn command(spec: &StepSpec, processes: u32) -> ExecSpec {
    let ahead = spec.gate.as_ref().map_or(Duration::ZERO, |_| PREPARE_CPU_TIME);
    ExecSpec {
        command: spec.command.clone(),
        environment: spec.environment.clone(),
        cpu_seconds: (spec.cpu_time + ahead).as_secs() + 1,
        processes: u64::from(processes),
        file_bytes: spec.file_bytes,
        open_files: spec.open_files,
    }
}

async fn receive_end(
    init_socket: &mut InitSocket,
    spec: &StepSpec,
) -> Result<Ended> {
    let content = spec.keep_compile_artifacts.unwrap_or(0);
    match init_socket.receive_with(content).await? {
        (Reply::Ended(ended), _) => Ok(ended),
        _ => Err(SandboxError::other("receive from init", "expected an end")),
    }
}
