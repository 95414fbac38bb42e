//! The key of the pool: two plans with the same key can use the same box.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use sandpiper_languages::Plan;
use sandpiper_sandbox::{BoxSpec, StepSpec};

use crate::Limits;
use crate::outcome::StartKind;
use crate::spec::{box_spec, step_spec};

/// Everything that a box made ahead depends on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PoolKey {
    pub(crate) spec: BoxSpec,
    /// The inode of the image's folder, which can be removed and built again
    /// under the same path. The kernel gives its number to no other folder
    /// while a box uses it.
    image: Option<u64>,
    /// The steps with a launcher that is started ahead, without a submission.
    pub(crate) launchers: Vec<StepSpec>,
}

impl PoolKey {
    /// Returns the key of `plan` on `rootfs`, with these limits of the box. It
    /// does not depend on the submission.
    pub(crate) fn of(limits: &Limits, rootfs: PathBuf, plan: &Plan) -> Self {
        let steps = plan.steps.iter().filter(|step| step.prepares);
        let launchers = steps
            .map(|step| StepSpec {
                gate: Some(String::new()),
                stdin: Vec::new(),
                ..step_spec(limits, step.clone(), plan)
            })
            .collect();
        let image = fs::metadata(&rootfs).ok().map(|folder| folder.ino());
        let spec = box_spec(limits, rootfs, plan);
        Self { spec, image, launchers }
    }

    /// Returns a key without launchers.
    #[cfg(test)]
    pub(crate) fn of_spec(spec: BoxSpec) -> Self {
        Self { spec, image: None, launchers: Vec::new() }
    }

    /// Returns the start of a run in a box of the pool with this key.
    pub(crate) fn start_kind(&self) -> StartKind {
        if self.launchers.is_empty() {
            StartKind::Blank
        } else {
            StartKind::Warm
        }
    }
}

#[cfg(test)]
mod tests {
    use sandpiper_languages::{Stage, Step};

    use super::*;

    /// A plan with these steps.
    fn plan(stages: &[Stage]) -> Plan {
        let steps = stages.iter().map(|&stage| Step {
            stage,
            command: Vec::new(),
            environment: vec![("MIB".to_owned(), "{memory_mib}".to_owned())],
            prepares: true,
            takes_warnings: false,
            takes_results: false,
        });
        Plan {
            language: "c".to_owned(),
            image: "native".to_owned(),
            steps: steps.collect(),
            ..Plan::default()
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
            let key = PoolKey::of(&limits, PathBuf::new(), &plan(stages));
            let steps = key.launchers.iter().map(|step| {
                let bytes = step.memory_bytes.unwrap();
                assert_eq!(step.environment[0].1, (bytes >> 20).to_string());
                format!(" {}", bytes >> 20)
            });
            let steps: String = steps.collect();
            let of_box = key.spec.memory_bytes >> 20;
            assert_eq!(format!("{of_box}:{steps}"), expected);
        };
        let both = [Stage::Compile, Stage::Run];
        check(&both, 512, 1_024, "1024: 1024 512");
        check(&both, 2_048, 1_024, "2048: 1024 2048");
        check(&[Stage::Run], 512, 1_024, "512: 512");
    }

    #[test]
    fn an_image_that_was_built_again_has_another_key() {
        let folder = tempfile::tempdir().unwrap();
        let rootfs = folder.path().join("rootfs");
        let plan = plan(&[]);
        let key = || PoolKey::of(&Limits::default(), rootfs.clone(), &plan);
        fs::create_dir(&rootfs).unwrap();
        let first = key();
        assert_eq!(first, key());
        fs::rename(&rootfs, folder.path().join("old")).unwrap();
        fs::create_dir(&rootfs).unwrap();
        assert_ne!(first, key());
    }
}
