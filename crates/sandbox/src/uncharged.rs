//! What a program can have the kernel hold that no control group is charged
//! for, counted while it runs: sockets, and locks of files.
//!
//! A connection that nobody has accepted yet, a datagram that is not whole, and
//! one that came back with its time stamp are charged to no group; in version 1
//! each socket may hold a packet more than the limit. A lock is charged to
//! nobody, and no limit of a process bounds their number. The kernel has no
//! event for either, so this looks.

use std::collections::HashSet;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::task::spawn_blocking;
use tokio::time::sleep;

/// Sockets of a box of any kind, connections that nobody has accepted among
/// them. One holds 64 KiB each way by TCP, and 280 KiB by UDP.
const MOST_SOCKETS: usize = 256;
/// Locks of a box, of 200 bytes each.
const MOST_LOCKS: usize = 2_000;
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);
/// A look at locks is followed by a pause of so many times its length.
const REST: u32 = 20;

/// The kernel's own counts of one box.
#[derive(Debug)]
pub(crate) struct Uncharged {
    /// /proc/locks, as its pid namespace sees it.
    locks: Arc<File>,
    /// /proc/net/sockstat of its network namespace.
    sockets: File,
}

impl Uncharged {
    /// From the descriptors of these files, in this order; `None` if one is
    /// missing.
    pub(crate) fn new(
        mut files: impl Iterator<Item = OwnedFd>,
    ) -> Option<Self> {
        let locks = Arc::new(files.next()?.into());
        Some(Self { locks, sockets: files.next()?.into() })
    }

    /// Resolves when the box has too many of either.
    pub(crate) async fn too_much(&self) {
        tokio::select! {
            () = self.too_many_sockets() => {}
            () = self.too_many_locks() => {}
        }
    }

    async fn too_many_sockets(&self) {
        let mut bytes = [0; 64];
        loop {
            sleep(BETWEEN_LOOKS).await;
            let length = self.sockets.read_at(&mut bytes, 0).unwrap_or(0);
            let text = String::from_utf8_lossy(&bytes[..length]);
            // What cannot be counted is too much.
            if sockets_in(&text).is_none_or(|count| count > MOST_SOCKETS) {
                return;
            }
        }
    }

    /// A look goes over the locks of the whole host, and keeps others from
    /// taking some: it is not to be made all the time.
    async fn too_many_locks(&self) {
        let mut rest = BETWEEN_LOOKS;
        loop {
            sleep(rest).await;
            let locks = Arc::clone(&self.locks);
            let begun = Instant::now();
            // It fails where the runtime ends, and the box with it.
            if let Ok(true) = spawn_blocking(move || are_too_many(&locks)).await
            {
                return;
            }
            rest = BETWEEN_LOOKS.max(REST * begun.elapsed());
        }
    }
}

fn are_too_many(locks: &File) -> bool {
    let mut bytes = [0; 4096];
    let (mut at, mut found) = (0, HashSet::new());
    // The kernel gives whole lines, as many as there is room for. Locks that
    // others take meanwhile move the rest on, and a line comes twice.
    loop {
        let length = match locks.read_at(&mut bytes, at) {
            Ok(0) => return false,
            Ok(length) => length,
            // What cannot be counted is too much.
            Err(_) => return true,
        };
        let text = String::from_utf8_lossy(&bytes[..length]);
        found.extend(locks_in(&text).map(str::to_owned));
        if found.len() > MOST_LOCKS {
            return true;
        }
        at += length as u64;
    }
}

/// All sockets in a text of sockstat, those that have no address among them.
fn sockets_in(text: &str) -> Option<usize> {
    let (_, count) = text.lines().next()?.split_once(": used ")?;
    count.parse().ok()
}

/// Locks in a text of /proc/locks, without their numbers. Those of open file
/// descriptions have the process -1 and are shown in every namespace: a box can
/// have none.
fn locks_in(text: &str) -> impl Iterator<Item = &str> {
    let lines = text.lines().filter_map(|line| line.split_once(": "));
    lines.map(|(_, lock)| lock).filter(|lock| {
        let mut fields = lock.split_ascii_whitespace();
        // One that waits has `->` before its kind.
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
