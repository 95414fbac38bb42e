//! The number of a server among several on a machine, and the lock that shows
//! that the server is alive.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::error::{During, Result, SandboxError};

/// Maximum number of servers of one user on one machine.
const MAX_SERVERS: u32 = 60;

/// A number that no other live server of this user has, while this value (or
/// a copy of its descriptor in a child) lives.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) number: u32,
    path: PathBuf,
    /// The locked file, which names the server's control groups. The descriptor
    /// is read-only because a server that has given up root keeps it. The next
    /// start as root kills every process in the groups that the file names.
    _lock: File,
    /// The locks of the groups themselves.
    _groups: Vec<File>,
}

impl Instance {
    /// Takes the lowest free number by a lock in a folder that all servers of
    /// this user share. Control groups and host ids follow from the number.
    ///
    /// Then `make` makes the groups of this name and locks them as well. A
    /// server with its own mounts may share the groups but not the folder, and
    /// a host without control groups has only the folder. If `make` returns
    /// `None`, another server has these groups, and the next number is tried.
    ///
    /// Calls `sweep` with every control group of a dead server, that is of one
    /// that holds no lock. Its lock is held meanwhile, so that no new server
    /// takes the number.
    ///
    /// An ordinary user who cannot have the usual folder uses `otherwise`.
    pub(crate) fn take<T>(
        otherwise: &Path,
        sweep: impl Fn(&Path),
        make: impl Fn(&str) -> Result<Option<(T, Vec<File>)>>,
    ) -> Result<(Self, T)> {
        let is_root = rustix::process::geteuid().is_root();
        let otherwise = (!is_root).then(|| otherwise.join("locks"));
        let run_dir = open_run_dir(run_dir(), otherwise)?;
        let mut taken = None;
        for number in 0..MAX_SERVERS {
            let path = run_dir.join(format!("instance-{number}.lock"));
            // Above the number taken, only servers that have been are looked
            // at: no file is made for one that has not.
            if taken.is_some() && !path.exists() {
                continue;
            }
            let lock = match lock_and_sweep(&path, &sweep) {
                // Of another's, once there is one: the groups are made.
                Err(_) if taken.is_some() => continue,
                lock => lock?,
            };
            let Some(lock) = lock else { continue };
            let made =
                if taken.is_none() { make(&group_name(number))? } else { None };
            if let Some((made, _groups)) = made {
                let _lock = lock;
                taken = Some((Self { number, path, _lock, _groups }, made));
            } else {
                // Nobody has this number, and its groups are removed.
                let _ = fs::remove_file(&path);
            }
        }
        taken.ok_or_else(|| {
            SandboxError::other(
                STEP,
                format!("{MAX_SERVERS} servers already run"),
            )
        })
    }

    /// Records the control groups of this server.
    pub(crate) fn record(&self, folders: &[PathBuf]) -> Result<()> {
        let lines: Vec<_> =
            folders.iter().map(|folder| folder.display().to_string()).collect();
        fs::write(&self.path, lines.join("\n")).during(STEP)
    }

