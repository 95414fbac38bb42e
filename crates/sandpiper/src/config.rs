//! The command line and the environment, and the settings that the other
//! crates take from them. No other file reads the environment.
//!
//! Every flag `--some-flag` can also be given as the variable
//! `SANDPIPER_SOME_FLAG`, in which commas separate the items of a list. A flag
//! overrides its variable; an empty variable counts as not set.

mod fleet;
mod folders;
mod images;
mod limits;
mod serve;
mod shared;
mod values;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use clap::builder::BoolishValueParser;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use sandpiper_engine::{
    self as engine, EngineSettings, Limits, limits as default,
};
use sandpiper_images::Downloads;

pub(crate) use fleet::FleetArgs;
pub(crate) use folders::{Folders, SYSTEM_DATA, usual_data_dir};
pub(crate) use images::{BuildArgs, CheckArgs, ImagesCommand, check_settings};
use limits::LimitArgs;
pub(crate) use serve::ServeArgs;
use serve::default_live_boxes;

/// Runs submitted programs in sandboxes, behind a small HTTP service
#[derive(Parser, Debug)]
#[command(
    name = "sandpiper",
    version,
    after_help = "\
Every flag --some-flag can also be given as the variable SANDPIPER_SOME_FLAG, \
in which commas separate the items of a list."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    #[command(subcommand)]
    pub(crate) command: CliCommand,
}

/// Flags of every command.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Common")]
pub(crate) struct CommonArgs {
    /// Folder for images [default: /var/lib/sandpiper for root and for the
    /// owner of that folder; otherwise sandpiper in the XDG data folder]
    #[arg(long, value_name = "DIR", global = true)]
    data_dir: Option<PathBuf>,

    /// Folder with more languages: one folder for each, as in languages/ of the
    /// project, with an image.toml if it has an image of its own [default:
    /// /etc/sandpiper/languages.d if there is that folder]
    #[arg(long, value_name = "DIR", global = true)]
    languages_dir: Option<PathBuf>,

    /// Folder with packages to add to images: <image>.toml for each [default:
    /// /etc/sandpiper/images.d if there is that folder]
    #[arg(long, value_name = "DIR", global = true)]
    image_additions: Option<PathBuf>,

    /// Format of the log
    #[arg(long, value_name = "FORMAT", global = true, default_value = "text")]
    pub(crate) log_format: LogFormat,

    /// Minimum log level: error, warn, info, debug or trace [default: info for
    /// serve, otherwise warn]
    #[arg(long, value_name = "LEVEL", global = true)]
    pub(crate) log_level: Option<tracing::Level>,
}

/// Format of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines of text.
    Text,
    /// One JSON object per line.
    Json,
}

