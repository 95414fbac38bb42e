//! What a program can have the kernel hold that no control group is charged
//! for, counted while it runs: sockets of TCP and UDP, and locks of files.
//!
//! A connection that nobody has accepted yet is charged to no group, in version
//! 1 and 2; in version 1 each socket may hold a packet more than the limit. A
//! lock is charged to nobody, and no limit of a process bounds their number.
//! The kernel has no event for either, so this looks.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use tokio::time::sleep;

/// Sockets of a box, connections that nobody has accepted among them: a
/// thousand connections from one end to the other.
const MOST_SOCKETS: usize = 2_048;
/// Locks of a box, of 200 bytes each.
const MOST_LOCKS: usize = 20_000;
/// A program that does nothing else opens some hundred sockets meanwhile, or
/// takes some thousand locks.
const BETWEEN_LOOKS: Duration = Duration::from_millis(20);

/// The kernel's own counts of one box.
#[derive(Debug)]
pub(crate) struct Uncharged {
    /// /proc/locks, as its pid namespace sees it.
    locks: File,
    /// /proc/net/sockstat and sockstat6 of its network namespace.
    sockets: Vec<File>,
}

impl Uncharged {
    /// From the descriptors of these files, in this order; `None` if one is
    /// missing.
    pub(crate) fn new(
        mut files: impl Iterator<Item = OwnedFd>,
    ) -> Option<Self> {
        let locks = files.next()?.into();
        let sockets: Vec<_> = files.map(File::from).collect();
        (!sockets.is_empty()).then_some(Self { locks, sockets })
    }

    /// Resolves when the box has too many of either.
    pub(crate) async fn too_much(&self) {
        loop {
            sleep(BETWEEN_LOOKS).await;
            let sockets: usize = self.sockets.iter().map(sockets_in_use).sum();
            if sockets > MOST_SOCKETS || self.has_too_many_locks() {
                return;
            }
        }
    }

    fn has_too_many_locks(&self) -> bool {
        let mut bytes = [0; 4096];
        let (mut at, mut found) = (0, 0);
        // The kernel gives whole lines, as many as there is room for.
        while let Ok(length @ 1..) = self.locks.read_at(&mut bytes, at) {
            found += locks_in(&String::from_utf8_lossy(&bytes[..length]));
            if found > MOST_LOCKS {
                return true;
            }
            at += length as u64;
        }
        false
    }
}

fn sockets_in_use(counts: &File) -> usize {
    let mut bytes = [0; 512];
    let length = counts.read_at(&mut bytes, 0).unwrap_or(0);
    sockets_in(&String::from_utf8_lossy(&bytes[..length]))
}

/// Sockets of TCP and UDP in a text of sockstat.
fn sockets_in(text: &str) -> usize {
    let count = |line: &str| {
        let (protocol, counts) = line.split_once(": inuse ")?;
        let is_counted = ["TCP", "TCP6", "UDP", "UDP6"].contains(&protocol);
        is_counted.then_some(counts.split(' ').next()?.parse::<usize>().ok()?)
    };
    text.lines().filter_map(count).sum()
}

/// Locks in a text of /proc/locks. Those of open file descriptions have the
/// process -1 and are shown in every namespace: a box can have none.
fn locks_in(text: &str) -> usize {
    let is_own = |line: &&str| {
        let mut fields = line.split_ascii_whitespace();
        // One that waits has `->` before its kind.
        fields.nth(4).is_some_and(|process| process != "-1")
    };
    text.lines().filter(is_own).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sockets_in_use() {
        let check = |text: &str, expected| {
            assert_eq!(sockets_in(text), expected, "{text:?}");
        };
        check(
            "sockets: used 300\nTCP: inuse 15 orphan 2 tw 9 alloc 20 mem 3\n\
             UDP: inuse 4 mem 0\nUDPLITE: inuse 1\nRAW: inuse 1\n\
             FRAG: inuse 0 memory 0\n",
            19,
        );
        check("TCP6: inuse 7\nUDP6: inuse 1\nFRAG6: inuse 5 memory 0\n", 8);
        check("", 0);
    }

    #[test]
    fn locks_of_a_box() {
        let check = |text: &str, expected| {
            assert_eq!(locks_in(text), expected, "{text:?}");
        };
        check(
            "1: POSIX  ADVISORY  WRITE 12 00:1c:3 0 EOF\n\
             1: -> POSIX  ADVISORY  WRITE 13 00:1c:3 0 EOF\n\
             2: OFDLCK ADVISORY  READ -1 00:05:6 1 1\n\
             3: FLOCK  ADVISORY  WRITE 14 00:1c:4 0 EOF\n",
            3,
        );
        check("", 0);
    }
}
