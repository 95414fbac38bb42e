//! Processes of boxes, as the host sees them. Tests wait for their actions.

use std::fs;
use std::os::fd::OwnedFd;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal, kill_process, pidfd_open};

use crate::fixture::PATIENCE;

/// Finds the probe in a box of this process that has this unique argument.
pub(crate) fn find(argument: &str) -> Option<Pid> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut paths = processes.map(|process| process.path());
    let found = paths.find(|process| {
        let command = fs::read_to_string(process.join("cmdline"));
        let command = command.unwrap_or_default();
        command.starts_with("/bin/probe\0")
            && command.split('\0').any(|own| own == argument)
            && is_ours(&status_of(process))
    })?;
    let pid = found.file_name()?.to_str()?.parse().ok()?;
    Pid::from_raw(pid)
}

pub(crate) async fn until_it_runs(argument: &str) {
    until(|| find(argument).is_some(), argument).await;
}

/// Opens a pidfd, which names the same process even after its end.
pub(crate) fn open(argument: &str) -> OwnedFd {
    pidfd_open(find(argument).unwrap(), PidfdFlags::empty()).unwrap()
}

pub(crate) fn has_ended(process: &OwnedFd) -> bool {
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    let mut ready = [PollFd::new(process, PollFlags::IN)];
    poll(&mut ready, Some(&now)).unwrap() == 1
}

pub(crate) fn kill(argument: &str) {
    kill_process(find(argument).unwrap(), Signal::KILL).unwrap();
}

/// Waits for a condition for which there is no event.
pub(crate) async fn until(mut is_so: impl FnMut() -> bool, what: &str) {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        assert!(Instant::now() < deadline, "in vain: {what}");
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Whether a process descends from this one, by pid 1 of its box, init's outer
/// half and the fork server.
pub(crate) fn is_ours(status: &str) -> bool {
    let own = std::process::id().to_string();
    let mut status = status.to_owned();
    for _ in 0..4 {
        let parent = field(&status, "PPid:").last().unwrap_or_default();
        if parent == own {
            return true;
        }
        status = status_of(&Path::new("/proc").join(parent));
    }
    false
}

pub(crate) fn status_of(process: &Path) -> String {
    // Empty if the process is gone.
    fs::read_to_string(process.join("status")).unwrap_or_default()
}

pub(crate) fn field<'a>(
    status: &'a str,
    name: &str,
) -> impl Iterator<Item = &'a str> + use<'a> {
    let rest = status.lines().find_map(|line| line.strip_prefix(name));
    rest.unwrap_or_default().split_whitespace()
}
