//! A plan in a box: the box is made, the files written, the steps run one
//! after another.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use sandpiper_languages::{Plan, SourceFile, Stage, Step};
use sandpiper_sandbox::{
    BoxFile, BoxSpec, Host, Outcome as StepOutcome, Sandbox, SandboxError,
    StepSpec, Stop,
};

use crate::Limits;
use crate::limits::PREPARE_TIME;
use tokio::time::timeout;

use crate::admission::Slot;
use crate::outcome::{End, LimitReached, Outcome, Timing};

/// Runs `plan` in a fresh box on `rootfs`. The slot is given back when the
/// box is gone, also when the future is dropped. `timing` holds the time in
/// the queue.
pub(crate) async fn run(
    host: &Arc<Host>,
    limits: &Limits,
    plan: Plan,
    rootfs: PathBuf,
    slot: Slot,
    mut timing: Timing,
) -> Result<Outcome, SandboxError> {
    let limits = overridden(limits, &plan);
    let started = Instant::now();
    let mut occupied = Occupied { sandbox: None, slot: Some(slot) };
    let spec = box_spec(&limits, rootfs, &plan.files);
    let files = plan
        .files
        .into_iter()
        .map(|file| BoxFile { path: file.path, content: file.content });
    let prepare = async {
        let sandbox = Sandbox::make(host, &spec).await?;
        let sandbox = occupied.sandbox.insert(sandbox);
        let fits = sandbox.write_files(files.collect()).await?;
        Ok((sandbox, fits))
    };
    let (sandbox, fits) = timeout(PREPARE_TIME, prepare)
        .await
        .unwrap_or_else(|_| Err(failed("it took too long to make a box")))?;
    timing.prepare = started.elapsed();
    if !fits {
        let stage = plan.steps.first().map_or(Stage::Run, |step| step.stage);
        let end = End::Limit(LimitReached::Memory(limits.memory_bytes));
        let wrote = (Vec::new(), Vec::new());
        return Ok(Outcome::new(
            stage,
            end,
            wrote,
            limits.output_bytes,
            timing,
        ));
    }
    let mut last = None;
    for step in plan.steps {
        let stage = step.stage;
        let spec = step_spec(&limits, step, &plan.stdin);
        let outcome = sandbox.run(&spec).await?;
        match stage {
            Stage::Compile => timing.compile = Some(outcome.wall_time),
            Stage::Run => timing.run = Some(outcome.wall_time),
        }
        let failed = outcome.stop != Stop::Exited(0);
        last = Some((stage, outcome));
        if failed {
            break;
        }
    }
    let (stage, outcome) =
        last.ok_or_else(|| failed("the plan has no step"))?;
    let end = end_of(&limits, stage, &outcome);
    let wrote = (outcome.stdout, outcome.stderr);
    Ok(Outcome::new(stage, end, wrote, limits.output_bytes, timing))
}

/// A box and the slot that it takes, until the box is gone.
struct Occupied {
    sandbox: Option<Sandbox>,
    slot: Option<Slot>,
}

/// Nobody waits for the end of a box: the answer is out before it.
impl Drop for Occupied {
    fn drop(&mut self) {
        let (sandbox, slot) = (self.sandbox.take(), self.slot.take());
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                if let Some(sandbox) = sandbox {
                    sandbox.destroy().await;
                }
                drop(slot);
            });
        }
    }
}

fn failed(reason: &str) -> SandboxError {
    let cause = std::io::Error::other(reason.to_owned());
    SandboxError { step: "run a plan".to_owned(), cause }
}

/// The operator's limits with what the language overrides.
fn overridden(limits: &Limits, plan: &Plan) -> Limits {
    Limits {
        memory_bytes: plan.memory_bytes.unwrap_or(limits.memory_bytes),
        output_bytes: plan.output_bytes.unwrap_or(limits.output_bytes),
        processes: plan.processes.unwrap_or(limits.processes),
        ..limits.clone()
    }
}

fn box_spec(limits: &Limits, rootfs: PathBuf, files: &[SourceFile]) -> BoxSpec {
    BoxSpec {
        rootfs,
        memory_bytes: limits.memory_bytes,
        processes: limits.processes,
        disk_bytes: limits.disk_bytes,
        // The limit is on what the program makes; what was submitted is
        // bounded by the request, and must fit.
        inodes: limits.inodes + files_and_folders(files),
    }
}

/// How many inodes the submitted files need, those of their folders included.
fn files_and_folders(files: &[SourceFile]) -> u64 {
    let folders: HashSet<&str> = files
        .iter()
        .flat_map(|SourceFile { path, .. }| {
            path.match_indices('/').map(|(end, _)| &path[..end])
        })
        .collect();
    (files.len() + folders.len()) as u64
}

fn step_spec(limits: &Limits, step: Step, stdin: &str) -> StepSpec {
    let (wall_time, cpu_time) = match step.stage {
        Stage::Compile => (limits.compile_wall_time, limits.compile_wall_time),
        Stage::Run => (limits.run_wall_time, limits.run_cpu_time),
    };
    let is_run = step.stage == Stage::Run;
    StepSpec {
        environment: step.environment_in(limits.memory_bytes),
        command: step.command,
        stdin: if is_run { stdin.as_bytes().to_vec() } else { Vec::new() },
        artifacts_writable: !is_run,
        wall_time,
        cpu_time,
        output_bytes: limits.output_bytes,
        file_bytes: limits.file_bytes,
        open_files: limits.open_files,
    }
}

fn end_of(limits: &Limits, stage: Stage, outcome: &StepOutcome) -> End {
    let is_run = stage == Stage::Run;
    let time = |run| if is_run { run } else { limits.compile_wall_time };
    match outcome.stop {
        Stop::Exited(code) => End::Exited(code),
        Stop::Signaled(signal) => End::Signaled(signal),
        Stop::WallTime => {
            End::Limit(LimitReached::WallTime(time(limits.run_wall_time)))
        }
        Stop::CpuTime => {
            End::Limit(LimitReached::CpuTime(time(limits.run_cpu_time)))
        }
        Stop::Memory => End::Limit(LimitReached::Memory(limits.memory_bytes)),
        Stop::Output => End::Limit(LimitReached::Output(limits.output_bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_their_folders_are_counted() {
        let check = |paths: &[&str], expected| {
            let file = |path: &&str| SourceFile {
                path: (*path).to_owned(),
                content: String::new(),
            };
            let files: Vec<_> = paths.iter().map(file).collect();
            assert_eq!(files_and_folders(&files), expected, "{paths:?}");
        };
        check(&["a"], 1);
        check(&["a", "b/c"], 3);
        check(&["a/b/c", "a/b/d", "a/c/d"], 6);
    }
}
