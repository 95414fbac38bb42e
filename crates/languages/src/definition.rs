//! The shape of `language.toml`.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use serde::{Deserialize, Serialize};

use crate::editor::EditorDefinition;

/// The whole file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct LanguageDefinition {
    /// The name that people read, such as `C++`.
    pub(crate) name: String,
    /// The title of the editor page, if it is not the name.
    pub(crate) title: Option<String>,
    /// The place in lists of languages, the lowest number first. Languages
    /// without one come last, by id.
    pub(crate) order: Option<u32>,
    /// Whether the language is served unless the operator chooses languages. If
    /// not, it is known, and served only if it is chosen.
    #[serde(default = "yes")]
    pub(crate) default: bool,
    /// Other values of `language` that mean this one.
    #[serde(default)]
    pub(crate) aliases: Vec<String>,
    /// Extensions of this language's files, without the first dot.
    #[serde(default)]
    pub(crate) extensions: Vec<String>,
    /// Extensions that are this language's, too, unless they belong to another
    /// language that is served.
    #[serde(default)]
    pub(crate) fallback_extensions: Vec<String>,
    /// The image that holds the toolchain.
    pub(crate) image: String,
    /// Whether the program gets the submission's standard input. If not, the
    /// editor page has no field for it.
    #[serde(default = "yes")]
    pub(crate) stdin: bool,
    /// Whether the program gets the submission's arguments. A command that
    /// prepares reads them at its gate, after the entry file's path; any other
    /// command has them at its end.
    #[serde(default)]
    pub(crate) arguments: bool,
    /// The kind of standard output, which decides how the editor shows it.
    #[serde(default)]
    pub(crate) output: OutputKind,
    /// A script of the image, by its absolute path there, that documents of
    /// this language contain. Clients can load it once for all of them.
    pub(crate) framework: Option<String>,
    #[serde(default)]
    pub(crate) limits: LimitOverrides,
    #[serde(default)]
    pub(crate) editor: EditorDefinition,
    /// Variables that are added to those of every step, or replace them.
    /// `{memory_mib}` in a value is replaced by the memory of the step's box in
    /// MiB.
    #[serde(default)]
    pub(crate) environment: BTreeMap<String, String>,
    /// Missing if nothing is compiled before the run.
    pub(crate) compile: Option<Compile>,
    pub(crate) run: Command,
    /// Missing if nobody can name the line of a crash.
    pub(crate) crash: Option<Crash>,
    pub(crate) starter: StarterDefinition,
}

/// The kind of a language's standard output; an editor shows each in its way.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize,
)]
#[serde(rename_all = "lowercase")]
pub enum OutputKind {
    /// Text, as programs print it.
    #[default]
    Text,
    /// Text in which tables are drawn as `mysql --table` draws them.
    Tables,
    /// One HTML document.
    Document,
}

/// `[limits]`: limits that replace the operator's for this language.
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
    /// Whether the same files always compile to the same compile artifacts. The
    /// contents of /artifacts are then kept for the same submission. The result
    /// must depend on nothing but the files, and all of it must be in
    /// /artifacts.
    #[serde(default)]
    pub(crate) repeatable: bool,
    /// Words that a compiler replaces by the time. They turn `repeatable` off for
    /// a submission that contains one of them. Otherwise the step has the
    /// variable `SOURCE_DATE_EPOCH`, since a program can spell a word in ways
    /// that nobody can list. With it the compiler must take that time.
    #[serde(default)]
    pub(crate) unless: Vec<String>,
    /// Whether the command takes `--warnings` behind its other arguments, or
    /// at its gate. It then also prints the warnings of files that compile.
    #[serde(default)]
    pub(crate) warnings: bool,
}

/// `[run]`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Command {
    /// An absolute path in the image, then the arguments. The argument
    /// `{entry}` is replaced by the entry file's path.
    pub(crate) command: Vec<String>,
    /// Whether the command is a launcher that is started before there is a
    /// submission. It reads the entry file's path at its gate, descriptor 3:
    /// see images/gate.h.
    #[serde(default)]
    pub(crate) prepare: bool,
    /// Whether the command takes `--results` behind its other arguments, or at
    /// its gate. It then also leaves the results of its statements as a
    /// display: languages/mysql/launcher/results.h describes it. Such a
    /// language takes no arguments.
    #[serde(default)]
    pub(crate) results: bool,
}

/// `[crash]`: runs in the box of a program that a signal has ended.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Crash {
    /// As in `[run]`. It has the rights and the memory of a compile step, and takes
    /// `--warnings` if that does. It prints the places of the calls that led to
    /// the crash, innermost first, each a line `<path>:<line>`. Places outside of
    /// the submitted files are passed over.
    pub(crate) command: Vec<String>,
}

/// `[starter]`: the program that the editor starts with and that the service
/// tests the language with. Its files are in the folder `starter`, its expected
/// standard output is in `starter-expected.txt`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct StarterDefinition {
    pub(crate) entry: String,
    #[serde(default)]
    pub(crate) stdin: String,
    /// How `starter-expected.txt` is compared with standard output.
    #[serde(default)]
    pub(crate) expected: ExpectedDefinition,
}

/// How `starter-expected.txt` is compared with standard output.
#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ExpectedDefinition {
    /// Both are the same, byte by byte.
    #[default]
    Exact,
    /// Standard output contains each line of the file. For documents that
    /// include a framework.
    Contains,
}

fn yes() -> bool {
    true
}
