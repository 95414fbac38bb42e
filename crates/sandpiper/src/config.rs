//! Settings: flags and variables as typed, and what the rooms take. The one
//! file that reads the environment.
//!
//! Every flag `--some-flag` can be given as the variable `SANDPIPER_SOME_FLAG`
//! as well; lists are then separated by commas. A flag wins over its variable;
//! an empty variable counts as not set.

mod images;
mod limits;
mod serve;
mod values;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, bail};
use clap::builder::BoolishValueParser;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use sandpiper_engine::{self as engine, Limits, limits as default};
use sandpiper_images::Downloads;

pub(crate) use images::{BuildArgs, CheckArgs, ImagesCommand, check_settings};
use limits::LimitArgs;
pub(crate) use serve::ServeArgs;

/// Runs submitted programs in sandboxes, behind a small HTTP service
#[derive(Parser, Debug)]
#[command(
    name = "sandpiper",
    version,
    after_help = "\
Every flag --some-flag can be given as the variable SANDPIPER_SOME_FLAG as \
well, lists separated by commas."
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) common: CommonArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// Flags of every command.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Common")]
pub(crate) struct CommonArgs {
    /// Folder for images [default: /var/lib/sandpiper as root, and as the user
    /// whose folder that is; else sandpiper in the XDG data folder]
    #[arg(long, value_name = "DIR", global = true)]
    data_dir: Option<PathBuf>,

    /// How the log is written
    #[arg(long, value_name = "FORMAT", global = true, default_value = "text")]
    pub(crate) log_format: LogFormat,

    /// What is logged: error, warn, info, debug or trace, and what is graver
    /// [default: info for serve, else warn]
    #[arg(long, value_name = "LEVEL", global = true)]
    pub(crate) log_level: Option<tracing::Level>,
}

/// How the log is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum LogFormat {
    /// Lines for people.
    Text,
    /// One JSON object a line.
    Json,
}

/// What to do.
#[derive(Subcommand, Debug)]
pub(crate) enum Command {
    /// Serve products and the code execution service over HTTP
    Serve(Box<ServeArgs>),
    /// Run local files through the same engine, without HTTP
    Run(Box<RunArgs>),
    /// Build, list, check, move and remove the images that programs run in
    #[command(subcommand)]
    Images(ImagesCommand),
    /// Say what this host offers, and how to mend what is missing
    Doctor(DoctorArgs),
    /// Print a script that completes the command line in a shell
    Completions {
        /// Which shell
        #[arg(value_name = "SHELL")]
        shell: Shell,
    },
    /// Write the man pages
    #[command(hide = true)]
    Man {
        /// Where to
        #[arg(value_name = "DIR")]
        folder: PathBuf,
    },
}

/// Flags of whatever runs programs.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Sandbox")]
pub(crate) struct SandboxArgs {
    /// Folder with more languages: one folder for each, as in languages/ of the
    /// project
    #[arg(long, value_name = "DIR")]
    pub(crate) languages_dir: Option<PathBuf>,

    /// Control group to make the boxes' groups in [default: the one this
    /// process is in]
    #[arg(long, value_name = "PATH")]
    pub(crate) cgroup: Option<PathBuf>,

    /// Run programs even where the host cannot limit their memory and
    /// processes
    #[arg(long, value_parser = BoolishValueParser::new())]
    pub(crate) allow_missing_limits: bool,

    #[command(flatten)]
    limits: LimitArgs,
}

/// Flags of `run`.
#[derive(Args, Debug)]
#[command(after_help = "\
Standard input is passed on unless it is a terminal. The exit code is the \
program's: its own, 128 plus the signal that ended it, 124 when its time was \
up, 137 when it was ended by another limit; 125 when it could not be run.")]
pub(crate) struct RunArgs {
    /// The program's files; the first one is run
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// The language [default: told by the ending of the file that is run]
    #[arg(long, value_name = "LANGUAGE")]
    pub(crate) language: Option<String>,

    /// The file to run, where it is not the first
    #[arg(long, value_name = "FILE")]
    pub(crate) entry: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) sandbox: SandboxArgs,
}

/// Flags of `doctor`.
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// As for serve
    #[arg(long, value_name = "PATH")]
    pub(crate) cgroup: Option<PathBuf>,

    /// As for serve
    #[arg(long, value_name = "N", value_parser = values::boxes())]
    boxes: Option<usize>,

    /// As for serve
    #[arg(long, value_name = "SIZE", value_parser = values::memory,
        default_value = mebibytes(Limits::default().memory_bytes))]
    memory: u64,

    /// As for serve
    #[arg(long, value_name = "SIZE", value_parser = values::memory,
        default_value = mebibytes(Limits::default().compile_memory_bytes))]
    compile_memory: u64,

    /// As for serve: images of others may be missing
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) languages: Option<Vec<String>>,

    /// Run the sample program of every language, too: takes some seconds
    #[arg(long, value_parser = BoolishValueParser::new())]
    pub(crate) programs: bool,
}

