//! The plan of a run: the image, the files and the steps, ready for the engine.

use crate::SourceFile;

/// The part of a run that a step is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Compiles the submitted files. Its output is shown only if it fails.
    Compile,
    /// Runs the program; its output is the answer.
    Run,
}

impl Stage {
    /// Returns the word for the stage in answers, headers and metrics.
    pub fn word(self) -> &'static str {
        match self {
            Self::Compile => "compile",
            Self::Run => "run",
        }
    }
}

/// One command of a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The part of the run.
    pub stage: Stage,
    /// The program (an absolute path in the image) and its arguments, without
    /// a shell.
    pub command: Vec<String>,
    /// The complete environment, in order; nothing is inherited. A value may
    /// contain `{memory_mib}`; [`Step::environment_in`] resolves it.
    pub environment: Vec<(String, String)>,
    /// Whether the program can be started before there is a submission. It then
    /// reads the entry file's path at its gate, not from an argument.
    pub prepares: bool,
    /// Whether the program takes `--warnings`.
    pub takes_warnings: bool,
    /// Whether the program takes `--results`.
    pub takes_results: bool,
}

/// The text that is replaced by the memory of the box in MiB, so that a launcher
/// can size a heap. Only the engine knows the operator's limit.
pub(crate) const MEMORY_MIB: &str = "{memory_mib}";

impl Step {
    /// Returns the environment in a box with this much memory, in bytes.
    pub fn environment_in(&self, memory_bytes: u64) -> Vec<(String, String)> {
        let memory_mib = (memory_bytes >> 20).to_string();
        let resolve = |(key, value): &(String, String)| {
            (key.clone(), value.replace(MEMORY_MIB, &memory_mib))
        };
        self.environment.iter().map(resolve).collect()
    }
}

/// The steps that run one submission.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// The language's id, such as `cpp`.
    pub language: String,
    /// The name of the image with the toolchain.
    pub image: String,
    /// The file to run: one of the files.
    pub entry_file: String,
    /// The submitted files, written into the working directory.
    pub files: Vec<SourceFile>,
    /// Standard input of the run step; empty if the language takes none.
    pub stdin: String,
    /// Arguments of the program: behind the command of the run step, or at the
    /// gate of its launcher.
    pub args: Vec<String>,
    /// Whether the compile step also prints the warnings of files that compile,
    /// if its program can.
    pub shows_warnings: bool,
    /// Whether the run step also leaves its results as a display, if its program
    /// can.
    pub leaves_results: bool,
    /// Whether the compile step always leaves the same compile artifacts.
    pub is_repeatable: bool,
    /// The steps, in order; a step that fails ends the run.
    pub steps: Vec<Step>,
    /// The command that prints the places of the calls that led to a crash, if
    /// the language has one. It runs after the steps.
    pub crash: Option<Step>,
    /// Memory of the box in the run step in bytes, if the language needs another
    /// limit than the operator's.
    pub memory_bytes: Option<u64>,
    /// The limit of each output stream in bytes, if the language needs another.
    pub output_bytes: Option<u64>,
    /// Processes and threads, if the language needs another limit.
    pub processes: Option<u32>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_environment_knows_the_boxs_memory() {
        let step = Step {
            stage: Stage::Run,
            prepares: false,
            takes_warnings: false,
            takes_results: false,
            command: vec!["/bin/true".to_owned()],
            environment: vec![
                ("HOME".to_owned(), "/box".to_owned()),
                ("HEAP".to_owned(), "-Xmx{memory_mib}m".to_owned()),
            ],
        };
        let resolved = step.environment_in(512 << 20);
        assert_eq!(resolved[0], step.environment[0]);
        assert_eq!(resolved[1].1, "-Xmx512m");
    }
}
