//! The host ids of boxes: user namespaces that are made ahead of the boxes.
//!
//! With a range of host ids each box gets a user namespace in which 0 (init)
//! and 1000 (the program) are two host ids of its own. No other box has these
//! ids, and neither has the server. The namespace belongs to the server's user,
//! who can therefore join it and kill in it without being root. Without a range
//! a box maps the server's own id.

use std::fs;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::process::Command;

use rustix::pipe::{PipeFlags, pipe_with};
use rustix::process::{DumpableBehavior, Uid, set_dumpable_behavior};
use rustix::thread::{CapabilitySet, set_thread_res_uid};

use crate::children;
use crate::error::{During, Result, SandboxError};
use crate::ids::{self, IDS_PER_SERVER, INIT_ID, PROGRAM_ID};
use crate::subordinate_ids;
use crate::sys::{self, Fork};

/// Host ids of one box: init's and the program's.
const IDS_PER_BOX: u32 = 2;
/// Maximum number of boxes of a server. Each needs host ids of its own.
pub const MAX_BOXES: usize = 500;

/// The first host id of the range that root uses. It is above the ids that
/// systemd gives to its containers (up to `0x6FFF_FFFF`), and below those that
/// systemd reserves.
pub(crate) const ROOT_RANGE: u32 = 0x7000_0000;

/// The host ids that boxes have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Identity {
    /// Each box has host ids of its own.
    Range,
    /// Boxes share the server's id.
    Single,
}

/// The source of a server's host ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IdSource {
    /// Root writes the maps, and the server becomes the first id.
    Root { first: u32 },
    /// The user's subordinate ids. This process writes the maps if it
    /// `may_map`, else `newuidmap` does.
    Subordinate { first_uid: u32, first_gid: u32, may_map: bool },
    /// No range.
    None,
}

impl IdSource {
    /// Finds the ids of the server with this number, among those of this user
    /// on this machine.
    pub(crate) fn find(instance: u32) -> Result<Self> {
        let offset = instance * IDS_PER_SERVER;
        if rustix::process::geteuid().is_root() {
            let map = fs::read_to_string("/proc/self/uid_map")
                .during("read /proc/self/uid_map")?;
            let first = range_for_root(&map, offset).ok_or_else(|| {
                SandboxError::other(
                    "find host ids",
                    "this user namespace has fewer than 1,024 free ids; give \
                     the container more ids, or start as an ordinary user",
                )
            })?;
            return Ok(Self::Root { first });
        }
        let may_map = may_map();
        Ok(match subordinate_ids::find(offset) {
            Some((first_uid, first_gid))
                if may_map || subordinate_ids::has_newuidmap() =>
            {
                Self::Subordinate { first_uid, first_gid, may_map }
            }
            _ => Self::None,
        })
    }

    /// Makes the user namespaces of this many boxes.
    pub(crate) fn make_namespaces(self, boxes: usize) -> Result<Vec<OwnedFd>> {
        let boxes = u32::try_from(boxes.min(MAX_BOXES)).unwrap_or(0);
        match self {
            Self::None => Ok(Vec::new()),
            _ => (0..boxes).map(|number| self.make_namespace(number)).collect(),
        }
    }

    /// Makes the user namespace of one box. A child with the server's id makes
    /// it, so that it belongs to this id. This process, which still has its
    /// rights, writes the maps.
    fn make_namespace(self, number: u32) -> Result<OwnedFd> {
        let step = "make user namespace";
        let (made, mut tell_made) = pipe(step)?;
        let (mut mapped, tell_mapped) = pipe(step)?;
        match sys::fork().during(step)? {
            Fork::Child => {
                drop(tell_mapped);
                let done = self.become_owner().and_then(|()| {
                    sys::unshare(libc::CLONE_NEWUSER).during(step)?;
                    tell_made.write_all(b"1").during(step)?;
                    // The child stays until the parent has opened the namespace.
                    mapped.read_to_end(&mut Vec::new()).during(step)
                });
                sys::exit_now(i32::from(done.is_err()))
            }
            Fork::Parent(child) => {
                drop(tell_made);
                drop(mapped);
                let namespace = self.map_child(child, number, made);
                drop(tell_mapped);
                let ended = children::wait_for(child).during(step)?;
                if ended.success() {
                    namespace
                } else {
                    Err(SandboxError::other(step, "the kernel refused it"))
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
                // The change of user made the process undumpable. Then only
                // CAP_SYS_PTRACE, which containers lack, could open its
                // namespace. No other process has this user.
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
        number: u32,
        mut made: fs::File,
    ) -> Result<OwnedFd> {
        let step = "map host ids";
        made.read_exact(&mut [0]).during("make user namespace")?;
        let offset = 1 + number * IDS_PER_BOX;
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

    /// Returns the kind of identity that boxes get.
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

/// Returns a map of init and the program to the ids from `first` on.
fn map(first: u32) -> String {
    format!("{INIT_ID} {first} 1\n{PROGRAM_ID} {} 1\n", first + 1)
}

fn write_maps(child: i32, uids: &str, gids: &str) -> io::Result<()> {
    fs::write(format!("/proc/{child}/uid_map"), uids)?;
    fs::write(format!("/proc/{child}/gid_map"), gids)
}

/// Has root act as the user to whom the namespace belongs. Another user would
/// need `CAP_SYS_ADMIN` to map ids and `CAP_SYS_PTRACE` to open the namespace,
/// and root lacks these in most containers.
fn as_owner<T>(
    owner: u32,
    act: impl FnOnce() -> io::Result<T>,
) -> io::Result<T> {
    let root = Uid::ROOT;
    // The kernel clears this when the effective user changes.
    let at_parents_end = rustix::process::parent_process_death_signal()?;
    let mut rights = rustix::thread::capabilities(None)?;
    set_thread_res_uid(root, Uid::from_raw(owner), root)?;
    // An effective user other than root has no effective capabilities until it
    // sets them.
    rights.effective = MAY_MAP;
    let result = rustix::thread::set_capabilities(None, rights)
        .map_err(io::Error::from)
        .and_then(|()| act());
    // This gives back all of root's capabilities.
    set_thread_res_uid(root, root, root)?;
    rustix::process::set_parent_process_death_signal(at_parents_end)?;
    result
}

/// The capabilities that mapping other ids than one's own needs.
const MAY_MAP: CapabilitySet =
    CapabilitySet::SETUID.union(CapabilitySet::SETGID);

/// Returns whether this process has the right to map ids, as the packaged
/// service has. Then it needs no set-uid program.
fn may_map() -> bool {
    rustix::thread::capabilities(None)
        .is_ok_and(|sets| sets.effective.contains(MAY_MAP))
}

fn new_id_map(program: &str, child: i32, first: u32) -> Result<()> {
    let arguments = [
        child.to_string(),
        INIT_ID.to_string(),
        first.to_string(),
        "1".to_owned(),
        PROGRAM_ID.to_string(),
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

/// Returns the first of this server's ids in the user namespace to which
/// `uid_map` belongs.
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
    // In a container: its highest ids, which no user in it is likely to have.
    let (first, count) = ranges.into_iter().max()?;
    let end = u64::from(first) + count;
    let start = end.checked_sub(u64::from(offset + IDS_PER_SERVER))?;
    (start > u64::from(first) + 1024).then(|| u32::try_from(start).ok())?
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
}
