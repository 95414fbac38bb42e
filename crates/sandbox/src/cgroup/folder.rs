//! The folders of control groups: made, written, and removed with all processes
//! that are in them.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::chown;
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode, OFlags, ResolveFlags};

use crate::children;
use crate::error::{During, Result, SandboxError};
use crate::instance_lock::{is_at, take_lock};

/// The number of attempts to make a group that others make and remove
/// meanwhile.
const MAX_ATTEMPTS: usize = 3;

/// Removes the group of an earlier server with the same name, then makes it
/// again. The group belongs to this server as long as it holds the lock that
/// this returns. Returns `None` if another server has the group.
pub(super) fn claim(group: &Path) -> Result<Option<File>> {
    let step = format!("make group {}", group.display());
    for _ in 0..MAX_ATTEMPTS {
        let made = fs::create_dir(group);
        let is_there =
            |error: &io::Error| error.kind() == io::ErrorKind::AlreadyExists;
        let is_new = match made {
            Err(error) if is_there(&error) => false,
            made => made.map(|()| true).during(&step)?,
        };
        let lock = match lock(group) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            lock => lock.during(&step)?,
        };
        let Some(lock) = lock else { return Ok(None) };
        if !is_at(&lock, group)? {
            continue;
        }
        if is_new {
            return Ok(Some(lock));
        }
        sweep(group);
    }
    Err(SandboxError::other(step, "the old group cannot be removed"))
}

/// Locks a group. Returns `None` while a live server holds the lock.
fn lock(group: &Path) -> io::Result<Option<File>> {
    let folder = File::open(group)?;
    Ok(take_lock(&folder)?.then_some(folder))
}

/// Removes a group that a record names, unless a live server has it.
pub(crate) fn sweep_dead(group: &Path) {
    if !is_own_name(group) {
        return;
    }
    if let Ok(Some(_held)) = lock(group) {
        sweep(group);
    }
}

/// Returns whether this is a name that servers of this user give to a group.
fn is_own_name(group: &Path) -> bool {
    let name = group.file_name().and_then(|name| name.to_str());
    let uid = rustix::process::geteuid().as_raw();
    name.and_then(|name| name.strip_prefix(&format!("sandpiper-{uid}-")))
        .is_some_and(|number| number.parse::<u32>().is_ok())
}

pub(super) fn make(group: &Path) -> Result<()> {
    fs::create_dir(group).during(&format!("make group {}", group.display()))
}

/// Gives a group, or one file of it, to a user.
pub(super) fn give(path: &Path, uid: u32) -> Result<()> {
    chown(path, Some(uid), Some(uid))
        .during(&format!("give {} away", path.display()))
}

/// Kills every process in and below a group and removes the group. Failure is
/// logged. A group that does not exist is not a failure.
pub(super) fn sweep(group: &Path) {
    // Killed processes leave their groups when they end; in version 1 when they
    // are reaped. That takes a moment.
    for pause_ms in [0, 1, 10, 100, 500] {
        sleep(Duration::from_millis(pause_ms));
        match try_sweep(group) {
            Ok(()) => return,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return,
            Err(_) => {}
        }
    }
    tracing::warn!(group = %group.display(), "a control group cannot be removed");
}

fn try_sweep(group: &Path) -> io::Result<()> {
    let (Some(parent), Some(name)) = (group.parent(), group.file_name()) else {
        return Err(io::ErrorKind::InvalidInput.into());
    };
    // A link on the way could lead to something that is not a group.
    let parent = rustix::fs::openat2(
        CWD,
        parent,
        OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC,
        Mode::empty(),
        ResolveFlags::NO_SYMLINKS | ResolveFlags::NO_MAGICLINKS,
    )?;
    kill_and_remove(parent.as_fd(), name)
}

/// Works below an open folder because root may call this: in a folder of
/// another user, names could change meanwhile.
fn kill_and_remove(parent: BorrowedFd<'_>, name: &OsStr) -> io::Result<()> {
    let group = open(parent, name, OFlags::RDONLY | OFlags::DIRECTORY)?;
    if !is_own_group(&group)? {
        return Err(io::ErrorKind::PermissionDenied.into());
    }
    for entry in Dir::read_from(&group)?.flatten() {
        let name = OsStr::from_bytes(entry.file_name().to_bytes());
        let is_folder = entry.file_type() == FileType::Directory;
        if is_folder && name != "." && name != ".." {
            kill_and_remove(group.as_fd(), name)?;
        }
    }
    let own = i32::try_from(std::process::id()).unwrap_or(0);
    let file = |name: &str, flags| {
        open(group.as_fd(), name.as_ref(), flags).map(File::from)
    };
    let members = io::read_to_string(file("cgroup.procs", OFlags::RDONLY)?)?;
    let members: Vec<_> =
        members.lines().filter_map(|line| line.parse().ok()).collect();
    // Version 2 kills all at once, processes that are just forked included.
    let all_killed = !members.contains(&own)
        && file("cgroup.kill", OFlags::WRONLY)
            .is_ok_and(|mut kill| kill.write_all(b"1").is_ok());
    if !all_killed {
        for pid in members.into_iter().filter(|&pid| pid != own) {
            // The process may have ended in between.
            let _ = children::kill(pid, libc::SIGKILL);
        }
    }
    Ok(rustix::fs::unlinkat(parent, name, AtFlags::REMOVEDIR)?)
}

