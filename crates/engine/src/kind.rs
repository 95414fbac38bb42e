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
        let spec = box_spec(&limits, rootfs, plan);
        Self { spec, image, launchers }
    }

    /// One in which nothing is prepared.
    #[cfg(test)]
    pub(crate) fn of_spec(spec: BoxSpec) -> Self {
        Self { spec, image: None, launchers: Vec::new() }
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

/// Memory of a box in the step of this stage, in bytes.
pub(crate) fn memory_bytes(limits: &Limits, stage: Stage) -> u64 {
    match stage {
        Stage::Compile => limits.compile_memory_bytes,
        Stage::Run => limits.memory_bytes,
    }
}

fn box_spec(limits: &Limits, rootfs: PathBuf, plan: &Plan) -> BoxSpec {
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

/// A step of `plan`, with these limits.
pub(crate) fn step_spec(limits: &Limits, step: Step, plan: &Plan) -> StepSpec {
    let (wall_time, cpu_time) = match step.stage {
        Stage::Compile => (limits.compile_wall_time, limits.compile_wall_time),
        Stage::Run => (limits.run_wall_time, limits.run_cpu_time),
    };
    let is_run = step.stage == Stage::Run;
    let stdin = if is_run { plan.stdin.as_bytes() } else { &[] };
    let memory_bytes = memory_bytes(limits, step.stage);
    StepSpec {
        environment: step.environment_in(memory_bytes),
        command: step.command,
        gate: step.prepares.then(|| plan.entry_file.clone()),
        stdin: stdin.to_vec(),
        artifacts_writable: !is_run,
        keep_artifacts: None,
        memory_bytes: Some(memory_bytes),
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

    /// A plan with these steps.
    fn plan(stages: &[Stage]) -> Plan {
        let steps = stages.iter().map(|&stage| Step {
            stage,
            command: Vec::new(),
            environment: vec![("MIB".to_owned(), "{memory_mib}".to_owned())],
            prepares: true,
        });
        Plan {
            language: "c".to_owned(),
            image: "native".to_owned(),
            entry_file: String::new(),
            files: Vec::new(),
            stdin: String::new(),
            is_repeatable: false,
            steps: steps.collect(),
            memory_bytes: None,
            output_bytes: None,
            processes: None,
        }
    }

    #[test]
    fn each_step_has_its_memory_and_a_box_the_most_of_them() {
        let check = |stages: &[Stage],
                     run: u64,
                     compile: u64,
                     expected: &str| {
            let limits = Limits {
                memory_bytes: run << 20,
                compile_memory_bytes: compile << 20,
                ..Limits::default()
            };
            let kind = Kind::of(&limits, PathBuf::new(), &plan(stages));
            let steps = kind.launchers.iter().map(|step| {
                let bytes = step.memory_bytes.unwrap();
                assert_eq!(step.environment[0].1, (bytes >> 20).to_string());
                format!(" {}", bytes >> 20)
            });
            let steps: String = steps.collect();
            let of_box = kind.spec.memory_bytes >> 20;
            assert_eq!(format!("{of_box}:{steps}"), expected);
        };
        let both = [Stage::Compile, Stage::Run];
        check(&both, 512, 1_024, "1024: 1024 512");
        check(&both, 2_048, 1_024, "2048: 1024 2048");
        check(&[Stage::Run], 512, 1_024, "512: 512");
    }

    #[test]
    fn an_image_that_was_built_again_is_another() {
        let folder = tempfile::tempdir().unwrap();
        let rootfs = folder.path().join("rootfs");
        let plan = plan(&[]);
        let kind = || Kind::of(&Limits::default(), rootfs.clone(), &plan);
        fs::create_dir(&rootfs).unwrap();
        let first = kind();
        assert_eq!(first, kind());
        fs::rename(&rootfs, folder.path().join("old")).unwrap();
        fs::create_dir(&rootfs).unwrap();
        assert_ne!(first, kind());
    }
}