/// A command of the program.
#[derive(Subcommand, Debug)]
pub(crate) enum CliCommand {
    /// Serve products and the code execution service over HTTP
    Serve(Box<ServeArgs>),
    /// Run local files in a sandbox, without HTTP
    Run(Box<RunArgs>),
    /// Build, lock, list, check, export, import and remove the images that
    /// programs run in
    #[command(subcommand)]
    Images(ImagesCommand),
    /// Report what this host supports, and how to fix what is missing
    Doctor(DoctorArgs),
    /// Print a completion script for a shell
    Completions {
        /// Shell to print the script for
        #[arg(value_name = "SHELL")]
        shell: Shell,
    },
    /// Write the files that a run left
    #[command(hide = true, name = crate::artifacts::COMMAND)]
    WriteArtifacts {
        /// Folder to write them to
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
    /// Write the man pages
    #[command(hide = true)]
    Man {
        /// Folder to write them to
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

/// Flags of the commands that run programs.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Sandbox")]
pub(crate) struct SandboxArgs {
    /// Control group in which the boxes' control groups are created [default:
    /// the one that this process is in]
    #[arg(long, value_name = "PATH")]
    pub(crate) cgroup: Option<PathBuf>,

    /// Run programs even if the host cannot limit their memory and processes
    #[arg(long, value_parser = BoolishValueParser::new())]
    pub(crate) allow_missing_limits: bool,

    #[command(flatten)]
    limits: LimitArgs,
}

/// The values of flags, for the end of a command's help.
pub(crate) const UNITS: &str = "\
TIME is a number and a unit, such as 500ms, 10s or 2m; without a unit, seconds.
SIZE is a number and a unit, such as 64KiB, 512MiB or 1GiB; without one, bytes.";

/// The same for a command without times.
const SIZE_UNIT: &str = "\
SIZE is a number and a unit, such as 64KiB, 512MiB or 1GiB; without one, bytes.";

/// The end of the help of `run`.
const RUN_HELP: &str = "\
The program gets this command's standard input, unless that is a terminal. With
--interactive it gets that of a terminal, too.

The exit code is that of the program, or:
  124          the program exceeded a time limit
  125          the program could not be run
  128 + N      signal N killed the program
  137          the program exceeded another limit";

/// Flags of `run`.
#[derive(Args, Debug)]
#[command(after_help = format!("{RUN_HELP}\n\n{UNITS}"))]
pub(crate) struct RunArgs {
    /// Files of the program; the first one is run
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Language of the program [default: that of the file's extension]
    #[arg(long, value_name = "LANGUAGE")]
    pub(crate) language: Option<String>,

    /// File to run, if it is not the first one
    #[arg(long, value_name = "FILE")]
    pub(crate) entry: Option<PathBuf>,

    /// Show output as it comes, and pass input on while the program runs
    #[arg(long, value_parser = BoolishValueParser::new())]
    pub(crate) interactive: bool,

    /// Folder for the files that the program leaves; pictures that it shows are
    /// among them
    #[arg(long, value_name = "DIR")]
    pub(crate) artifacts: Option<PathBuf>,

    /// An argument of the program; may be given again
    #[arg(long = "arg", value_name = "ARG", allow_hyphen_values = true)]
    pub(crate) args: Vec<String>,

    #[command(flatten)]
    pub(crate) sandbox: SandboxArgs,
}

/// Flags of `doctor`.
#[derive(Args, Debug)]
#[command(after_help = SIZE_UNIT)]
pub(crate) struct DoctorArgs {
    /// Control group in which the boxes' control groups are created [default:
    /// the one that this process is in]
    #[arg(long, value_name = "PATH")]
    pub(crate) cgroup: Option<PathBuf>,

    /// Boxes (sandboxes) that run at once, as given to serve [default: one per
    /// CPU core, at least two, at most 250]
    #[arg(long, value_name = "N", value_parser = values::boxes())]
    boxes: Option<usize>,

    /// Live runs at once, as given to serve [default: as many as --boxes, but no
    /// more than fit into an eighth of this machine's memory, each with the
    /// larger of --memory and --compile-memory]
    #[arg(long, value_name = "N",
        value_parser = values::count(0_usize, engine::MAX_BOXES))]
    live_boxes: Option<usize>,

    /// Memory of the run step, including its files, as given to serve
    #[arg(long, value_name = "SIZE", value_parser = values::memory,
        default_value = mebibytes(Limits::default().memory_bytes))]
    memory: u64,

    /// Memory of the compile step, including its files, as given to serve
    #[arg(long, value_name = "SIZE", value_parser = values::memory,
        default_value = mebibytes(Limits::default().compile_memory_bytes))]
    compile_memory: u64,

    /// Languages to check the images of, separated by commas; "default" stands
    /// for those that are served unless you choose, "all" for every one that
    /// this program knows [default: default]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) languages: Option<Vec<String>>,

    /// Also run the sample program of every language; takes some seconds
    #[arg(long, value_parser = BoolishValueParser::new())]
    pub(crate) programs: bool,

    #[command(flatten)]
    pub(crate) fleet: FleetArgs,
}

