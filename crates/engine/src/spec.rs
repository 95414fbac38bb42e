//! From a plan and the limits to the box and the steps that the sandbox makes
//! and runs.

use std::path::PathBuf;

use sandpiper_languages::{Plan, Stage, Step};
use sandpiper_sandbox::{BoxSpec, StepSpec};

use crate::Limits;

/// Returns the memory of a box in a step of this stage, in bytes.
pub(crate) fn memory_bytes(limits: &Limits, stage: Stage) -> u64 {
    match stage {
        Stage::Compile => limits.compile_memory_bytes,
        Stage::Run => limits.memory_bytes,
    }
}

/// Returns the box for all steps of `plan`.
pub(crate) fn box_spec(
    limits: &Limits,
    rootfs: PathBuf,
    plan: &Plan,
) -> BoxSpec {
    let steps = plan.steps.iter();
    let memory = steps.map(|step| memory_bytes(limits, step.stage)).max();
    BoxSpec {
        rootfs,
        // The launchers of all steps wait in it.
        memory_bytes: memory.unwrap_or(limits.memory_bytes),
        processes: limits.processes,
        disk_bytes: limits.disk_bytes,
        inodes: limits.inodes,
    }
}

/// Returns one step of `plan` as the sandbox runs it.
pub(crate) fn step_spec(limits: &Limits, step: Step, plan: &Plan) -> StepSpec {
    let (wall_time, cpu_time) = match step.stage {
        Stage::Compile => (limits.compile_wall_time, limits.compile_wall_time),
        Stage::Run => (limits.run_wall_time, limits.run_cpu_time),
    };
    let is_run = step.stage == Stage::Run;
    let stdin = if is_run { plan.stdin.as_bytes() } else { &[] };
    let args = match step.stage {
        Stage::Run if plan.leaves_results && step.takes_results => {
            vec!["--results".to_owned()]
        }
        Stage::Run => plan.args.clone(),
        Stage::Compile if plan.shows_warnings && step.takes_warnings => {
            vec!["--warnings".to_owned()]
        }
        Stage::Compile => Vec::new(),
    };
    let memory_bytes = memory_bytes(limits, step.stage);
    StepSpec {
        environment: step.environment_in(memory_bytes),
        gate: step.prepares.then(|| gate_text(&plan.entry_file, &args)),
        command: if step.prepares {
            step.command
        } else {
            [step.command, args].concat()
        },
        stdin: stdin.to_vec(),
        artifacts_writable: !is_run,
        keep_compile_artifacts: None,
        keep_files: None,
        measure_memory: false,
        memory_bytes: Some(memory_bytes),
        wall_time,
        cpu_time,
        output_bytes: limits.output_bytes,
        file_bytes: limits.file_bytes,
        open_files: limits.open_files,
    }
}

/// Returns the text for a launcher's gate: the entry file's path, and after it
/// the arguments, each behind the NUL that ends the text before. The last one
/// has a NUL too, since it may be empty.
fn gate_text(entry_file: &str, args: &[String]) -> String {
    let mut text = entry_file.to_owned();
    for arg in args {
        text.push('\0');
        text.push_str(arg);
    }
    if !args.is_empty() {
        text.push('\0');
    }
    text
}
