//! Whose ids a box runs under: user namespaces made ahead of the boxes.
//!
//! With a range of host ids, each slot is a user namespace in which 0 (init)
//! and 1000 (the program) are two host ids of its own, so that two boxes never
//! share one, nor one with the server. The namespace belongs to the server's
//! user, who can therefore join it and kill in it without being root. Where
//! there is no range, a box maps the server's own id.

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::process::Command;

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{DumpableBehavior, Uid, set_dumpable_behavior};
use rustix::thread::{CapabilitySet, set_thread_res_uid};

use crate::children;
use crate::error::{During, Result, SandboxError};
use crate::ids;
use crate::sys::{self, Fork};

/// Host ids that one slot takes: init's and the program's.
const IDS_PER_SLOT: u32 = 2;
/// Host ids set aside for one server: its own, then its slots'.
const IDS_PER_SERVER: u32 = 1024;
/// Most boxes that a server can have at once: each takes host ids of its own.
pub const MOST_BOXES: usize = 500;

/// The first host id of the range that root takes: above what systemd gives to
/// its containers (up to `0x6FFF_FFFF`), below what it reserves.
pub(crate) const ROOT_RANGE: u32 = 0x7000_0000;

/// How boxes are told apart by id.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// Each box has host ids of its own.
    Range,
    /// Boxes share the server's id.
    Single,
}

/// Where a server takes its host ids from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Source {
    /// Root writes the maps itself; the server becomes the first id.
    Root { first: u32 },
    /// From the user's subordinate ids: `newuidmap` writes the maps, or this
    /// process, where it `may_map`.
    Subordinate { first_uid: u32, first_gid: u32, may_map: bool },
    /// No range.
    None,
}

impl Source {
    /// The ids of the `instance`th server of this user on this machine.
    pub(crate) fn find(instance: u32) -> Result<Self> {
        let offset = instance * IDS_PER_SERVER;
        if rustix::process::geteuid().is_root() {
            let map = fs::read_to_string("/proc/self/uid_map")
                .during("read /proc/self/uid_map")?;
            let first = range_for_root(&map, offset).ok_or_else(|| {
                SandboxError::other(
                    "find host ids",
                    "this user namespace has fewer than 1,024 ids to spare; \
                     give the container more, or start as an ordinary user",
                )
            })?;
            return Ok(Self::Root { first });
        }
        let subordinate = |file: &str| {
            let text = fs::read_to_string(file).unwrap_or_default();
            subordinate_range(&text, offset)
        };
        match (subordinate("/etc/subuid"), subordinate("/etc/subgid")) {
            (Some(first_uid), Some(first_gid)) => {
                let may_map = may_map();
                if !may_map && !has_newuidmap() {
                    return Ok(Self::None);
                }
                Ok(Self::Subordinate { first_uid, first_gid, may_map })
            }
            _ => Ok(Self::None),
        }
    }

    /// Makes the user namespaces of `slots` slots.
    pub(crate) fn make_slots(self, slots: usize) -> Result<Vec<OwnedFd>> {
        let slots = u32::try_from(slots.min(MOST_BOXES)).unwrap_or(0);
        match self {
            Self::None => Ok(Vec::new()),
            _ => (0..slots).map(|slot| self.make_slot(slot)).collect(),
        }
    }

    /// A child with the server's id makes the namespace, which then belongs to
    /// that id; this process, still privileged, writes the maps.
    fn make_slot(self, slot: u32) -> Result<OwnedFd> {
        let step = "make user namespace";
        let (made, mut tell_made) = pipe(step)?;
        let (mut mapped, tell_mapped) = pipe(step)?;
        match sys::fork().during(step)? {
            Fork::Child => {
                drop(tell_mapped);
                let done = self.become_owner().and_then(|()| {
                    sys::unshare(libc::CLONE_NEWUSER).during(step)?;
                    tell_made.write_all(b"1").during(step)?;
                    // Stays until the parent has the namespace open.
                    mapped.read_to_end(&mut Vec::new()).during(step)
                });
                sys::exit_now(i32::from(done.is_err()))
            }
            Fork::Parent(child) => {
                drop(tell_made);
                drop(mapped);
                let namespace = self.map_child(child, slot, made);
                drop(tell_mapped);
                let ended = children::wait_for(child).during(step)?;
                if ended.success() {
                    namespace
                } else {
                    Err(SandboxError::other(step, "the kernel refuses it"))
                }
            }
        }
    }

