//! A plan in a box: one that is ready or a new one; the files written, the
//! steps run one after another.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use sandpiper_languages::{Plan, SourceFile, Stage};
use sandpiper_sandbox::{
    Artifact, BoxFile, BoxSpec, Host, Outcome as StepOutcome, Sandbox,
    SandboxError, Stop,
};
use tokio::sync::oneshot;
use tokio::time::timeout;

use crate::Limits;
use crate::admission::Slot;
use crate::artifacts::{ArtifactCache, Key};
use crate::kind::{BoxKind, Kind, overridden, step_spec};
use crate::limits::PREPARE_TIME;
use crate::outcome::{End, LimitReached, Outcome, Start, Timing};
use crate::ready::ReadyBoxes;

/// What a run is made with.
#[derive(Clone, Copy)]
pub(crate) struct Means<'a> {
    pub(crate) host: &'a Arc<Host>,
    pub(crate) limits: &'a Limits,
    pub(crate) ready: &'a ReadyBoxes,
    pub(crate) artifacts: &'a ArtifactCache,
    /// Whether a client asked for the run; else it is a check.
    pub(crate) is_demand: bool,
}

/// Runs `plan` in a box of its own on `rootfs`. The slot is given back when
/// no process of the box is left or, where others wait, when the box is gone;
/// also when the future is dropped. `timing` holds the time in the queue.
pub(crate) async fn run(
    means: Means<'_>,
    mut plan: Plan,
    rootfs: PathBuf,
    slot: Slot,
    mut timing: Timing,
) -> Result<Outcome, SandboxError> {
    let limits = overridden(means.limits, &plan);
    let kind = Kind::of(means.limits, rootfs, &plan);
    let started = Instant::now();
    let (over, is_over) = oneshot::channel();
    means.ready.refill_after(is_over);
    let mut occupied =
        Occupied { sandbox: None, slot: Some(slot), over: Some(over) };
    let compiled = Compiled::find(&means, &kind.spec, &limits, &plan);
    let files = std::mem::take(&mut plan.files);
    let prepare = prepare(means, &kind, files, &compiled, &mut occupied);
    let (box_kind, fits) = timeout(PREPARE_TIME, prepare)
        .await
        .unwrap_or_else(|_| Err(failed("it took too long to make a box")))?;
    timing.prepare = started.elapsed();
    let start = Start { box_kind, is_compiled: compiled.found.is_some() };
    let ended = |stage, end, wrote, timing| {
        let cap = limits.output_bytes;
        Outcome::new(stage, end, wrote, cap, timing, start)
    };
    if !fits {
        let stage = plan.steps.first().map_or(Stage::Run, |step| step.stage);
        let end = End::Limit(LimitReached::Memory(limits.memory_bytes));
        return Ok(ended(stage, end, (Vec::new(), Vec::new()), timing));
    }
    let sandbox = occupied.sandbox()?;
    let mut last = None;
    for step in std::mem::take(&mut plan.steps) {
        let stage = step.stage;
        let mut spec = step_spec(&limits, step, &plan);
        if stage == Stage::Compile && compiled.found.is_some() {
            sandbox.skip(&spec);
            continue;
        }
        if stage == Stage::Compile && compiled.key.is_some() {
            spec.keep_artifacts = means.artifacts.largest();
        }
        let mut outcome = sandbox.run(&spec).await?;
        let artifacts = outcome.artifacts.take();
        // A limit may have been reached by a step that exited with 0.
        if outcome.stop == Stop::Exited(0)
            && let Some((key, artifacts)) = compiled.key.zip(artifacts)
        {
            means.artifacts.keep(key, artifacts);
        }
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
    Ok(ended(stage, end, (outcome.stdout, outcome.stderr), timing))
}

/// What is known of the artifacts of a submission.
struct Compiled {
    /// `None` where they are not kept.
    key: Option<Key>,
    found: Option<Arc<Vec<Artifact>>>,
}

impl Compiled {
    fn find(
        Means { artifacts, is_demand, .. }: &Means<'_>,
        spec: &BoxSpec,
        limits: &Limits,
        plan: &Plan,
    ) -> Self {
        let mut steps = plan.steps.iter();
        let compile = steps.find(|step| step.stage == Stage::Compile);
        // A check has to compile.
        let is_kept =
            plan.is_repeatable && *is_demand && artifacts.largest().is_some();
        let key = compile.filter(|_| is_kept).map(|step| {
            let step = step_spec(limits, step.clone(), plan);
            Key::of(spec, &step, &plan.files)
        });
        Self { key, found: key.and_then(|key| artifacts.get(key)) }
    }
}

/// Takes or makes a box, and writes into it the files, and the artifacts where
/// they are known; whether it has the memory for them.
async fn prepare(
    means: Means<'_>,
    kind: &Kind,
    files: Vec<SourceFile>,
    compiled: &Compiled,
    occupied: &mut Occupied,
) -> Result<(BoxKind, bool), SandboxError> {
    let files: Vec<BoxFile> = files
        .into_iter()
        .map(|file| BoxFile { path: file.path, content: file.content })
        .collect();
    if let Some(sandbox) = means.ready.take(kind, means.is_demand) {
        let sandbox = occupied.sandbox.insert(sandbox);
        // One that has just died is no reason to fail.
        if let Ok(fits) = fill(sandbox, files.clone(), compiled).await {
            return Ok((kind.ready_kind(), fits));
        }
    }
    let made = Sandbox::make(means.host, &kind.spec).await?;
    let sandbox = occupied.sandbox.insert(made);
    let fits = fill(sandbox, files, compiled).await?;
    Ok((BoxKind::Cold, fits))
}

async fn fill(
    sandbox: &mut Sandbox,
    files: Vec<BoxFile>,
    compiled: &Compiled,
) -> Result<bool, SandboxError> {
    let mut fits = sandbox.write_files(files).await?;
    if let Some(artifacts) = compiled.found.as_ref().filter(|_| fits) {
        fits = sandbox.write_artifacts(artifacts.to_vec()).await?;
    }
    Ok(fits)
}

/// A box and the slot that it takes.
struct Occupied {
    sandbox: Option<Sandbox>,
    slot: Option<Slot>,
    /// Dropped when the box is gone.
    over: Option<oneshot::Sender<()>>,
}

impl Occupied {
    fn sandbox(&mut self) -> Result<&mut Sandbox, SandboxError> {
        self.sandbox.as_mut().ok_or_else(|| failed("there is no box"))
    }
}

/// Nobody waits for the end of a box: the answer is out before it.
impl Drop for Occupied {
    fn drop(&mut self) {
        let (sandbox, mut slot) = (self.sandbox.take(), self.slot.take());
        let over = self.over.take();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let Some(mut sandbox) = sandbox else { return };
                // Namespaces and groups take some milliseconds more. A client
                // that asks again at once need not wait for them; where others
                // wait, the next run would be slower for them.
                let is_dead = sandbox.kill().await.is_ok();
                slot.take_if(|slot| is_dead && !slot.is_contended());
                sandbox.destroy().await;
                drop((slot, over));
            });
        }
    }
}

fn failed(reason: &str) -> SandboxError {
    let cause = std::io::Error::other(reason.to_owned());
    SandboxError { step: "run a plan".to_owned(), cause }
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
