//! The flags that limit one run.

use std::time::Duration;

use clap::Args;
use sandpiper_engine::Limits;

use super::{mebibytes, seconds, values};

/// Each flag's default is that of [`Limits`].
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Limits of one run")]
pub(crate) struct LimitArgs {
    /// Wall-clock time of the run step; one that takes longer is killed
    #[arg(long, value_name = "TIME", value_parser = values::positive_duration,
        default_value = seconds(Limits::default().run_wall_time))]
    run_wall_time: Duration,

    /// Wall-clock time of a live run; one that takes longer is killed
    #[arg(long, value_name = "TIME", value_parser = values::positive_duration,
        default_value = seconds(Limits::default().live_wall_time))]
    live_wall_time: Duration,

    /// Time of a live run with neither output nor input; after that it is
    /// killed
    #[arg(long, value_name = "TIME", value_parser = values::positive_duration,
        default_value = seconds(Limits::default().live_idle_time))]
    live_idle_time: Duration,

    /// Total CPU time of all processes of the run step; one that uses more is
    /// killed
    #[arg(long, value_name = "TIME", value_parser = values::positive_duration,
        default_value = seconds(Limits::default().run_cpu_time))]
    run_cpu_time: Duration,

    /// Wall-clock time and CPU time of the compile step; one that takes longer is
    /// killed
    #[arg(long, value_name = "TIME", value_parser = values::positive_duration,
        default_value = seconds(Limits::default().compile_wall_time))]
    compile_wall_time: Duration,

    /// Memory of the run step, including its files; one that uses more is
    /// killed. A language's own limit takes its place
    #[arg(long, value_name = "SIZE", value_parser = values::memory,
        default_value = mebibytes(Limits::default().memory_bytes))]
    memory: u64,

    /// Memory of the compile step, including its files; one that uses more is
    /// killed
    #[arg(long, value_name = "SIZE", value_parser = values::memory,
        default_value = mebibytes(Limits::default().compile_memory_bytes))]
    compile_memory: u64,

    /// Processes and threads that a program may have at once; beyond this,
    /// starting another fails in the program. A language's own limit takes its
    /// place
    #[arg(long, value_name = "N",
        value_parser = values::count(4_u32, 32_768),
        default_value_t = Limits::default().processes)]
    processes: u32,

    /// Size of one file; beyond this, writing to it fails in the program
    #[arg(long, value_name = "SIZE", value_parser = values::size,
        default_value = mebibytes(Limits::default().file_bytes))]
    file_size: u64,

    /// Size of all files in a box at one time; beyond this, writing fails in
    /// the program
    #[arg(long, value_name = "SIZE", value_parser = values::size,
        default_value = mebibytes(Limits::default().disk_bytes))]
    disk_size: u64,

    /// Files and folders that a run may have; beyond this, creating another fails
    /// in the program
    #[arg(long, value_name = "N",
        value_parser = values::count(64_u64, 1 << 32),
        default_value_t = Limits::default().inodes)]
    inodes: u64,

    /// Open files of one process; beyond this, opening another fails in the
    /// program
    #[arg(long, value_name = "N",
        value_parser = values::count(16_u64, 1 << 20),
        default_value_t = Limits::default().open_files)]
    open_files: u64,

    /// Size of stdout, and of stderr; a step that writes more to one of them is
    /// killed, and the bytes up to this size are returned. A language's own limit
    /// takes its place
    #[arg(long, value_name = "SIZE", value_parser = values::size,
        default_value = mebibytes(Limits::default().output_bytes))]
    output_size: u64,
}

impl LimitArgs {
    /// Returns the limits as the engine takes them.
    pub(crate) fn limits(&self) -> Limits {
        Limits {
            run_wall_time: self.run_wall_time,
            live_wall_time: self.live_wall_time,
            live_idle_time: self.live_idle_time,
            run_cpu_time: self.run_cpu_time,
            compile_wall_time: self.compile_wall_time,
            memory_bytes: self.memory,
            compile_memory_bytes: self.compile_memory,
            processes: self.processes,
            file_bytes: self.file_size,
            disk_bytes: self.disk_size,
            inodes: self.inodes,
            open_files: self.open_files,
            output_bytes: self.output_size,
        }
    }
}
