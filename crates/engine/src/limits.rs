//! Every default limit of the service, with its unit and what happens when it
//! is reached. The table in README.md is tested against this file.

use std::time::Duration;

/// One mebibyte.
pub const MIB: u64 = 1 << 20;

/// What one run may use. The operator sets these; a language may override
/// memory, output and processes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Wall clock of the run step. Reached: everything in the box is killed.
    pub run_wall_time: Duration,
    /// CPU time of all processes of the run step. Reached: the same.
    pub run_cpu_time: Duration,
    /// Wall clock and CPU time of the compile step. Reached: the same.
    pub compile_wall_time: Duration,
    /// Memory of all processes and the tmpfs of a box in the run step, in
    /// bytes. Reached: everything in the box is killed.
    pub memory_bytes: u64,
    /// The same in the compile step. Reached: the same.
    pub compile_memory_bytes: u64,
    /// Processes and threads of a box. Reached: fork fails with EAGAIN.
    pub processes: u32,
    /// Size of one file in bytes. Reached: writes fail with EFBIG.
    pub file_bytes: u64,
    /// All files written, in bytes. Reached: writes fail with ENOSPC.
    pub disk_bytes: u64,
    /// Number of files and folders. Reached: creating one fails with ENOSPC.
    pub inodes: u64,
    /// Open files of one process. Reached: open fails with EMFILE.
    pub open_files: u64,
    /// stdout and stderr, each, in bytes. Reached: everything in the box is
    /// killed and the first bytes are kept.
    pub output_bytes: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            run_wall_time: Duration::from_secs(10),
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
    /// Memory that a box can come to take, in bytes.
    pub fn box_memory_bytes(&self) -> u64 {
        self.memory_bytes.max(self.compile_memory_bytes)
    }
}

/// Compile requests of one client in a minute. Reached: 429 with Retry-After.
pub const COMPILE_REQUESTS_PER_MINUTE: u32 = 20;
/// The minute: no span of this length holds more of them.
pub const RATE_LIMIT_WINDOW: Duration = Duration::from_secs(60);
/// Body of a compile request in bytes. Reached: 413.
pub const COMPILE_BODY_BYTES: u64 = 2 * MIB;
/// Files in one compile request. Reached: 413.
pub const COMPILE_FILES: usize = 200;
/// Body of a products request in bytes. Reached: 413.
pub const PRODUCT_BODY_BYTES: u64 = MIB;
/// All products together, in bytes. Reached: 507.
pub const PRODUCTS_BYTES: u64 = 256 * MIB;
/// Runs waiting for a box. Reached: 503 with Retry-After.
pub const QUEUE_LENGTH: usize = 64;
/// Time a run may wait for a box. Reached: 503 with Retry-After.
pub const QUEUE_WAIT: Duration = Duration::from_secs(15);
/// Boxes running at once are one per CPU core, but at least this many.
/// Reached: further runs wait.
pub const LEAST_BOXES: usize = 2;

/// Memory of boxes that are made ahead of requests is a quarter of the
/// machine's, and this at most, in bytes. Reached: fewer are made ahead, and
/// programs that find none start cold.
pub const WARM_MEMORY_BYTES: u64 = 2048 * MIB;
/// Boxes made ahead that the host is prepared for, besides four for each that
/// may run. Reached: the same.
pub const READY_BOXES: usize = 8;
/// Those of one kind. Reached: the same.
pub const READY_BOXES_OF_A_KIND: usize = 8;
/// How long a box waits for a submission. Reached: another takes its place.
/// Servers in it do a little work all the time, which counts as theirs, and
/// its clocks tell a program how old it is.
pub const READY_BOX_AGE: Duration = Duration::from_secs(3_600);
/// Time to make a box ahead and to prepare it, when nothing else wants the
/// CPU. Reached: it is given up, and tried again later.
pub const PREPARE_AHEAD_TIME: Duration = Duration::from_secs(120);

/// Artifacts of compile steps that are kept for the same submission, in bytes;
/// one has a quarter of that at most. Reached: the one not used for longest
/// goes.
pub const ARTIFACTS_BYTES: u64 = 64 * MIB;

/// Time to make a box. Reached: 500, and the log says so: the host is stuck.
pub const PREPARE_TIME: Duration = Duration::from_secs(30);

/// Connections at once. Reached: those that only wait for a request are closed
/// for further ones, which wait until then.
pub const CONNECTIONS: usize = 2_048;
/// Connections of one client at once, an IPv6 /64 being one. Reached: the same
/// among its own; far beyond, further ones are closed.
pub const CLIENT_CONNECTIONS: usize = 1_024;
/// Head of a request in bytes. Reached: 431.
pub const HEAD_BYTES: usize = 64 << 10;
/// Time for the head of a request, the wait for it included. Reached: the
/// connection is closed.
pub const HEAD_TIME: Duration = Duration::from_secs(30);
/// Time for a whole body, from the end of the head. Reached: 408.
pub const BODY_TIME: Duration = Duration::from_secs(30);
/// All bodies over 64 KiB that are in memory at once, in bytes. Reached: they
/// wait, and are 503 when their time is up.
pub const BODIES_BYTES: u64 = 256 * MIB;
/// Time for a client to take an answer, besides a second for each 64 KiB.
/// Reached: the connection is closed.
pub const ANSWER_TIME: Duration = Duration::from_secs(30);
/// Large answers in memory that clients have not taken yet, in bytes. Reached:
/// lists and runs are 503 with Retry-After, and slow clients are closed.
pub const ANSWERS_BYTES: u64 = 256 * MIB;
/// Clients that the rate limit knows. Reached: the one idle longest goes.
pub const RATE_LIMIT_CLIENTS: usize = 100_000;
