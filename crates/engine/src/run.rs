//! Runs a plan in a box: its steps one after another, the first with the files.

use std::path::PathBuf;
use std::pin::pin;
use std::sync::Arc;

use sandpiper_languages::{Plan, SourceFile, Stage};
use sandpiper_sandbox::{
    BoxFile, BoxSpec, CompileArtifact, Inputs, SandboxError, StepEnd,
    StepOutcome,
};

use crate::Limits;
use crate::admission::RunPermit;
use crate::attachment::RunAttachment;
use crate::compile_cache::{CompileCache, CompileKey};
use crate::crash;
use crate::effective_limits::EffectiveLimits;
use crate::files::RunFiles;
use crate::lease::{Lease, RunContext, failed};
use crate::options::RunOptions;
use crate::outcome::{
    End, LimitReached, Outcome, Start, Timing, cut_at_character,
};
use crate::pool::PoolKey;
use crate::spec::{memory_bytes, step_spec};

/// Everything that a caller says of a run.
#[derive(Debug)]
pub(crate) struct RunSpec {
    pub(crate) plan: Plan,
    pub(crate) options: RunOptions,
    pub(crate) attachment: RunAttachment,
}

/// Makes a run in a box of its own on `rootfs`. `timing` holds the time in the
/// queue.
///
/// The run ends with [`Lease::end`], which gives the permit back.
///
/// # Errors
///
/// Returns an error if the sandbox failed. The end of a program is never an
/// error.
pub(crate) async fn run(
    context: RunContext<'_>,
    RunSpec { plan, options, attachment }: RunSpec,
    rootfs: PathBuf,
    permit: RunPermit,
    timing: Timing,
) -> Result<Outcome, SandboxError> {
    let is_interactive = attachment.is_interactive();
    let limits = EffectiveLimits::new(
        context.limits,
        &plan,
        is_interactive,
        &options.limits,
    );
    let key = PoolKey::of(&limits.of_box, rootfs, &plan);
    let mut lease = Lease::new(context, &key, permit, timing);
    let result = {
        let steps = run_steps(&mut lease, plan, &limits, &options, attachment);
        context.pool.refill_if_long(pin!(steps)).await
    };
    let ended = lease.end();
    // The client may begin another live run as soon as it reads the end of this
    // one, and live runs have no queue to wait in.
    if is_interactive && let Some(ended) = ended {
        // It fails only if the runtime ends.
        let _ = ended.await;
    }
    result
}

async fn run_steps(
    lease: &mut Lease<'_>,
    mut plan: Plan,
    EffectiveLimits { of_box, of_steps: limits }: &EffectiveLimits,
    options: &RunOptions,
    mut attachment: RunAttachment,
) -> Result<Outcome, SandboxError> {
    let context @ RunContext { compile_cache: cache, .. } = lease.context;
    plan.shows_warnings = options.warnings;
    plan.leaves_results = options.files.is_some();
    let compiled = Compiled::find(&context, &lease.key.spec, of_box, &plan);
    let wanted = options.files.as_ref();
    let keep_files = wanted.map(|wanted| wanted.spec(&plan.files));
    let files = box_files(std::mem::take(&mut plan.files));
    lease.take_box().await?;
    let mut inputs = compiled.inputs(&files);
    let mut last = None;
    let mut warnings = None;
    for step in std::mem::take(&mut plan.steps) {
        let stage = step.stage;
        let mut spec = step_spec(limits, step, &plan);
        if stage == Stage::Compile && compiled.found.is_some() {
            lease.sandbox()?.skip(&spec);
            continue;
        }
        if stage == Stage::Compile && compiled.key.is_some() {
            spec.keep_compile_artifacts = cache.max_entry_bytes();
        }
        if stage == Stage::Run {
            spec.keep_files.clone_from(&keep_files);
        }
        spec.measure_memory = options.measure_memory;
        let inputs = std::mem::take(&mut inputs);
        let mut part = attachment.begin(stage, limits.live_idle_time);
        let mut outcome = lease.run(&spec, inputs, &mut part).await?;
        compiled.keep(cache, &mut outcome);
        add_times(&mut lease.timing, stage, &outcome);
        let has_failed = outcome.end != StepEnd::Exited(0);
        if options.warnings && stage == Stage::Compile && !has_failed {
            warnings = Some(messages(&outcome));
        }
        last = Some((stage, outcome));
        if has_failed {
            break;
        }
    }
    let (stage, outcome) =
        last.ok_or_else(|| failed("the plan has no step"))?;
    let start =
        Start { kind: lease.start_kind, is_compiled: compiled.found.is_some() };
    let files_left = outcome.files.as_ref();
    let box_stands = files_left.is_none_or(|left| !left.are_unreadable());
    let mut outcome = outcome_of(limits, stage, outcome, lease.timing, start);
    outcome.warnings = warnings;
    if options.crash
        && box_stands
        && let (Stage::Run, End::Signaled(_)) = (stage, outcome.end)
        && let Some(step) = plan.crash.take()
    {
        let command = crash::step_spec(limits, step, &plan);
        outcome.crash = crash::place(lease, command, &attachment, &files).await;
    }
    Ok(outcome)
}