    fn become_owner(self) -> Result<()> {
        match self {
            Self::Root { first } => {
                let step = "become the server's user";
                ids::clear_groups().during(step)?;
                ids::set_group(first).during(step)?;
                ids::set_user(first).during(step)?;
                // Lost with the change of user; without it only
                // CAP_SYS_PTRACE, which containers lack, opens its namespace.
                // Nobody else is this user.
                let dumpable = DumpableBehavior::Dumpable;
                set_dumpable_behavior(dumpable)
                    .map_err(io::Error::from)
                    .during(step)
            }
            Self::Subordinate { .. } | Self::None => Ok(()),
        }
    }

    fn map_child(
        self,
        child: i32,
        slot: u32,
        mut made: fs::File,
    ) -> Result<OwnedFd> {
        let step = "map host ids";
        made.read_exact(&mut [0]).during("make user namespace")?;
        let offset = 1 + slot * IDS_PER_SLOT;
        let open = || fs::File::open(format!("/proc/{child}/ns/user"));
        match self {
            Self::Root { first } => {
                let map = map(first + offset);
                let namespace = as_owner(first, || {
                    write_maps(child, &map, &map)?;
                    open()
                });
                return Ok(namespace.during(step)?.into());
            }
            Self::Subordinate { first_uid, first_gid, may_map: true } => {
                let uids = map(first_uid + offset);
                write_maps(child, &uids, &map(first_gid + offset))
                    .during(step)?;
            }
            Self::Subordinate { first_uid, first_gid, may_map: false } => {
                new_id_map("newuidmap", child, first_uid + offset)?;
                new_id_map("newgidmap", child, first_gid + offset)?;
            }
            Self::None => {}
        }
        Ok(open().during(step)?.into())
    }

    /// Which kind of identity boxes get.
    pub(crate) fn identity(self) -> Identity {
        match self {
            Self::Root { .. } | Self::Subordinate { .. } => Identity::Range,
            Self::None => Identity::Single,
        }
    }
}

fn pipe(step: &str) -> Result<(fs::File, fs::File)> {
    let (reader, writer) = pipe_with(PipeFlags::CLOEXEC).during(step)?;
    Ok((reader.into(), writer.into()))
}

/// A map of init and the program to the ids from `first` on.
fn map(first: u32) -> String {
    format!("0 {first} 1\n1000 {} 1\n", first + 1)
}

fn write_maps(child: i32, uids: &str, gids: &str) -> io::Result<()> {
    fs::write(format!("/proc/{child}/uid_map"), uids)?;
    fs::write(format!("/proc/{child}/gid_map"), gids)
}

/// Lets root act as the user to whom the namespace belongs: anyone else would
/// need `CAP_SYS_ADMIN` to map ids and `CAP_SYS_PTRACE` to open it, which root
/// has in few containers.
fn as_owner<T>(
    owner: u32,
    act: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    let root = Uid::ROOT;
    // The kernel forgets it when the effective user changes.
    let at_parents_end = rustix::process::parent_process_death_signal()?;
    let mut rights = rustix::thread::capabilities(None)?;
    set_thread_res_uid(root, Uid::from_raw(owner), root)?;
    // Another effective user than root has none until it takes them.
    rights.effective = MAY_MAP;
    let result = rustix::thread::set_capabilities(None, rights)
        .map_err(io::Error::from)
        .and_then(|()| act());
    // All of root's rights come back with it.
    set_thread_res_uid(root, root, root)?;
    rustix::process::set_parent_process_death_signal(at_parents_end)?;
    result
}

/// What it takes to map other ids than one's own.
const MAY_MAP: CapabilitySet =
    CapabilitySet::SETUID.union(CapabilitySet::SETGID);

