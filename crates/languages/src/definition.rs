//! The shape of `language.toml`.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Definition {
    /// The name that people read, such as `C++`.
    pub(crate) name: String,
    /// Other values of `language` that mean this one.
    #[serde(default)]
    pub(crate) aliases: Vec<String>,
    /// Endings of this language's files, without the dot.
    #[serde(default)]
    pub(crate) extensions: Vec<String>,
    /// The image that holds the toolchain.
    pub(crate) image: String,
    /// Whether the program gets the submission's standard input.
    #[serde(default = "yes")]
    pub(crate) stdin: bool,
    /// What standard output is.
    #[serde(default)]
    pub(crate) output: Output,
    #[serde(default)]
    pub(crate) limits: LimitOverrides,
    /// Added to the base environment; the same key replaces. `{memory_mib}` in
    /// a value stands for the memory of the box in MiB, which each step may have
    /// another of.
    #[serde(default)]
    pub(crate) environment: BTreeMap<String, String>,
    /// Missing where nothing is compiled ahead of the run.
    pub(crate) compile: Option<Compile>,
    pub(crate) run: Command,
    pub(crate) starter: StarterDefinition,
}

/// What a language's standard output is, so that an editor can show it as that.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Output {
    /// Text, as programs print it.
    #[default]
    Text,
    /// Text in which tables are drawn as `mysql --table` draws them.
    Tables,
    /// One HTML document.
    Document,
}

/// `[limits]`: where the language needs another limit than the operator's.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LimitOverrides {
    /// Memory of a box in the run step.
    pub(crate) memory_mib: Option<NonZeroU32>,
    /// stdout and stderr, each.
    pub(crate) output_mib: Option<NonZeroU32>,
    /// Processes and threads of a box.
    pub(crate) processes: Option<NonZeroU32>,
}

/// `[compile]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Compile {
    /// As in `[run]`.
    pub(crate) command: Vec<String>,
    /// As in `[run]`.
    #[serde(default)]
    pub(crate) prepare: bool,
    /// Whether the same files compile to the same artifacts at any time: then
    /// what a success left in /artifacts is kept for the same submission. It
    /// must depend on nothing else, and leave nothing elsewhere.
    #[serde(default)]
    pub(crate) repeatable: bool,
    /// Words that make an exception of the files in which they are, such as
    /// those that a compiler replaces by the time.
    #[serde(default)]
    pub(crate) unless: Vec<String>,
}

/// `[run]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Command {
    /// An absolute path in the image, then the arguments; the argument
    /// `{entry}` stands for the entry file's path.
    pub(crate) command: Vec<String>,
    /// Whether the command is a launcher that is started before there is a
    /// submission. It reads the entry file's path at its gate, descriptor 3;
    /// images/gate.h says how.
    #[serde(default)]
    pub(crate) prepare: bool,
}

/// `[starter]`: the editor's sample. Its files stand in the folder `starter`,
/// its expected standard output in `starter-expected.txt`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StarterDefinition {
    pub(crate) entry: String,
    #[serde(default)]
    pub(crate) stdin: String,
    /// How `starter-expected.txt` is compared.
    #[serde(default)]
    pub(crate) expected: ExpectedDefinition,
}

/// What `starter-expected.txt` is to standard output.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ExpectedDefinition {
    /// All of it, to the byte.
    #[default]
    Exact,
    /// Each of its lines is somewhere in it: for a document with a framework.
    Contains,
}

fn yes() -> bool {
    true
}