fn add_times(timing: &mut Timing, stage: Stage, step: &StepOutcome) {
    timing.prepare += step.inputs_time;
    match stage {
        Stage::Compile => timing.compile = Some(step.wall_time),
        Stage::Run => timing.run = Some(step.wall_time),
    }
}

fn box_files(files: Vec<SourceFile>) -> Vec<BoxFile> {
    let files = files.into_iter();
    files
        .map(|file| BoxFile { path: file.path, content: file.content })
        .collect()
}

/// Returns the outcome of a run whose last step ended so.
fn outcome_of(
    limits: &Limits,
    stage: Stage,
    step: StepOutcome,
    timing: Timing,
    start: Start,
) -> Outcome {
    let end = end_of(limits, stage, &step);
    Outcome {
        stdout: cut_at_character(step.stdout),
        stderr: cut_at_character(step.stderr),
        warnings: None,
        stage,
        end,
        timing,
        crash: None,
        start: Some(start),
        cpu_time: step.cpu_time,
        memory_peak: step.memory_peak,
        files: step.files.map(RunFiles::from),
    }
}

/// Returns the messages of a compile step as text.
fn messages(step: &StepOutcome) -> String {
    let bytes = [&step.stdout.bytes[..], &step.stderr.bytes].concat();
    String::from_utf8_lossy(&bytes).into_owned()
}

/// The kept compile artifacts of a submission.
struct Compiled {
    /// `None` if they are not kept.
    key: Option<CompileKey>,
    found: Option<Arc<Vec<CompileArtifact>>>,
}

impl Compiled {
    fn find(
        RunContext { compile_cache, is_demand, .. }: &RunContext<'_>,
        spec: &BoxSpec,
        limits: &Limits,
        plan: &Plan,
    ) -> Self {
        let mut steps = plan.steps.iter();
        let compile = steps.find(|step| step.stage == Stage::Compile);
        // A self-test has to compile.
        let is_kept = plan.is_repeatable
            && *is_demand
            && !plan.shows_warnings
            && compile_cache.max_entry_bytes().is_some();
        let key = compile.filter(|_| is_kept).map(|step| {
            let step = step_spec(limits, step.clone(), plan);
            CompileKey::of(spec, &step, &plan.files)
        });
        let found = key.and_then(|key| compile_cache.get(key));
        Self { key, found }
    }

    /// Puts the compile artifacts of a step into the cache.
    fn keep(&self, cache: &CompileCache, step: &mut StepOutcome) {
        let left = step.compile_artifacts.take();
        // A step that exited with 0 may still have reached a limit.
        if step.end == StepEnd::Exited(0)
            && let Some((key, left)) = self.key.zip(left)
        {
            cache.keep(key, left);
        }
    }

    /// Returns the inputs of the first step.
    fn inputs<'a>(&'a self, files: &'a [BoxFile]) -> Inputs<'a> {
        let found = self.found.as_ref().map(|found| found.as_slice());
        Inputs { files, compile_artifacts: found.unwrap_or_default() }
    }
}

fn end_of(limits: &Limits, stage: Stage, outcome: &StepOutcome) -> End {
    let is_run = stage == Stage::Run;
    let time = |run| if is_run { run } else { limits.compile_wall_time };
    match outcome.end {
        StepEnd::Exited(code) => End::Exited(code),
        StepEnd::Signaled(signal) => End::Signaled(signal),
        StepEnd::WallTime => {
            End::Limit(LimitReached::WallTime(time(limits.run_wall_time)))
        }
        StepEnd::CpuTime => {
            End::Limit(LimitReached::CpuTime(time(limits.run_cpu_time)))
        }
        StepEnd::Memory => {
            End::Limit(LimitReached::Memory(memory_bytes(limits, stage)))
        }
        StepEnd::Output => {
            End::Limit(LimitReached::Output(limits.output_bytes))
        }
        StepEnd::Idle => End::Limit(LimitReached::Idle(limits.live_idle_time)),
        StepEnd::Stopped => End::Stopped,
    }
}