/// Reads the command line and the environment; leaves the process with a
/// message where they are wrong, or where help was asked for.
pub(crate) fn parse() -> Cli {
    let matches = command().get_matches();
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
}

/// The command line, with the variables of its flags.
pub(crate) fn command() -> clap::Command {
    with_variables(Cli::command())
}

/// Variables that look like a flag's and are none: misspelt, most likely, and
/// then the default is in force without a word.
#[expect(clippy::disallowed_methods, reason = "this is the one file")]
pub(crate) fn unknown_variables() -> Vec<String> {
    let mut known = Vec::new();
    name_variables(&Cli::command(), &mut known);
    std::env::vars_os()
        .filter_map(|(name, _)| name.into_string().ok())
        .filter(|name| name.starts_with("SANDPIPER_") && !known.contains(name))
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
    /// The data folder.
    ///
    /// # Errors
    /// None is given, and nothing says where the user keeps data.
    pub(crate) fn data_dir(&self) -> anyhow::Result<PathBuf> {
        if let Some(folder) = &self.data_dir {
            return std::path::absolute(folder)
                .with_context(|| format!("--data-dir {}", folder.display()));
        }
        let system = Path::new("/var/lib/sandpiper");
        let uid = rustix::process::geteuid();
        let is_own = || {
            let found = system.metadata();
            found.is_ok_and(|found| found.uid() == uid.as_raw())
        };
        if uid.is_root() || is_own() {
            return Ok(system.to_owned());
        }
        // The XDG specification: a relative path is to be ignored.
        let folder = |name: &str| {
            variable(name).map(PathBuf::from).filter(|path| path.is_absolute())
        };
        let data = folder("XDG_DATA_HOME")
            .or_else(|| Some(folder("HOME")?.join(".local/share")));
        let Some(data) = data else {
            bail!("HOME is not set: say with --data-dir where data is kept");
        };
        Ok(data.join("sandpiper"))
    }
}

/// How a build of images reaches what it downloads.
#[expect(clippy::disallowed_methods, reason = "this is the one file")]
pub(crate) fn downloads(mirror: Option<String>) -> Downloads {
    Downloads { mirror, variables: std::env::vars_os().collect() }
}

/// What a host is prepared with, for `boxes` that run at once, and as many
/// `besides`.
pub(crate) fn host_settings(
    data: PathBuf,
    cgroup: Option<PathBuf>,
    boxes: usize,
    besides: usize,
) -> engine::HostSettings {
    let init = "/proc/self/exe".into();
    engine::HostSettings { init, data, cgroup, boxes, besides }
}

impl DoctorArgs {
    /// Memory that a box can come to take, in bytes.
    pub(crate) fn box_memory_bytes(&self) -> u64 {
        self.memory.max(self.compile_memory)
    }

    /// Boxes running at once.
    pub(crate) fn boxes(&self) -> usize {
        self.boxes.unwrap_or_else(default_boxes)
    }
}

impl SandboxArgs {
    /// Settings of an engine that runs one program at a time.
    pub(crate) fn engine_settings(&self) -> engine::Settings {
        engine::Settings {
            limits: self.limits.limits(),
            boxes: 1,
            queue_length: 1,
            queue_wait: default::QUEUE_WAIT,
            allow_missing_limits: self.allow_missing_limits,
            check_interval: engine::CHECK_INTERVAL,
            warm_memory_bytes: 0,
            artifact_bytes: 0,
        }
    }
}

/// One box per CPU core, but not fewer than the least.
fn default_boxes() -> usize {
    let cores = std::thread::available_parallelism();
    cores.map_or(1, NonZeroUsize::get).max(default::LEAST_BOXES)
}

/// Lets every flag be given as a variable too.
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

/// A variable that is set, and not empty.
fn variable(name: &str) -> Option<OsString> {
    raw_variable(name).filter(|value| !value.is_empty())
}

#[expect(clippy::disallowed_methods, reason = "this is the one file")]
fn raw_variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// A size as flags take it.
fn mebibytes(bytes: u64) -> String {
    format!("{}MiB", bytes / default::MIB)
}

/// A time as flags take it.
fn seconds(time: Duration) -> String {
    format!("{}s", time.as_secs_f64())
}