/// Whether this process was given the right to map ids, as a service can be:
/// then nothing has to be set-uid.
fn may_map() -> bool {
    rustix::thread::capabilities(None)
        .is_ok_and(|sets| sets.effective.contains(MAY_MAP))
}

fn new_id_map(program: &str, child: i32, first: u32) -> Result<()> {
    let arguments = [
        child.to_string(),
        "0".to_owned(),
        first.to_string(),
        "1".to_owned(),
        "1000".to_owned(),
        (first + 1).to_string(),
        "1".to_owned(),
    ];
    let output =
        Command::new(program).args(arguments).output().during(program)?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    Err(SandboxError::other(program, words.trim()))
}

fn has_newuidmap() -> bool {
    ["/usr/bin/newuidmap", "/bin/newuidmap", "/usr/local/bin/newuidmap"]
        .iter()
        .any(|path| fs::metadata(path).is_ok())
}

/// The first of this server's ids in the user namespace that `uid_map` is of.
fn range_for_root(uid_map: &str, offset: u32) -> Option<u32> {
    let ranges: Vec<(u32, u64)> = uid_map
        .lines()
        .filter_map(|line| {
            let mut fields = line.split_ascii_whitespace();
            let first = fields.next()?.parse().ok()?;
            let count = fields.nth(1)?.parse().ok()?;
            Some((first, count))
        })
        .collect();
    let wanted = u64::from(ROOT_RANGE) + u64::from(offset);
    let holds = |&(first, count): &(u32, u64)| {
        let end = u64::from(first) + count;
        u64::from(first) <= wanted && wanted + u64::from(IDS_PER_SERVER) <= end
    };
    if ranges.iter().any(holds) {
        return u32::try_from(wanted).ok();
    }
    // A container: the highest ids it has, far from the users it makes.
    let (first, count) = ranges.into_iter().max()?;
    let end = u64::from(first) + count;
    let start = end.checked_sub(u64::from(offset + IDS_PER_SERVER))?;
    (start > u64::from(first) + 1024).then(|| u32::try_from(start).ok())?
}

/// The first of this server's ids in a line of subuid(5) for this user.
fn subordinate_range(text: &str, offset: u32) -> Option<u32> {
    let uid = rustix::process::getuid().as_raw();
    let names = [user_name(uid), Some(uid.to_string())];
    text.lines().find_map(|line| {
        let mut fields = line.split(':');
        let owner = fields.next()?;
        let first: u32 = fields.next()?.trim().parse().ok()?;
        let count: u32 = fields.next()?.trim().parse().ok()?;
        let mine = names.iter().flatten().any(|name| name == owner);
        let fits = offset.checked_add(IDS_PER_SERVER)? <= count;
        (mine && fits).then_some(first + offset)
    })
}

fn user_name(uid: u32) -> Option<String> {
    let users = fs::read_to_string("/etc/passwd").ok()?;
    users.lines().find_map(|line| {
        let mut fields = line.split(':');
        let name = fields.next()?;
        let id: u32 = fields.nth(1)?.parse().ok()?;
        (id == uid).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_takes_ids_that_nobody_uses() {
        let check = |map, offset, expected| {
            assert_eq!(range_for_root(map, offset), expected, "{map}");
        };
        check("0 0 4294967295", 0, Some(0x7000_0000));
        check("0 0 4294967295", 1024, Some(0x7000_0400));
        check("0 100000 65536", 0, Some(65536 - 1024));
        check("0 100000 65536", 1024, Some(65536 - 2048));
        check("0 1000 1", 0, None);
        check("0 1000 1\n1 100000 65536", 0, Some(65537 - 1024));
        check("", 0, None);
    }

    #[test]
    fn subordinate_ids() {
        let uid = rustix::process::getuid().as_raw();
        let check = |text: &str, offset, expected| {
            assert_eq!(subordinate_range(text, offset), expected, "{text}");
        };
        check(&format!("x:1:9\n{uid}:100000:65536\n"), 0, Some(100_000));
        check(&format!("{uid}:100000:65536"), 1024, Some(101_024));
        check(&format!("{uid}:100000:1000"), 0, None);
        check("nobody-of-this-name:100000:65536", 0, None);
        check("not a line", 0, None);
    }
}
