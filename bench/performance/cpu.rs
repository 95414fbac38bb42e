//! What processes have used of the CPU.

use std::fs;
use std::time::Duration;

use sandpiper_testkit::traces::descendants;

/// CPU time of a process and all below it, to the nanosecond; threads that
/// have ended are not in it.
pub(crate) fn used(process: i32) -> Duration {
    let nanoseconds = descendants(process).into_iter().map(of_one).sum();
    Duration::from_nanos(nanoseconds)
}

fn of_one(process: i32) -> u64 {
    let threads = fs::read_dir(format!("/proc/{process}/task"));
    let threads = threads.into_iter().flatten().flatten();
    let of_thread = |thread: fs::DirEntry| {
        let text = fs::read_to_string(thread.path().join("schedstat")).ok()?;
        text.split(' ').next()?.parse::<u64>().ok()
    };
    threads.filter_map(of_thread).sum()
}
