//! Counts the sockets and file locks of a box while a program runs. The kernel
//! charges no control group for the memory that they take.
//!
//! Packets of a connection that nobody has accepted yet are not charged, nor the
//! pages that bytes of TCP keep (`init.rs`). Before Linux 6.13, nor are datagrams
//! that come back with a time stamp. In version 1 each socket may also hold one
//! packet more than its limit. Locks are not charged at all, and no rlimit bounds
//! their number. The kernel has no event for either, so they are counted regularly.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use tokio::sync::{Semaphore, oneshot};
use tokio::time::sleep;

/// Maximum number of sockets of a box that are not Unix sockets. Connections that
/// nobody has accepted count, too. Each can keep some 5 MiB that nobody is charged
/// for, or less than 1 MiB if the host gives networks no large pages.
pub const MAX_SOCKETS: usize = 64;
/// Maximum number of locks of a box, of 200 bytes each.
pub const MAX_LOCKS: usize = 1_000;
/// Maximum number of Unix sockets of a box. Of each connection that nobody has
/// accepted, 1 KiB is not charged.
pub const MAX_UNIX_SOCKETS: usize = 4_096;
const SOCKETS_INTERVAL: Duration = Duration::from_millis(5);
const LOCKS_INTERVAL: Duration = Duration::from_millis(20);
/// The pause after counting locks, as a multiple of the CPU time that it took.
const PAUSE_FACTOR: u32 = 20;
/// The longest pause, also if a program makes counting slow.
const MAX_PAUSE: Duration = Duration::from_millis(100);

/// Of all boxes, one is counted at a time. If the host has many locks, each count
/// blocks everybody who takes one, and those of short runs would pile up.
static COUNTING: Semaphore = Semaphore::const_new(1);

/// The files in which the kernel counts for one box.
#[derive(Debug)]
pub(crate) struct Uncharged {
    /// /proc/locks of the pid namespace of the box.
    locks: Arc<File>,
    /// /proc/net/sockstat of its network namespace.
    sockets: File,
    /// /proc/net/protocols of it.
    protocols: File,
}

impl Uncharged {
    /// Takes the descriptors of these files, in this order. Returns `None` if
    /// one is missing.
    pub(crate) fn new(
        mut files: impl Iterator<Item = OwnedFd>,
    ) -> Option<Self> {
        let locks = Arc::new(files.next()?.into());
        let (sockets, protocols) = (files.next()?, files.next()?);
        Some(Self {
            locks,
            sockets: sockets.into(),
            protocols: protocols.into(),
        })
    }

    /// Resolves when the box has too many sockets or locks.
    pub(crate) async fn too_much(&self) {
        tokio::select! {
            () = self.too_many_sockets() => {}
            () = self.too_many_locks() => {}
        }
    }

    async fn too_many_sockets(&self) {
        loop {
            sleep(SOCKETS_INTERVAL).await;
            // A count that cannot be read counts as too many.
            let Some(all) = sockets_in(&text_of(&self.sockets)) else { return };
            // The second file takes longer to read.
            if all > MAX_SOCKETS {
                let unix = unix_sockets_in(&text_of(&self.protocols));
                // Some may have been closed meanwhile.
                let later = sockets_in(&text_of(&self.sockets)).unwrap_or(all);
                let others = all.min(later).saturating_sub(unix);
                if others > MAX_SOCKETS || unix > MAX_UNIX_SOCKETS {
                    return;
                }
            }
        }
    }

    /// Resolves when there are too many locks. Reading the file goes over all
    /// locks of the host and blocks those who take one, hence the pauses. First
    /// the kernel waits until no core is amid such a call, which takes no CPU time
    /// and blocks nobody.
    async fn too_many_locks(&self) {
        let mut pause = LOCKS_INTERVAL;
        loop {
            sleep(pause).await;
            let Some(cpu_time) = count_apart(&self.locks).await else { return };
            pause = (PAUSE_FACTOR * cpu_time).clamp(LOCKS_INTERVAL, MAX_PAUSE);
        }
    }
}

/// Counts on a thread of its own, or on this one if the host is short of threads.
/// The runtime's threads for blocking work may be busy for clients meanwhile.
/// Returns the time that others were kept waiting, or `None` if there are too many
/// locks.
async fn count_apart(locks: &Arc<File>) -> Option<Duration> {
    let permit = COUNTING.acquire().await.ok();
    let (result, counted) = oneshot::channel();
    let for_thread = Arc::clone(locks);
    let counting = thread::Builder::new().spawn(move || {
        let counted = count(&for_thread);
        // Also if nobody waits for it any more, since the program has ended.
        drop(permit);
        let _ = result.send(counted);
    });
    if counting.is_ok() {
        // A count that failed counts as too many.
        return counted.await.unwrap_or(None);
    }
    let begun = Instant::now();
    count(locks).map(|_| begun.elapsed())
}

