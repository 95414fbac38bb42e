//! Settings: flags and variables as typed, and what the rooms take. The one
//! file that reads the environment.
//!
//! Every flag `--some-flag` can be given as the variable `SANDPIPER_SOME_FLAG`
//! as well; lists are then separated by commas. A flag wins over its variable;
//! an empty variable counts as not set.

mod limits;
mod values;

use std::ffi::OsString;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::{Context, bail};
use clap::builder::BoolishValueParser;
use clap::{Args, CommandFactory, FromArgMatches, Parser, Subcommand};
use ipnet::IpNet;
use sandpiper_engine::{self as engine, Limits, limits as default};
use sandpiper_server as server;

use limits::LimitArgs;
use values::AddressOrOff;

/// The port where neither `--listen` nor `PORT` is given.
const PORT: u16 = 8080;
/// Where metrics are shown, unless the operator says otherwise.
const ADMIN: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 9464);

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
    /// Folder for images and what belongs to running instances [default:
    /// /var/lib/sandpiper as root, else sandpiper in the XDG data folder]
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
    /// Build, list and remove the images that programs run in
    #[command(subcommand)]
    Images(ImagesCommand),
    /// Say what this host offers, and how to mend what is missing
    Doctor(DoctorArgs),
}

/// Flags of `serve`.
#[derive(Args, Debug)]
pub(crate) struct ServeArgs {
    /// Address and port to serve on [default: [::]:8080, or the port that
    /// the variable PORT names; IPv4 alone where IPv6 is off]
    #[arg(long, value_name = "HOST:PORT", value_parser = values::address)]
    listen: Option<SocketAddr>,

    /// Address and port of /metrics, or off [default: 127.0.0.1:9464]
    #[arg(long, value_name = "HOST:PORT",
        value_parser = values::address_or_off)]
    admin_listen: Option<AddressOrOff>,

    /// Compile requests of one client in a minute; 0 lifts the limit
    #[arg(long, value_name = "N",
        default_value_t = default::COMPILE_REQUESTS_PER_MINUTE)]
    compile_rate_limit: u32,

    /// Another limit for a network, such as a class behind one address
    /// (repeatable)
    #[arg(long, value_name = "CIDR=N", value_delimiter = ',',
        value_parser = values::rate_limit_for)]
    rate_limit_for: Vec<(IpNet, u32)>,

    /// Proxy whose X-Forwarded-For and Forwarded are believed (repeatable)
    #[arg(long, value_name = "CIDR", value_delimiter = ',',
        value_parser = values::network)]
    trusted_proxy: Vec<IpNet>,

    /// Sites that may frame the editor page, as in a Content-Security-Policy
    #[arg(long, value_name = "SOURCES", default_value = "*")]
    frame_ancestors: server::FrameAncestors,

    /// Memory of all products; then creating one fails
    #[arg(long, value_name = "SIZE", value_parser = values::size,
        default_value = mebibytes(default::PRODUCTS_BYTES))]
    products_memory: u64,

    /// Languages to serve, separated by commas [default: all]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) languages: Option<Vec<String>>,

    /// Runs that may wait for a box
    #[arg(long, value_name = "N", default_value_t = default::QUEUE_LENGTH)]
    queue: usize,

    /// How long a run may wait for a box
    #[arg(long, value_name = "TIME", value_parser = values::duration,
        default_value = seconds(default::QUEUE_WAIT))]
    queue_wait: Duration,

    /// Boxes running at once [default: one per CPU core, at least two]
    #[arg(long, value_name = "N")]
    boxes: Option<NonZeroUsize>,

    /// How long running requests may go on after SIGTERM or SIGINT
    #[arg(long, value_name = "TIME", value_parser = values::duration,
        default_value = "30s")]
    pub(crate) drain_time: Duration,

    #[command(flatten)]
    pub(crate) sandbox: SandboxArgs,
}

