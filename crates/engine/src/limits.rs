//! The default limits of a run and of the engine, with their units and the effect
//! of reaching them. The table of limits in the docs is tested against this file
//! and `crates/server/src/limits.rs`. Bounds that no operator can change are where
//! they are enforced: of sockets, locks and kernel memory in the sandbox, of
//! paths and arguments in the languages. The docs are tested against these, too.

use std::time::Duration;

/// One mebibyte.
pub const MIB: u64 = 1 << 20;

/// The limits of one run. The operator sets them; a language may override
/// memory, output and processes, and a client may lower some
/// (`effective_limits.rs`).
///
/// The wall clock, the CPU time and the memory are those of a step, not of the
/// whole run: the run step is the program itself, and some languages have a
/// compile step before it. The wait for a box and the making of it count for
/// neither.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Wall clock of the run step. Beyond it: everything in the box is killed.
    pub run_wall_time: Duration,
    /// Wall clock of the run step of a live run. Beyond it: everything in
    /// the box is killed.
    pub live_wall_time: Duration,
    /// Time of a live run with neither output nor input. Beyond it:
    /// everything in the box is killed.
    pub live_idle_time: Duration,
    /// CPU time of all processes of the run step. Beyond it: everything in the
    /// box is killed.
    pub run_cpu_time: Duration,
    /// Wall clock of the compile step, and its CPU time. Beyond it: everything
    /// in the box is killed.
    pub compile_wall_time: Duration,
    /// Memory of all processes and the tmpfs of a box in the run step, in
    /// bytes. Beyond it: everything in the box is killed.
    pub memory_bytes: u64,
    /// Memory of all processes and the tmpfs of a box in the compile step, in
    /// bytes. Beyond it: everything in the box is killed.
    pub compile_memory_bytes: u64,
    /// Processes and threads of a box. Beyond it: fork fails with EAGAIN.
    pub processes: u32,
    /// Size of one file, in bytes. Beyond it: writes fail with EFBIG.
    pub file_bytes: u64,
    /// All files that are written, in bytes. Beyond it: writes fail with
    /// ENOSPC.
    pub disk_bytes: u64,
    /// Number of files and folders. Beyond it: creating one fails with ENOSPC.
    pub inodes: u64,
    /// Open files of one process. Beyond it: open fails with EMFILE.
    pub open_files: u64,
    /// stdout and stderr, each, in bytes. Beyond it: everything in the box is
    /// killed, and the first bytes are kept.
    pub output_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            run_wall_time: Duration::from_secs(10),
            live_wall_time: Duration::from_secs(300),
            live_idle_time: Duration::from_secs(60),
            run_cpu_time: Duration::from_secs(10),
            compile_wall_time: Duration::from_secs(20),
            memory_bytes: 512 * MIB,
            compile_memory_bytes: 1_024 * MIB,
            processes: 128,
            file_bytes: 64 * MIB,
            disk_bytes: 128 * MIB,
            inodes: 16_384,
            open_files: 1_024,
            output_bytes: MIB,
        }
    }
}

impl Limits {
    /// Returns the most memory that a box can take, in bytes.
    pub fn box_memory_bytes(&self) -> u64 {
        self.memory_bytes.max(self.compile_memory_bytes)
    }

    /// Returns the wall clock of finding the line of a crash, and its CPU time: a
    /// machine that is slow to compile is slow to find it. Beyond it: the crash
    /// has no line.
    pub fn crash_time(&self) -> Duration {
        self.compile_wall_time / 4
    }
}

/// Files that a run returns. Beyond it: the rest is listed as skipped.
pub const MAX_FILES: usize = 32;
/// Bytes of all files that a run returns. Beyond it: the rest is listed as
/// skipped.
pub const FILES_BYTES: u64 = 4 * MIB;
/// Wall clock of reading these files. Beyond it: none is returned, and the
/// working directory is listed as skipped.
pub const FILES_TIME: Duration = Duration::from_secs(5);

/// Runs that wait for a box. Beyond it: a further run is refused, or the newest
/// of the client with the most if the further one's client has none.
pub const QUEUE_LENGTH: usize = 64;
/// Time that a run may wait for a box. Beyond it: it is refused.
pub const QUEUE_WAIT: Duration = Duration::from_secs(15);
/// Boxes that run at once are one for each CPU core, but at least this many.
/// Beyond it: further runs wait.
pub const MIN_BOXES: usize = 2;
/// By default they are at most half of the boxes that there can be. The others are
/// for live runs, or are made ahead.
pub const MAX_DEFAULT_BOXES: usize = sandpiper_sandbox::MAX_BOXES / 2;
/// Time to make a box. Beyond it: the run fails, and the log says so: the host
/// is stuck.
pub const MAKE_TIME: Duration = Duration::from_secs(30);

/// Memory of the pool, in bytes, unless a quarter of the machine's memory
/// is less. Beyond it: fewer boxes are made ahead, and programs that find none
/// start cold.
pub const POOL_MEMORY_BYTES: u64 = 2048 * MIB;
/// Boxes of the pool that the host is set up for, plus four for each
/// box that may run. Beyond it: no more boxes are made ahead.
pub const POOL_BOXES: usize = 16;
/// Boxes of the pool with one key. Beyond it: no more of them are made
/// ahead.
pub const POOL_BOXES_PER_KEY: usize = 8;
/// Time that a box of the pool waits for a submission. Beyond it: another
/// box takes its place. Servers in a box do a little work all the time, which
/// counts as theirs, and the box's clocks show its age to a program.
pub const POOL_BOX_AGE: Duration = Duration::from_secs(3_600);
/// Time to make a box ahead and to prepare it, with the least CPU share.
/// Beyond it: the box is given up, and another is tried later.
pub const MAKE_AHEAD_TIME: Duration = Duration::from_secs(120);

/// Compile artifacts that are kept, in bytes. One submission has at most a
/// quarter of it, and 16 MiB at most. Beyond it: the compile artifacts not used
/// for longest go.
pub const COMPILE_CACHE_BYTES: u64 = 64 * MIB;

/// Time from the last success of a language to its next self-test.
pub const CHECK_INTERVAL: Duration = Duration::from_secs(300);