/// Returns the CPU time that counting took, or `None` if there are too many locks.
fn count(locks: &File) -> Option<Duration> {
    let cpu_time = || clock_gettime(ClockId::ThreadCPUTime);
    let begun = cpu_time();
    let too_many = are_too_many(locks);
    let taken = (cpu_time() - begun).try_into().unwrap_or_default();
    (!too_many).then_some(taken)
}

fn are_too_many(locks: &File) -> bool {
    let mut bytes = [0; 4096];
    let (mut at, mut found) = (0, 0);
    // The kernel returns whole lines, as many as fit. Locks that others take
    // meanwhile move the rest, so a few lines may come twice.
    loop {
        let length = match locks.read_at(&mut bytes, at) {
            Ok(0) => return false,
            Ok(length) => length,
            // A count that cannot be read counts as too many.
            Err(_) => return true,
        };
        let text = String::from_utf8_lossy(&bytes[..length]);
        found += locks_in(&text).count();
        if found > MAX_LOCKS {
            return true;
        }
        at += length as u64;
    }
}

/// Returns the text of a file in /proc/net, as far as it can be read.
fn text_of(file: &File) -> String {
    let mut bytes = [0; 16 * 1024];
    let mut length = 0;
    // The kernel returns whole lines, a page of them at most.
    while let Ok(more @ 1..) = file.read_at(&mut bytes[length..], length as u64)
    {
        length += more;
    }
    String::from_utf8_lossy(&bytes[..length]).into_owned()
}

/// Returns the number of Unix sockets in the text of protocols. Those of streams
/// have a line of their own since Linux 5.15.
fn unix_sockets_in(text: &str) -> usize {
    let counts = text.lines().filter_map(|line| {
        let mut fields = line.split_ascii_whitespace();
        let is_unix = ["UNIX", "UNIX-STREAM"].contains(&fields.next()?);
        let count: usize = fields.nth(1)?.parse().ok()?;
        is_unix.then_some(count)
    });
    counts.sum()
}

/// Returns the number of all sockets in the text of sockstat, those without an
/// address included.
fn sockets_in(text: &str) -> Option<usize> {
    let (_, count) = text.lines().next()?.split_once(": used ")?;
    count.parse().ok()
}

/// Returns the lines of /proc/locks without their numbers. It leaves out the
/// locks of open file descriptions, which have the process -1 and are shown in
/// every namespace. A box cannot take such locks.
fn locks_in(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().filter_map(|line| line.split_once(": "));
    lines.map(|(_, lock)| lock).filter(|lock| {
        let mut fields = lock.split_ascii_whitespace();
        // A lock that waits has `->` before its kind.
        fields.nth(3).is_some_and(|process| process != "-1")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_in_use() {
        let check = |text: &str, expected| {
            assert_eq!(sockets_in(text), expected, "{text:?}");
        };
        check("sockets: used 300\nTCP: inuse 15 orphan 2 tw 9\n", Some(300));
        check("sockets: used 0\n", Some(0));
        check("", None);
    }

    #[test]
    fn unix_sockets_in_use() {
        let check = |text: &str, expected| {
            assert_eq!(unix_sockets_in(text), expected, "{text:?}");
        };
        check(
            "protocol  size sockets  memory press\n\
             PACKET    1600      3      -1   NI\n\
             UNIX-STREAM 1152     20      -1   NI\n\
             UNIX      1152      1      -1   NI\n\
             TCP       2304     11     147   no\n",
            21,
        );
        check("", 0);
    }

    #[test]
    fn locks_of_a_box() {
        let check = |text: &str, expected: &[&str]| {
            let found: Vec<_> = locks_in(text).collect();
            assert_eq!(found, expected, "{text:?}");
        };
        check(
            "1: POSIX  ADVISORY  WRITE 12 00:1c:3 0 EOF\n\
             1: -> POSIX  ADVISORY  WRITE 13 00:1c:3 0 EOF\n\
             2: OFDLCK ADVISORY  READ -1 00:05:6 1 1\n\
             3: FLOCK  ADVISORY  WRITE 14 00:1c:4 0 EOF\n",
            &[
                "POSIX  ADVISORY  WRITE 12 00:1c:3 0 EOF",
                "-> POSIX  ADVISORY  WRITE 13 00:1c:3 0 EOF",
                "FLOCK  ADVISORY  WRITE 14 00:1c:4 0 EOF",
            ],
        );
        check("", &[]);
    }
}