/// Reads the command line and the environment. Exits the process with a
/// message if they are wrong, or with the help if that was requested.
pub(crate) fn parse() -> Cli {
    let matches = command().get_matches();
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// Returns the command line, with the variables of its flags.
pub(crate) fn command() -> clap::Command {
    with_variables(Cli::command())
}

/// Returns the `SANDPIPER_` variables that belong to no flag. Most likely they
/// are misspelt, and the default applies although the operator set a value.
#[expect(clippy::disallowed_methods, reason = "this is the one file")]
pub(crate) fn unknown_variables() -> Vec<String> {
    let mut names = Vec::new();
    name_variables(&Cli::command(), &mut names);
    std::env::vars_os()
        .filter_map(|(name, _)| name.into_string().ok())
        .filter(|name| name.starts_with("SANDPIPER_") && !names.contains(name))
        .collect()
}

/// Adds the variables of the flags of a command, and of those below it.
fn name_variables(command: &clap::Command, names: &mut Vec<String>) {
    let flags = command.get_arguments().filter_map(clap::Arg::get_long);
    names.extend(flags.map(variable_name));
    for below in command.get_subcommands() {
        name_variables(below, names);
    }
}

impl CommonArgs {
    /// Returns the data folder.
    ///
    /// # Errors
    /// No flag names it, and `HOME` is not set.
    pub(crate) fn data_dir(&self) -> anyhow::Result<PathBuf> {
        if let Some(folder) = &self.data_dir {
            return std::path::absolute(folder)
                .with_context(|| format!("--data-dir {}", folder.display()));
        }
        usual_data_dir()
    }
}

/// Returns how builds of images download: from a mirror, or as the environment
/// says.
#[expect(clippy::disallowed_methods, reason = "this is the one file")]
pub(crate) fn downloads(mirror: Option<String>) -> Downloads {
    Downloads { mirror, variables: std::env::vars_os().collect() }
}

/// Returns the settings of a host for `boxes` that run at once, and `besides`
/// more that are ready or being removed.
pub(crate) fn host_settings(
    data: PathBuf,
    cgroup: Option<PathBuf>,
    boxes: usize,
    besides: usize,
) -> engine::HostSettings {
    let init = "/proc/self/exe".into();
    let leave_terminal = true;
    engine::HostSettings { init, data, cgroup, boxes, besides, leave_terminal }
}

impl DoctorArgs {
    /// Returns the largest memory limit of a box, in bytes.
    pub(crate) fn box_memory_bytes(&self) -> u64 {
        self.memory.max(self.compile_memory)
    }

    /// Returns the number of boxes that run at once, live ones included.
    pub(crate) fn all_boxes(&self, memory_bytes: Option<u64>) -> usize {
        let boxes = self.boxes.unwrap_or_else(default_boxes);
        let fitting = || {
            let memory_bytes = memory_bytes.unwrap_or(0);
            default_live_boxes(memory_bytes, boxes, self.box_memory_bytes())
        };
        boxes + self.live_boxes.unwrap_or_else(fitting)
    }
}

impl SandboxArgs {
    /// Returns the settings of an engine that runs one program at a time.
    pub(crate) fn engine_settings(&self) -> EngineSettings {
        EngineSettings {
            limits: self.limits.limits(),
            boxes: 1,
            live_boxes: 1,
            queue_length: 1,
            queue_wait: default::QUEUE_WAIT,
            allow_missing_limits: self.allow_missing_limits,
            check_interval: default::CHECK_INTERVAL,
            pool_memory_bytes: 0,
            compile_cache_bytes: 0,
        }
    }
}

/// Returns one box per CPU core, within the bounds of a default.
fn default_boxes() -> usize {
    let cores = std::thread::available_parallelism();
    boxes_for(cores.map_or(1, NonZeroUsize::get))
}

fn boxes_for(cores: usize) -> usize {
    cores.clamp(default::MIN_BOXES, default::MAX_DEFAULT_BOXES)
}

/// Gives every flag its variable.
fn with_variables(command: clap::Command) -> clap::Command {
    command
        .mut_args(|arg| {
            let Some(name) = arg.get_long().map(variable_name) else {
                return arg;
            };
            if raw_variable(&name).is_some_and(|value| value.is_empty()) {
                return arg;
            }
            arg.env(name).hide_env_values(true)
        })
        .mut_subcommands(with_variables)
}

fn variable_name(flag: &str) -> String {
    format!("SANDPIPER_{}", flag.to_ascii_uppercase().replace('-', "_"))
}

/// Returns the value of a variable that is set and not empty.
fn variable(name: &str) -> Option<OsString> {
    raw_variable(name).filter(|value| !value.is_empty())
}

#[expect(clippy::disallowed_methods, reason = "this is the one file")]
fn raw_variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Formats a size as flags take it.
fn mebibytes(bytes: u64) -> String {
    format!("{}MiB", bytes / default::MIB)
}

/// Formats a time as flags take it.
fn seconds(time: Duration) -> String {
    format!("{}s", time.as_secs_f64())
}
