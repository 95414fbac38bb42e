//! Waits for the first limit of a running command that is reached.

use std::future::pending;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::Duration;

use tokio::io::Interest;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::cgroup::{Group, OutOfMemory};
use crate::process_handles::ProcessHandles;
use crate::uncharged::Uncharged;
use crate::{StepEnd, StepSpec, sys};

/// Maximum memory that the kernel takes for a box, in bytes. A program with 16,384
/// files and 100 threads takes 18 MiB.
pub const MAX_KERNEL_BYTES: u64 = 48 << 20;

/// The limits that an [`Attachment`](crate::Attachment) adds.
pub(crate) struct Watched<'a> {
    pub(crate) stop: Option<&'a mut watch::Receiver<bool>>,
    pub(crate) idle_time: Option<Duration>,
    /// Notified at each output and input.
    pub(crate) activity: watch::Receiver<()>,
}

/// Resolves with the first limit that is reached, or when the caller stops the
/// command.
pub(crate) async fn first_limit(
    ProcessHandles { group, uncharged, .. }: &ProcessHandles,
    cpu_before: Option<Duration>,
    spec: &StepSpec,
    overflow: watch::Receiver<bool>,
    Watched { stop, idle_time, activity }: Watched<'_>,
) -> StepEnd {
    tokio::select! {
        biased;
        () = stopped(stop) => StepEnd::Stopped,
        () = out_of_memory(group) => StepEnd::Memory,
        () = too_much_uncharged(uncharged.as_ref()) => StepEnd::Memory,
        () = too_much_of_kernel(group) => StepEnd::Memory,
        () = overflowed(overflow) => StepEnd::Output,
        () = cpu_time_spent(group, cpu_before, spec.cpu_time) => StepEnd::CpuTime,
        () = sleep(spec.wall_time) => StepEnd::WallTime,
        () = idle(idle_time, activity) => StepEnd::Idle,
    }
}

/// Resolves when the caller ends the command.
async fn stopped(stop: Option<&mut watch::Receiver<bool>>) {
    if let Some(stop) = stop
        && stop.wait_for(|&stop| stop).await.is_ok()
    {
        return;
    }
    // Nobody is left who could.
    pending().await
}

/// Resolves when there was neither output nor input for this long.
async fn idle(time: Option<Duration>, mut activity: watch::Receiver<()>) {
    let Some(time) = time else { return pending().await };
    loop {
        match timeout(time, activity.changed()).await {
            Ok(Ok(())) => {}
            // The streams have ended, and cannot say anything more.
            Ok(Err(_)) => return sleep(time).await,
            Err(_) => return,
        }
    }
}

async fn too_much_uncharged(counts: Option<&Uncharged>) {
    match counts {
        Some(counts) => counts.too_much().await,
        None => pending().await,
    }
}

/// Resolves when the kernel keeps too much memory for the box. Beside it there may
/// be memory that no group is charged for and that nothing counts: locks of
/// processes that have ended. Each needs an open file, with a mapping or a
/// descriptor. For each byte that is charged here, the locks take up to 0.6 bytes.
/// Before Linux 6.13 a mapping of a file of the image takes 256 bytes beside 200.
async fn too_much_of_kernel(group: &Group) {
    const INTERVAL: Duration = Duration::from_millis(20);
    loop {
        sleep(INTERVAL).await;
        match group.kernel_bytes() {
            Some(..=MAX_KERNEL_BYTES) => {}
            Some(_) => return,
            // The host does not count it.
            None => return pending().await,
        }
    }
}

/// Resolves when one of the streams passes its limit.
async fn overflowed(mut overflow: watch::Receiver<bool>) {
    if overflow.wait_for(|&over| over).await.is_err() {
        // Both streams ended within their limits.
        pending::<()>().await;
    }
}

/// Resolves when the kernel reports that the box is out of memory. Never
/// resolves if the kernel cannot report it.
async fn out_of_memory(group: &Group) {
    let watched = match group.out_of_memory() {
        Some(OutOfMemory::V1(event, _)) => killed_v1(event, group).await,
        // The file reports every change, such as a process that was throttled.
        // Only a kill ends the box.
        Some(OutOfMemory::V2(events)) => {
            changed(events, Interest::PRIORITY, || group.killed_for_memory())
                .await
        }
        None => pending().await,
    };
    if let Err(error) = watched {
        tracing::error!(%error, "cannot watch a box's memory");
        pending::<()>().await;
    }
}

/// Resolves when the kernel has killed in this group. The event comes just
/// before the kill, and to every group below the one whose memory is used up.
/// In a small container this is every box, though only one loses a process.
async fn killed_v1(event: &OwnedFd, group: &Group) -> io::Result<()> {
    /// Pauses in milliseconds. In all they are far longer than a kill takes.
    const PAUSES_MS: [u64; 5] = [0, 1, 10, 100, 1_000];
    loop {
        changed(event, Interest::READABLE, || true).await?;
        // Reset it first: a later kill is then another event. This read never
        // blocks.
        let _ = rustix::io::read(event, &mut [0_u8; 8]);
        for pause in PAUSES_MS.map(Duration::from_millis) {
            sleep(pause).await;
            if group.killed_for_memory() {
                return Ok(());
            }
        }
    }
}

/// Resolves when `source` reports a change and `is_end` holds then.
async fn changed(
    source: &impl AsFd,
    interest: Interest,
    is_end: impl Fn() -> bool,
) -> io::Result<()> {
    let own = source.as_fd().try_clone_to_owned()?;
    let watched = sys::watch(own, interest)?;
    loop {
        let mut ready = watched.ready(interest).await?;
        if is_end() {
            return Ok(());
        }
        ready.clear_ready();
    }
}

/// Resolves when the box has used its CPU time. It checks when the limit can have
/// been reached, that is with every core busy since the last check. A program may
/// have more cores than the server, if that was bound to some.
async fn cpu_time_spent(
    group: &Group,
    cpu_before: Option<Duration>,
    limit: Duration,
) {
    const MIN_PAUSE: Duration = Duration::from_millis(10);
    const MAX_PAUSE: Duration = Duration::from_millis(500);
    let Some(before) = cpu_before else { return pending().await };
    // This is one system call. std would read files at every step.
    let cores = rustix::thread::sched_getaffinity(None)
        .map_or(1, |cores| cores.count().max(1));
    let mut left = limit;
    loop {
        sleep((left / cores).clamp(MIN_PAUSE, MAX_PAUSE)).await;
        let used = group.cpu_time().unwrap_or(before).saturating_sub(before);
        match limit.checked_sub(used).filter(|left| !left.is_zero()) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::Instant;

    use super::*;

    /// The time begins anew with each activity, and not without one.
    #[tokio::test(start_paused = true)]
    async fn a_command_is_idle_from_its_last_activity() {
        const IDLE_TIME: Duration = Duration::from_secs(10);
        let (activity, seen) = watch::channel(());
        let begun = Instant::now();
        let active = async {
            for _ in 0..3 {
                sleep(Duration::from_secs(9)).await;
                activity.send_replace(());
            }
            pending::<()>().await
        };
        tokio::select! {
            () = idle(Some(IDLE_TIME), seen) => {}
            () = active => {}
        }
        assert_eq!(begun.elapsed().as_secs(), 3 * 9 + 10);
    }
}