    /// Removes the file once the groups that it names are gone. Before that the
    /// next start needs it to find them. A server that is not root any more
    /// cannot remove it, and leaves this to its parent.
    pub(crate) fn release(&self, folders: &[PathBuf]) {
        if folders.iter().all(|folder| !folder.exists()) {
            // A file that stays does no harm.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Returns the name of the control groups of the server with this number.
fn group_name(number: u32) -> String {
    let uid = rustix::process::geteuid().as_raw();
    format!("sandpiper-{uid}-{number}")
}

const STEP: &str = "use the folder of locks";

/// Opens a folder for locks that nobody else can change. Another user may have
/// taken the usual name in /tmp.
fn open_run_dir(usual: PathBuf, otherwise: Option<PathBuf>) -> Result<PathBuf> {
    open_own(usual).or_else(|error| open_own(otherwise.ok_or(error)?))
}

fn open_own(run_dir: PathBuf) -> Result<PathBuf> {
    let step = format!("{STEP} {}", run_dir.display());
    DirBuilder::new()
        .recursive(true)
        .mode(0o700)
        .create(&run_dir)
        .during(&step)?;
    let found = run_dir.symlink_metadata().during(&step)?;
    let own = rustix::process::geteuid().as_raw();
    if !found.is_dir() || found.uid() != own {
        return Err(SandboxError::other(step, "it belongs to another user"));
    }
    if found.mode() & 0o022 != 0 {
        return Err(SandboxError::other(step, "other users can write to it"));
    }
    Ok(run_dir)
}

/// Locks the file and sweeps the groups that it names. Returns `None` while a
/// live server holds the lock.
fn lock_and_sweep(path: &Path, sweep: impl Fn(&Path)) -> Result<Option<File>> {
    let Some(mut lock) = try_lock(path)? else { return Ok(None) };
    take_record(&mut lock, path)?.iter().for_each(|group| sweep(group));
    Ok(Some(lock))
}

/// Locks the file. Returns `None` while a live server holds the lock.
fn try_lock(path: &Path) -> Result<Option<File>> {
    loop {
        let mut make = File::options();
        // The lock is taken on another descriptor, which cannot write.
        let make = make.append(true).create(true).mode(0o600).open(path);
        drop(make.during(STEP)?);
        let lock = match File::open(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            lock => lock.during(STEP)?,
        };
        if !take_lock(&lock).during(STEP)? {
            return Ok(None);
        }
        // Its last owner may have removed the file in between.
        if is_at(&lock, path)? {
            return Ok(Some(lock));
        }
    }
}

/// Locks a file or folder as long as it is open. Returns `false` while another
/// process holds the lock.
pub(crate) fn take_lock(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Returns whether the open file or folder still has this path.
pub(crate) fn is_at(file: &File, path: &Path) -> Result<bool> {
    let own = file.metadata().during(STEP)?;
    Ok(path.symlink_metadata().is_ok_and(|named| {
        (named.dev(), named.ino()) == (own.dev(), own.ino())
    }))
}

/// Returns the folders that a dead server recorded, and empties the file.
fn take_record(lock: &mut File, path: &Path) -> Result<Vec<PathBuf>> {
    let mut text = String::new();
    lock.read_to_string(&mut text).during(STEP)?;
    fs::write(path, "").during(STEP)?;
    Ok(text.lines().map(PathBuf::from).collect())
}

/// Returns the folder of this user's locks.
fn run_dir() -> PathBuf {
    let uid = rustix::process::geteuid();
    if uid.is_root() {
        return PathBuf::from("/run/sandpiper");
    }
    let is_own = |folder: &Path| {
        let found = folder.symlink_metadata();
        found.is_ok_and(|it| it.is_dir() && it.uid() == uid.as_raw())
    };
    // The folder of the packaged service's user. It outlives the service's
    // private /tmp, and every process of this user can see it.
    let service = PathBuf::from("/run/sandpiper-service");
    if is_own(&service) {
        return service;
    }
    // The folder that systemd makes for the session of a user.
    let session = PathBuf::from(format!("/run/user/{}", uid.as_raw()));
    if is_own(&session) {
        return session.join("sandpiper");
    }
    PathBuf::from(format!("/tmp/sandpiper-{}", uid.as_raw()))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, chown, symlink};

    use rustix::fs::OFlags;

    use super::*;

    #[test]
    fn what_was_recorded_is_swept_once() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("instance-0.lock");
        let swept = || {
            let swept = std::cell::RefCell::new(Vec::<PathBuf>::new());
            let sweep =
                |group: &Path| swept.borrow_mut().push(group.to_owned());
            let lock = lock_and_sweep(&path, sweep).unwrap().unwrap();
            (lock, swept.into_inner())
        };
        let (_lock, none) = swept();
        assert!(none.is_empty());
        let groups = ["/cg/a", "/cg/b"].map(PathBuf::from);
        let instance = Instance {
            number: 0,
            path: path.clone(),
            _lock,
            _groups: Vec::new(),
        };
        instance.record(&groups).unwrap();
        drop(instance);
        assert_eq!(swept().1, groups);
        assert!(swept().1.is_empty());
    }

    #[test]
    fn a_folder_that_others_can_change_is_not_used() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let make = |name, mode| {
            fs::create_dir(path(name)).unwrap();
            let mode = fs::Permissions::from_mode(mode);
            fs::set_permissions(path(name), mode).unwrap();
        };
        make("own", 0o755);
        make("others", 0o777);
        make("group", 0o770);
        fs::write(path("file"), "").unwrap();
        symlink(path("own"), path("link")).unwrap();
        symlink(path("gone"), path("loose")).unwrap();
        // A folder of another user: root's, or one that root gave away.
        make("given", 0o755);
        let of_another = match chown(path("given"), Some(65_534), None) {
            Ok(()) => path("given"),
            Err(_) => PathBuf::from("/usr"),
        };
        let unsafe_names = ["others", "group", "file", "link", "loose"];
        let found = unsafe_names.map(path).into_iter().chain([of_another]);
        for usual in found {
            let otherwise = path("locks");
            let opened =
                open_run_dir(usual.clone(), Some(otherwise.clone())).unwrap();
            assert_eq!(opened, otherwise, "{usual:?}");
            assert_eq!(otherwise.metadata().unwrap().mode() & 0o777, 0o700);
            fs::remove_dir(otherwise).unwrap();
            // Root has no other.
            assert!(open_run_dir(usual.clone(), None).is_err(), "{usual:?}");
        }
        assert!(!path("gone").exists());
        assert_eq!(open_run_dir(path("own"), None).unwrap(), path("own"));
    }

    #[test]
    fn a_lock_is_held_once_and_gone_when_released() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("instance-0.lock");
        let lock = try_lock(&path).unwrap().expect("it is free");
        let flags = rustix::fs::fcntl_getfl(&lock).unwrap();
        assert_eq!(flags & OFlags::RWMODE, OFlags::RDONLY);
        let instance = Instance {
            number: 0,
            path: path.clone(),
            _lock: lock,
            _groups: Vec::new(),
        };
        assert!(try_lock(&path).unwrap().is_none(), "it is held");
        // A group is still there: the next start has to know of it.
        instance.release(&[folder.path().to_owned()]);
        assert!(path.exists());
        instance.release(&[folder.path().join("gone")]);
        assert!(!path.exists());
        // The lock on the removed file keeps nobody out.
        assert!(try_lock(&path).unwrap().is_some());
    }

    #[test]
    fn a_lock_on_a_removed_file_is_none() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("instance-0.lock");
        let lock = try_lock(&path).unwrap().unwrap();
        assert!(is_at(&lock, &path).unwrap());
        fs::remove_file(&path).unwrap();
        assert!(!is_at(&lock, &path).unwrap());
        fs::write(&path, "").unwrap();
        assert!(!is_at(&lock, &path).unwrap());
    }
}