fn open(
    folder: BorrowedFd<'_>,
    name: &OsStr,
    flags: OFlags,
) -> io::Result<OwnedFd> {
    let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    Ok(rustix::fs::openat(folder, name, flags, Mode::empty())?)
}

/// Returns whether a folder is a control group that this user may have made.
fn is_own_group(folder: &OwnedFd) -> io::Result<bool> {
    // From linux/magic.h, versions 1 and 2.
    const CONTROL_GROUPS: [u64; 2] = [0x0027_E0EB, 0x6367_7270];
    let kind = u64::try_from(rustix::fs::fstatfs(folder)?.f_type);
    let owner = rustix::fs::fstat(folder)?.st_uid;
    let me = rustix::process::geteuid();
    Ok(kind.is_ok_and(|kind| CONTROL_GROUPS.contains(&kind))
        && (me.is_root() || owner == me.as_raw()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;
    use std::path::PathBuf;
    use std::process::{Child, Command, Stdio};

    use super::*;
    use crate::cgroup::detect::hierarchies;

    /// A control group with one below it and a process. It ends with this.
    struct Inhabited {
        group: PathBuf,
        child: Child,
    }

    impl Inhabited {
        fn make(group: PathBuf) -> io::Result<Self> {
            fs::create_dir(&group)?;
            // It ends with its input, and so even if this test is killed.
            let cat = Command::new("cat").stdin(Stdio::piped()).spawn();
            let made = Self { group, child: cat.expect("it starts") };
            fs::create_dir(made.below())?;
            let id = made.child.id().to_string();
            fs::write(made.group.join("cgroup.procs"), id)?;
            Ok(made)
        }

        fn below(&self) -> PathBuf {
            self.group.join("below")
        }

        fn is_untouched(&mut self) -> bool {
            self.below().is_dir() && self.child.try_wait().unwrap().is_none()
        }
    }

    impl Drop for Inhabited {
        fn drop(&mut self) {
            let _ = self.child.kill();
            let _ = self.child.wait();
            let _ = fs::remove_dir(self.below());
            let _ = fs::remove_dir(&self.group);
        }
    }

    fn is_refused(error: &io::Error) -> bool {
        use io::ErrorKind::{PermissionDenied, ReadOnlyFilesystem};
        matches!(error.kind(), PermissionDenied | ReadOnlyFilesystem)
    }

    #[test]
    fn only_groups_with_our_names_are_removed() {
        let uid = rustix::process::geteuid().as_raw();
        let number = std::process::id();
        let folder = tempfile::tempdir().unwrap();
        // No server has this number.
        let name = format!("sandpiper-{uid}-{}", u32::MAX - number);
        for hierarchy in hierarchies().unwrap() {
            let make = |name: &str| Inhabited::make(hierarchy.own.join(name));
            let mut other = match make(&format!("other-{number}")) {
                Ok(other) => other,
                // Not every user may make groups.
                Err(error) if is_refused(&error) => continue,
                Err(error) => panic!("{}: {error}", hierarchy.own.display()),
            };
            let link = folder.path().join(&name);
            symlink(&other.group, &link).unwrap();
            for path in [other.group.clone(), link.clone()] {
                sweep_dead(&path);
                assert!(other.is_untouched(), "{}", path.display());
            }
            fs::remove_file(&link).unwrap();
            // The control.
            let mut own = make(&name).unwrap();
            sweep_dead(&own.group);
            assert!(!own.is_untouched(), "{}", own.group.display());
        }
    }

    #[test]
    fn what_is_no_control_group_is_left() {
        let folder = tempfile::tempdir().unwrap();
        let uid = rustix::process::geteuid().as_raw();
        let group = folder.path().join(format!("sandpiper-{uid}-0"));
        let other = folder.path().join("other");
        // It ends with its input, and so even if the test fails.
        let mut child =
            Command::new("cat").stdin(Stdio::piped()).spawn().unwrap();
        fs::write(&other, "untouched").unwrap();
        fs::create_dir(&group).unwrap();
        fs::write(group.join("cgroup.procs"), child.id().to_string()).unwrap();
        symlink(&other, group.join("cgroup.kill")).unwrap();
        let link = folder.path().join(format!("sandpiper-{uid}-1"));
        symlink(&group, &link).unwrap();
        for name in [&group, &link] {
            assert!(is_own_name(name));
            sweep_dead(name);
        }
        assert_eq!(fs::read_to_string(&other).unwrap(), "untouched");
        assert!(group.is_dir());
        assert!(child.try_wait().unwrap().is_none(), "it was killed");
        child.kill().unwrap();
        child.wait().unwrap();
    }

    #[test]
    fn names_of_groups() {
        let uid = rustix::process::geteuid().as_raw();
        for number in ["0", "59"] {
            let name = format!("/cg/sandpiper-{uid}-{number}");
            assert!(is_own_name(Path::new(&name)), "{name}");
        }
        let other = uid + 1;
        for name in [
            "/cg".to_owned(),
            "/".to_owned(),
            format!("/cg/sandpiper-{uid}-0/boxes"),
            format!("/cg/sandpiper-{uid}-"),
            format!("/cg/sandpiper-{uid}-x"),
            format!("/cg/sandpiper-{other}-0"),
        ] {
            assert!(!is_own_name(Path::new(&name)), "{name}");
        }
    }
}
