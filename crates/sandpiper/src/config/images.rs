//! The flags of `images`.

use std::path::PathBuf;
use std::thread;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{Args, Subcommand};
use sandpiper_engine::{self as engine, Limits, limits as default};

use super::values;

/// Time that a sample program may take.
const SAMPLE_TIME: Duration = Duration::from_secs(60);

/// What to do with images.
#[derive(Subcommand, Debug)]
pub(crate) enum ImagesCommand {
    /// Build what is missing: the named images, or all
    Build(BuildArgs),
    /// List the images that are there: languages, toolchains, size, age
    List {
        /// Tell every package, and the archives they came from
        #[arg(long, value_parser = BoolishValueParser::new())]
        verbose: bool,
    },
    /// Run the sample programs of the languages, in the named images or all
    Check(Box<CheckArgs>),
    /// Write images to one file, for machines that cannot build
    Export {
        /// The file, or - for standard output
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// Images to export [default: all that are there]
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
    /// Install the images of a file that `export` wrote
    Import {
        /// The file, or - for standard input
        #[arg(value_name = "FILE")]
        file: PathBuf,
        /// As for build
        #[arg(long, value_parser = BoolishValueParser::new())]
        skip_check: bool,
    },
    /// Remove images
    Remove {
        /// Names or hashes of images
        #[arg(value_name = "NAME", required_unless_present = "unused")]
        names: Vec<String>,
        /// Those that another version of this program has built
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

    /// As for serve: where no image is named, those of these are built
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(crate) languages: Option<Vec<String>>,

    /// Debian archive to take packages from [default: the one that this
    /// host's apt uses]
    #[arg(long, value_name = "URL")]
    pub(crate) mirror: Option<String>,

    /// Images to build at once [default: one for each core]
    #[arg(long, value_name = "N", value_parser = values::count(1_usize, 64))]
    jobs: Option<usize>,

    /// Install images in which no program was run, as on a host that cannot
    /// make boxes. A server runs the sample programs in any case
    #[arg(long, value_parser = BoolishValueParser::new())]
    pub(crate) skip_check: bool,
}

/// Flags of `images check`.
#[derive(Args, Debug)]
pub(crate) struct CheckArgs {
    /// Images to check [default: all that are there]
    #[arg(value_name = "NAME")]
    pub(crate) names: Vec<String>,

    /// Root filesystem of the one image that is named, while it is being made
    #[arg(long, value_name = "DIR", hide = true)]
    pub(crate) rootfs: Option<PathBuf>,

    /// As for serve
    #[arg(long, value_name = "PATH")]
    pub(crate) cgroup: Option<PathBuf>,
}

impl BuildArgs {
    /// Images that are built at once.
    pub(crate) fn jobs(&self) -> usize {
        let cores = || thread::available_parallelism().map_or(1, usize::from);
        self.jobs.unwrap_or_else(cores)
    }
}

/// Settings of an engine that runs sample programs, one after the other. They
/// are ours, so limits that the host lacks are no reason to refuse them; and
/// an image that is checked while others are built needs more time.
pub(crate) fn check_settings() -> engine::Settings {
    let limits = Limits {
        run_wall_time: SAMPLE_TIME,
        run_cpu_time: SAMPLE_TIME,
        compile_wall_time: SAMPLE_TIME,
        ..Limits::default()
    };
    engine::Settings {
        limits,
        boxes: 1,
        queue_length: 1,
        queue_wait: default::QUEUE_WAIT,
        allow_missing_limits: true,
        check_interval: default::CHECK_INTERVAL,
        warm_memory_bytes: 0,
        artifact_bytes: 0,
    }
}
