//! The options of a client for one run, beside its submission.

use std::time::Duration;

use crate::files::FilesWanted;

/// The options of a client for one run. By default there are none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunOptions {
    /// Limits below the server's.
    pub limits: LowerLimits,
    /// The files to return.
    pub files: Option<FilesWanted>,
    /// Return the messages of a compile step that succeeds. The program is then
    /// compiled even if compile artifacts of the same submission are kept.
    pub warnings: bool,
    /// Find the place of a crash. It takes a further command in the box.
    pub crash: bool,
    /// Measure the memory of the run.
    pub measure_memory: bool,
}

/// Limits of the run step. A value above the server's limit changes nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LowerLimits {
    /// Wall clock.
    pub wall_time: Option<Duration>,
    /// CPU time of all processes.
    pub cpu_time: Option<Duration>,
    /// stdout and stderr, each, in bytes.
    pub output_bytes: Option<u64>,
    /// Memory of the box, in bytes. The run then starts in a cold box, because
    /// launchers size their heaps when they start.
    pub memory_bytes: Option<u64>,
}