/// Flags of whatever runs programs.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Sandbox")]
pub(crate) struct SandboxArgs {
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

/// What to do with images.
#[derive(Subcommand, Debug)]
pub(crate) enum ImagesCommand {
    /// Build what is missing: the named images, or all
    Build {
        /// Images to build [default: all]
        #[arg(value_name = "NAME")]
        names: Vec<String>,
        /// Debian archive to take packages from [default: the one that this
        /// host's apt uses]
        #[arg(long, value_name = "URL")]
        mirror: Option<String>,
    },
    /// List the images that are there
    List,
    /// Remove images
    Remove {
        /// Names or hashes of images
        #[arg(value_name = "NAME", required = true)]
        names: Vec<String>,
    },
}

/// Flags of `doctor`.
#[derive(Args, Debug)]
pub(crate) struct DoctorArgs {
    /// As for serve
    #[arg(long, value_name = "PATH")]
    pub(crate) cgroup: Option<PathBuf>,

    /// As for serve
    #[arg(long, value_name = "N")]
    boxes: Option<NonZeroUsize>,

    /// As for serve
    #[arg(long, value_name = "SIZE", value_parser = values::memory,
        default_value = mebibytes(Limits::default().memory_bytes))]
    pub(crate) memory: u64,
}

/// Reads the command line and the environment; leaves the process with a
/// message where they are wrong, or where help was asked for.
pub(crate) fn parse() -> Cli {
    let matches = with_variables(Cli::command()).get_matches();
    Cli::from_arg_matches(&matches).unwrap_or_else(|error| error.exit())
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
        if rustix::process::geteuid().is_root() {
            return Ok("/var/lib/sandpiper".into());
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

/// What a host is prepared with, for `boxes` boxes at once.
pub(crate) fn host_settings(
    cgroup: Option<PathBuf>,
    boxes: usize,
) -> engine::HostSettings {
    engine::HostSettings {
        init: "/proc/self/exe".into(),
        run_dir: run_dir(),
        cgroup,
        boxes,
    }
}

/// The folder for the locks of this user's instances: one for all of them,
/// whatever their data folders, so that they see each other.
fn run_dir() -> PathBuf {
    let uid = rustix::process::geteuid();
    if uid.is_root() {
        return "/run/sandpiper".into();
    }
    match variable("XDG_RUNTIME_DIR").map(PathBuf::from) {
        Some(folder) if folder.is_absolute() => folder.join("sandpiper"),
        _ => format!("/tmp/sandpiper-{}", uid.as_raw()).into(),
    }
}

impl ServeArgs {
    /// Where to serve.
    ///
    /// # Errors
    /// `PORT` holds no port.
    pub(crate) fn listen(&self) -> anyhow::Result<SocketAddr> {
        if let Some(address) = self.listen {
            return Ok(address);
        }
        let port = match variable("PORT") {
            None => PORT,
            Some(text) => text
                .to_str()
                .and_then(|text| text.parse().ok())
                .with_context(|| {
                    format!(
                        "the variable PORT holds {text:?}: it must be a \
                             number from 0 to 65535"
                    )
                })?,
        };
        Ok((Ipv6Addr::UNSPECIFIED, port).into())
    }

    /// Where metrics are shown, and whether the operator chose that.
    pub(crate) fn admin_listen(&self) -> (Option<SocketAddr>, bool) {
        match self.admin_listen {
            Some(AddressOrOff(choice)) => (choice, true),
            None => (Some(ADMIN), false),
        }
    }

    /// Settings of the HTTP room.
    pub(crate) fn server_settings(&self) -> server::Settings {
        server::Settings {
            compile_rate_limit: self.compile_rate_limit,
            rate_limit_for: self.rate_limit_for.clone(),
            trusted_proxies: self.trusted_proxy.clone(),
            products_bytes: self.products_memory,
            frame_ancestors: self.frame_ancestors.clone(),
            ..server::Settings::default()
        }
    }

    /// Settings of the engine.
    pub(crate) fn engine_settings(&self) -> engine::Settings {
        engine::Settings {
            limits: self.sandbox.limits.limits(),
            boxes: self.boxes.map_or_else(default_boxes, NonZeroUsize::get),
            queue_length: self.queue,
            queue_wait: self.queue_wait,
            allow_missing_limits: self.sandbox.allow_missing_limits,
        }
    }
}

impl DoctorArgs {
    /// Boxes running at once.
    pub(crate) fn boxes(&self) -> usize {
        self.boxes.map_or_else(default_boxes, NonZeroUsize::get)
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
