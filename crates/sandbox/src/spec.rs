//! The description of a box and of a command, as plain values.

use std::hash::{DefaultHasher, Hasher};
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_bytes::ByteBuf;

/// A box: its root filesystem, and the limits of everything in it together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct BoxSpec {
    /// The root filesystem: a folder of the operator that holds `dev`, `proc`,
    /// `tmp`, `box` and `artifacts`. It is mounted read-only.
    pub rootfs: PathBuf,
    /// Maximum memory of all processes and the tmpfs in bytes, until a step
    /// sets another limit. At the limit the kernel kills, and the box ends with
    /// [`StepEnd::Memory`](crate::StepEnd::Memory).
    pub memory_bytes: u64,
    /// Maximum number of processes and threads. At the limit fork fails with
    /// EAGAIN.
    pub processes: u32,
    /// Maximum bytes in /box, /tmp and /dev/shm together. At the limit writing
    /// fails with ENOSPC.
    pub disk_bytes: u64,
    /// Maximum number of files and folders in these three, besides [`Inputs`].
    /// At the limit making one fails with ENOSPC.
    pub inodes: u64,
}

/// Files that are written into a box before a command starts.
#[derive(Clone, Copy, Debug, Default)]
pub struct Inputs<'a> {
    /// Files for the working directory. A path must be relative, have no `.`,
    /// `..` and empty segments, and not exist yet.
    pub files: &'a [BoxFile],
    /// The content for /artifacts, which must be empty. An earlier step of the
    /// same kind left it.
    pub compile_artifacts: &'a [CompileArtifact],
}

/// A file for the working directory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct BoxFile {
    /// Relative path below the working directory. Its folders are made.
    pub path: String,
    /// All bytes.
    #[serde(with = "serde_bytes")]
    pub content: Vec<u8>,
}

/// A file or folder that a step left in /artifacts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CompileArtifact {
    /// Relative path below /artifacts. Its folder comes before it in a list.
    pub path: String,
    /// Its permissions, as chmod(2) takes them.
    pub mode: u32,
    /// The content of a file; `None` for a folder.
    pub content: Option<ByteBuf>,
}

/// The files that a step is to return: those below /box that are not as they
/// were submitted, and the *displays*, files in /tmp/.display that a runtime
/// made for people to see.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize,
)]
pub struct FilesSpec {
    /// Patterns of paths below /box; a file that none matches is left out. `*`
    /// and `?` stand for characters of one segment, and a segment `**` for any
    /// number of segments. If there is no pattern, all files match.
    pub patterns: Vec<String>,
    /// The submitted files.
    pub submitted: Vec<Fingerprint>,
    /// Maximum number of files.
    pub max_files: usize,
    /// Maximum bytes of all files.
    pub max_bytes: u64,
    /// Maximum wall clock to read them. Beyond it none is returned.
    pub wall_time: Duration,
}

/// The identity of a submitted file.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Fingerprint {
    path: String,
    bytes: u64,
    hash: u64,
}

impl Fingerprint {
    /// Returns the fingerprint of a file with this path and content.
    pub fn of(path: &str, content: &[u8]) -> Self {
        // Only the program itself could make another file with the same hash,
        // and it would hide nothing but its own file.
        let mut hasher = DefaultHasher::new();
        hasher.write(content);
        let (path, hash) = (path.to_owned(), hasher.finish());
        Self { path, bytes: content.len() as u64, hash }
    }

    /// Returns the path below the working directory.
    pub(crate) fn path(&self) -> &str {
        &self.path
    }

    /// Returns the number of bytes.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

/// One command to run in a box.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct StepSpec {
    /// The program, as an absolute path in the box, and its arguments.
    pub command: Vec<String>,
    /// The whole environment.
    pub environment: Vec<(String, String)>,
    /// For a launcher that prepares: the text that it reads at its gate,
    /// descriptor 3, when the files are in the working directory. `None` if the
    /// command has no gate.
    pub gate: Option<String>,
    /// Bytes for standard input, which then ends.
    pub stdin: Vec<u8>,
    /// Whether programs can write to /artifacts.
    pub artifacts_writable: bool,
    /// Return the content of /artifacts after an exit with 0, up to this many
    /// bytes, names included. There must be only files and folders in it.
    pub keep_compile_artifacts: Option<u64>,
    /// Return files that the step leaves, whatever its exit status is. After a
    /// limit there are none: the box is dead.
    pub keep_files: Option<FilesSpec>,
    /// Measure [`StepOutcome::memory_peak`](crate::StepOutcome::memory_peak).
    pub measure_memory: bool,
    /// Maximum memory of the box from this step on, in bytes. If more is in use
    /// already, the box ends with [`StepEnd::Memory`](crate::StepEnd::Memory).
    /// `None` leaves the limit as it is.
    pub memory_bytes: Option<u64>,
    /// Maximum wall time, from the moment at which the request is sent to init.
    /// Writing [`Inputs`] counts. At the limit everything in the box is killed.
    pub wall_time: Duration,
    /// Maximum CPU time of all processes of the step. At the limit everything
    /// in the box is killed.
    pub cpu_time: Duration,
    /// Maximum bytes of stdout, and of stderr. At the limit everything in the
    /// box is killed, and the first bytes are kept.
    pub output_bytes: u64,
    /// Maximum size of one file in bytes. At the limit writing fails with
    /// EFBIG.
    pub file_bytes: u64,
    /// Maximum number of open files of one process. At the limit opening fails
    /// with EMFILE.
    pub open_files: u64,
}

impl StepSpec {
    /// Returns whether a launcher that was started for this step can serve
    /// `other`: everything that is fixed at its start must be the same. Its
    /// rlimit of CPU time may be higher, because the group's count decides.
    pub(crate) fn starts_as(&self, other: &Self) -> bool {
        self.gate.is_some() == other.gate.is_some()
            && self.command == other.command
            && self.environment == other.environment
            && self.cpu_time >= other.cpu_time
            && self.file_bytes == other.file_bytes
            && self.open_files == other.open_files
    }
}
