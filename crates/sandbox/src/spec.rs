//! What a box is made of and what is run in it, in plain values.

use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

/// A box: its root filesystem and the limits of everything in it together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BoxSpec {
    /// The root filesystem: a folder of the operator's that holds `dev`,
    /// `proc`, `tmp`, `box` and `artifacts`. Mounted read-only.
    pub rootfs: PathBuf,
    /// Memory of all processes and the tmpfs, in bytes, until a step has
    /// another limit. Reached: the kernel kills, and the box ends with
    /// [`Stop::Memory`](crate::Stop::Memory).
    pub memory_bytes: u64,
    /// Processes and threads. Reached: fork fails with EAGAIN.
    pub processes: u32,
    /// Bytes in /box, /tmp and /dev/shm together. Reached: ENOSPC.
    pub disk_bytes: u64,
    /// Files and folders in them, besides [`Inputs`]. Reached: ENOSPC.
    pub inodes: u64,
}

/// What is written into a box before a command starts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inputs<'a> {
    /// Into the working directory. A path must be relative, without `.`, `..`
    /// and empty segments, and not be there yet.
    pub files: &'a [BoxFile],
    /// Into /artifacts, which must be empty: what an earlier step of the same
    /// kind left there.
    pub artifacts: &'a [Artifact],
}

/// A file for the working directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoxFile {
    /// Relative path below the working directory; parents are made.
    pub path: String,
    /// The whole text.
    pub content: String,
}

/// A file or folder that a step left in /artifacts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Artifact {
    /// Relative path below /artifacts; its folder comes before it.
    pub path: String,
    /// Its permissions, as chmod(2) takes them.
    pub mode: u32,
    /// What is in it; `None` for a folder.
    pub content: Option<ByteBuf>,
}

/// One command to run in a box.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StepSpec {
    /// Program (absolute path in the box) and arguments.
    pub command: Vec<String>,
    /// The whole environment.
    pub environment: Vec<(String, String)>,
    /// For a launcher that prepares: what it reads at its gate, descriptor 3,
    /// when the files stand in the working directory. `None`: the command has
    /// no gate.
    pub gate: Option<String>,
    /// Bytes for standard input, which then ends.
    pub stdin: Vec<u8>,
    /// Whether /artifacts can be written.
    pub artifacts_writable: bool,
    /// Hand over what is in /artifacts after an exit with 0, where that is not
    /// more bytes than this, names included, and files and folders only.
    pub keep_artifacts: Option<u64>,
    /// Memory of the box from here on, in bytes. Where more is in use already
    /// the box ends with [`Stop::Memory`](crate::Stop::Memory). `None`: as
    /// before.
    pub memory_bytes: Option<u64>,
    /// Wall clock, from when init is asked; writing [`Inputs`] counts. Reached:
    /// everything in the box is killed.
    pub wall_time: Duration,
    /// CPU time of all processes of the step. Reached: the same.
    pub cpu_time: Duration,
    /// Cap of stdout and of stderr, each, in bytes. Reached: the same, and the
    /// first bytes are kept.
    pub output_bytes: u64,
    /// Size of one file in bytes. Reached: EFBIG.
    pub file_bytes: u64,
    /// Open files of one process. Reached: EMFILE.
    pub open_files: u64,
}

impl StepSpec {
    /// Whether a launcher that was started for this step can serve `other`:
    /// all that was fixed when it started is the same.
    pub(crate) fn starts_as(&self, other: &Self) -> bool {
        self.gate.is_some() == other.gate.is_some()
            && self.command == other.command
            && self.environment == other.environment
            && self.cpu_time == other.cpu_time
            && self.file_bytes == other.file_bytes
            && self.open_files == other.open_files
    }
}
