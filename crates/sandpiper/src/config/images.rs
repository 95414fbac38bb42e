//! The flags of `images`.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{Args, Subcommand};
use sandpiper_engine::{EngineSettings, Limits, limits as default};

use super::values;

/// Time limit of a sample program.
const SAMPLE_TIME: Duration = Duration::from_secs(60);

/// A command on images.
#[derive(Subcommand, Debug)]
pub(crate) enum ImagesCommand {
    /// Build missing images: the named ones, or those of the chosen languages
    Build(BuildArgs),
    /// Resolve the packages of pip and npm that --image-additions adds to an
    /// image, and write them with their hashes to <image>.lock beside it
    Lock {
        /// Image whose packages to lock
        #[arg(value_name = "IMAGE")]
        image: String,
        /// Debian archive to download packages from [default: the one that this
        /// host's apt uses]
        #[arg(long, value_name = "URL")]
        mirror: Option<String>,
    },
    /// List images with their languages, toolchains, size and age
    List {
        /// Show every package, and the archives they came from
        #[arg(long, value_parser = BoolishValueParser::new())]
        verbose: bool,
    },
    /// Run the sample programs of the languages in the named images, or in all
    Check(Box<CheckArgs>),
    /// Write images to one file, for machines that cannot build them
    Export {
        /// File to write, or - for standard output
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Images to export [default: all that are built]
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
    /// Install the images in a file that `export` wrote
    Import {
        /// File to read, or - for standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Install images without running their sample programs, for example
        /// on a host that cannot make boxes. A server runs them in any case
        #[arg(long, value_parser = BoolishValueParser::new())]
        skip_check: bool,
    },
    /// Remove images
    Remove {
        /// Names or hashes of the images to remove
        #[arg(value_name = "NAME", required_unless_present = "unused")]
        names: Vec<String>,
        /// Remove the images that no recipe of this program or of the operator names,
        /// and that do not stand in for one that is not built
        #[arg(long, conflicts_with = "names",
            value_parser = BoolishValueParser::new())]
        unused: bool,
    },
}

/// Flags of `images build`.
#[derive(Args, Debug)]
pub(crate) struct BuildArgs {
    /// Images to build [default: those of --languages]
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,

    /// Build the images of these languages, separated by commas, if no image is
    /// named; "default" stands for those that are served unless you choose,
    /// "all" for every one that this program knows [default: default]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) languages: Option<Vec<String>>,

    /// Debian archive to download packages from [default: the one that this
    /// host's apt uses]
    #[arg(long, value_name = "URL")]
    pub(crate) mirror: Option<String>,

    /// Images to build at once [default: one per CPU core]
    #[arg(long, value_name = "N", value_parser = values::count(1_usize, 64))]
    jobs: Option<usize>,

    /// Install images without running their sample programs, for example on a
    /// host that cannot make boxes. A server runs them in any case
    #[arg(long, value_parser = BoolishValueParser::new())]
    pub(crate) skip_check: bool,
}

/// Flags of `images check`.
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// Images to check [default: all that are built]
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,

    /// Root filesystem of the named image, which is being built
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) rootfs: Option<PathBuf>,

    /// Control group in which the boxes' control groups are created [default:
    /// the one that this process is in]
    #[arg(long, value_name = "PATH")]
    pub(crate) cgroup: Option<PathBuf>,
}

impl BuildArgs {
    /// Returns the number of images that are built at once.
    pub(crate) fn jobs(&self) -> usize {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        self.jobs.unwrap_or_else(cores)
    }
}

/// Returns the settings of an engine that runs sample programs, one after the
/// other. The programs are ours, so they run even if the host cannot limit
/// them. They get more time, since other images may be building meanwhile.
pub(crate) fn check_settings() -> EngineSettings {
    let limits = Limits {
        run_wall_time: SAMPLE_TIME,
        run_cpu_time: SAMPLE_TIME,
        compile_wall_time: SAMPLE_TIME,
        ..Limits::default()
    };
    EngineSettings {
        limits,
        boxes: 1,
        live_boxes: 0,
        queue_length: 1,
        queue_wait: default::QUEUE_WAIT,
        allow_missing_limits: true,
        check_interval: default::CHECK_INTERVAL,
        pool_memory_bytes: 0,
        compile_cache_bytes: 0,
    }
}
