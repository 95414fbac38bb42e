//! From a plan to what the sandbox is asked for; and which plans can share a
//! box that was made ahead.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use sandpiper_languages::{Plan, Stage, Step};
use sandpiper_sandbox::{BoxSpec, StepSpec};

use crate::Limits;

/// How far a box was when its submission came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BoxKind {
    /// It was made for the submission.
    Cold,
    /// It stood, with nothing in it.
    Blank,
    /// It stood, and its launchers waited for the submission.
    Warm,
}

impl BoxKind {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Cold, Self::Blank, Self::Warm];

    /// Its name, in logs and metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::Cold => "cold",
            Self::Blank => "blank",
            Self::Warm => "warm",
        }
    }
}

/// A box that can be made before its submission comes: two plans of one kind
/// can use the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Kind {
    pub(crate) spec: BoxSpec,
    /// Which folder is at the image's path: it may be removed and built again.
    /// A folder that is in a box keeps its number.
    image: Option<u64>,
    /// The steps whose launchers are started ahead, without a submission.
    pub(crate) launchers: Vec<StepSpec>,
    /// Those of the steps.
    pub(crate) programs: Vec<String>,
}

impl Kind {
    /// What `plan` needs on `rootfs`; its submission makes no difference.
    pub(crate) fn of(limits: &Limits, rootfs: PathBuf, plan: &Plan) -> Self {
        let limits = overridden(limits, plan);
        let steps = plan.steps.iter().filter(|step| step.prepares);
        let launchers = steps
            .map(|step| StepSpec {
                gate: Some(String::new()),
                stdin: Vec::new(),
                ..step_spec(&limits, step.clone(), plan)
            })
            .collect();
        let image = fs::metadata(&rootfs).ok().map(|folder| folder.ino());
        let programs =
            plan.steps.iter().filter_map(|step| step.command.first().cloned());
        let programs = programs.collect();
        Self { spec: box_spec(&limits, rootfs), image, launchers, programs }
    }

    /// One in which nothing is prepared.
    #[cfg(test)]
    pub(crate) fn of_spec(spec: BoxSpec) -> Self {
        let (launchers, programs) = (Vec::new(), Vec::new());
        Self { spec, image: None, launchers, programs }
    }

    /// What a box is called that is ready.
    pub(crate) fn ready_kind(&self) -> BoxKind {
        if self.launchers.is_empty() { BoxKind::Blank } else { BoxKind::Warm }
    }
}

/// The operator's limits with what the language overrides.
pub(crate) fn overridden(limits: &Limits, plan: &Plan) -> Limits {
    Limits {
        memory_bytes: plan.memory_bytes.unwrap_or(limits.memory_bytes),
        output_bytes: plan.output_bytes.unwrap_or(limits.output_bytes),
        processes: plan.processes.unwrap_or(limits.processes),
        ..limits.clone()
    }
}

fn box_spec(limits: &Limits, rootfs: PathBuf) -> BoxSpec {
    BoxSpec {
        rootfs,
        memory_bytes: limits.memory_bytes,
        processes: limits.processes,
        disk_bytes: limits.disk_bytes,
        inodes: limits.inodes,
    }
}

/// A step of `plan`, with these limits.
pub(crate) fn step_spec(limits: &Limits, step: Step, plan: &Plan) -> StepSpec {
    let (wall_time, cpu_time) = match step.stage {
        Stage::Compile => (limits.compile_wall_time, limits.compile_wall_time),
        Stage::Run => (limits.run_wall_time, limits.run_cpu_time),
    };
    let is_run = step.stage == Stage::Run;
    let stdin = if is_run { plan.stdin.as_bytes() } else { &[] };
    StepSpec {
        environment: step.environment_in(limits.memory_bytes),
        command: step.command,
        gate: step.prepares.then(|| plan.entry_file.clone()),
        stdin: stdin.to_vec(),
        artifacts_writable: !is_run,
        keep_artifacts: None,
        wall_time,
        cpu_time,
        output_bytes: limits.output_bytes,
        file_bytes: limits.file_bytes,
        open_files: limits.open_files,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_that_was_built_again_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let rootfs = folder.path().join("rootfs");
        let plan = Plan {
            language: "c".to_owned(),
            image: "native".to_owned(),
            entry_file: String::new(),
            files: Vec::new(),
            stdin: String::new(),
            is_repeatable: false,
            steps: Vec::new(),
            memory_bytes: None,
            output_bytes: None,
            processes: None,
        };
        let kind = || Kind::of(&Limits::default(), rootfs.clone(), &plan);
        fs::create_dir(&rootfs).unwrap();
        let first = kind();
        assert_eq!(first, kind());
        fs::rename(&rootfs, folder.path().join("old")).unwrap();
        fs::create_dir(&rootfs).unwrap();
        assert_ne!(first, kind());
    }
}
