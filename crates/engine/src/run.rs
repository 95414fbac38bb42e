//! A plan in a box: one that is ready or a new one; the steps run one after
//! another, the first with the files.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;
use std::time::Instant;

use sandpiper_languages::{Plan, Stage};
use sandpiper_sandbox::{
    Artifact, BoxFile, BoxSpec, Host, Inputs, Outcome as StepOutcome, Sandbox,
    SandboxError, StepSpec, Stop,
};
use tokio::time::timeout;

use crate::Limits;
use crate::admission::Slot;
use crate::artifacts::{ArtifactCache, Key};
use crate::kind::{BoxKind, Kind, memory_bytes, overridden, step_spec};
use crate::limits::PREPARE_TIME;
use crate::outcome::{End, LimitReached, Outcome, Start, Timing};
use crate::ready::{ReadyBoxes, Refill};

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
/// no process of the box is left. It is when the box is gone where as many as
/// there are slots are in removal without one, and where others wait and no box
/// is ever made ahead; also when the future is dropped. `timing` holds the time
/// in the queue.
pub(crate) async fn run(
    means: Means<'_>,
    plan: Plan,
    rootfs: PathBuf,
    slot: Slot,
    timing: Timing,
) -> Result<Outcome, SandboxError> {
    let run = pin!(run_steps(means, plan, rootfs, slot, timing));
    means.ready.beside(run).await
}

async fn run_steps(
    means: Means<'_>,
    mut plan: Plan,
    rootfs: PathBuf,
    slot: Slot,
    timing: Timing,
) -> Result<Outcome, SandboxError> {
    let limits = overridden(means.limits, &plan);
    let kind = Kind::of(means.limits, rootfs, &plan);
    let compiled = Compiled::find(&means, &kind.spec, &limits, &plan);
    let files = std::mem::take(&mut plan.files);
    let files: Vec<BoxFile> = files
        .into_iter()
        .map(|file| BoxFile { path: file.path, content: file.content })
        .collect();
    let mut occupied = Occupied::new(means, &kind, slot, timing).await?;
    let mut inputs = compiled.inputs(&files);
    let mut last = None;
    for step in std::mem::take(&mut plan.steps) {
        let stage = step.stage;
        let mut spec = step_spec(&limits, step, &plan);
        if stage == Stage::Compile && compiled.found.is_some() {
            occupied.sandbox()?.skip(&spec);
            continue;
        }
        if stage == Stage::Compile && compiled.key.is_some() {
            spec.keep_artifacts = means.artifacts.largest();
        }
        let inputs = std::mem::take(&mut inputs);
        let mut outcome = occupied.run(&spec, inputs).await?;
        let artifacts = outcome.artifacts.take();
        // A limit may have been reached by a step that exited with 0.
        if outcome.stop == Stop::Exited(0)
            && let Some((key, artifacts)) = compiled.key.zip(artifacts)
        {
            means.artifacts.keep(key, artifacts);
        }
        let timing = &mut occupied.timing;
        timing.prepare += outcome.fill_time;
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
    let is_compiled = compiled.found.is_some();
    let start = Start { box_kind: occupied.box_kind, is_compiled };
    let cap = limits.output_bytes;
    Ok(Outcome::new(stage, end, wrote, cap, occupied.timing, start))
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

    /// What the first step finds.
    fn inputs<'a>(&'a self, files: &'a [BoxFile]) -> Inputs<'a> {
        let artifacts = self.found.as_ref().map(|found| found.as_slice());
        Inputs { files, artifacts: artifacts.unwrap_or_default() }
    }
}

/// A run's box, and the slot that it takes.
struct Occupied<'a> {
    means: Means<'a>,
    kind: &'a Kind,
    box_kind: BoxKind,
    /// Whether a step has run in it.
    is_used: bool,
    timing: Timing,
    sandbox: Option<Sandbox>,
    slot: Option<Slot>,
    /// Dropped when the box is gone.
    refill: Option<Refill>,
}

impl<'a> Occupied<'a> {
    /// With a box that is ready, or else a new one.
    async fn new(
        means: Means<'a>,
        kind: &'a Kind,
        slot: Slot,
        timing: Timing,
    ) -> Result<Self, SandboxError> {
        let started = Instant::now();
        let sandbox = means.ready.take(kind, means.is_demand);
        let box_kind = kind.ready_kind();
        let mut occupied = Self {
            means,
            kind,
            box_kind,
            is_used: false,
            timing,
            sandbox,
            slot: Some(slot),
            refill: Some(means.ready.refill_later()),
        };
        occupied.timing.prepare = started.elapsed();
        if occupied.sandbox.is_none() {
            occupied.make().await?;
        }
        Ok(occupied)
    }

    async fn make(&mut self) -> Result<&mut Sandbox, SandboxError> {
        let started = Instant::now();
        // First: it has a place among the host's boxes.
        drop(self.sandbox.take());
        let made = Sandbox::make(self.means.host, &self.kind.spec);
        let made = timeout(PREPARE_TIME, made).await.unwrap_or_else(|_| {
            Err(failed("it took too long to make a box"))
        })?;
        self.box_kind = BoxKind::Cold;
        self.timing.prepare += started.elapsed();
        Ok(self.sandbox.insert(made))
    }

    fn sandbox(&mut self) -> Result<&mut Sandbox, SandboxError> {
        self.sandbox.as_mut().ok_or_else(|| failed("there is no box"))
    }

    async fn run(
        &mut self,
        step: &StepSpec,
        inputs: Inputs<'_>,
    ) -> Result<StepOutcome, SandboxError> {
        let can_be_another = self.box_kind != BoxKind::Cold && !self.is_used;
        self.is_used = true;
        match self.sandbox()?.run_with(step, inputs).await {
            // One that died while it waited is no reason to fail.
            Err(error) if can_be_another && error.was_not_delivered() => {
                self.make().await?.run_with(step, inputs).await
            }
            ran => ran,
        }
    }
}

/// Nobody waits for the end of a box: the answer is out before it.
impl Drop for Occupied<'_> {
    fn drop(&mut self) {
        let (sandbox, mut slot) = (self.sandbox.take(), self.slot.take());
        let refill = self.refill.take();
        let ready = self.means.ready.clone();
        let is_on = ready.is_on();
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let Some(mut sandbox) = sandbox else { return };
                // Namespaces, files and groups take some milliseconds more.
                // The next run need not wait for them, but where others wait
                // and no box is ever made ahead: its own would take longer.
                let is_dead = sandbox.kill().await.is_ok();
                let admission = slot.as_ref().map(Slot::admission);
                let removal = admission
                    .filter(|it| is_dead && (is_on || !it.is_contended()))
                    .and_then(|it| it.try_remove());
                slot.take_if(|_| removal.is_some());
                ready.beside(pin!(sandbox.destroy())).await;
                drop((slot, removal, refill));
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
        Stop::Memory => {
            End::Limit(LimitReached::Memory(memory_bytes(limits, stage)))
        }
        Stop::Output => End::Limit(LimitReached::Output(limits.output_bytes)),
    }
}
