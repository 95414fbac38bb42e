//! One server among several on a machine: its number, and the lock that says
//! it lives.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use crate::error::{During, Result, SandboxError};

/// Most servers of one user on one machine.
const MOST: u32 = 60;

/// A number that no other live server of this user has, while this value (or
/// a copy of its descriptor in a child) lives.
#[derive(Debug)]
pub(crate) struct Instance {
    pub(crate) number: u32,
    path: PathBuf,
    /// Locked; holds the folders of the server's control groups.
    lock: File,
    /// The locks of the groups themselves.
    _groups: Vec<File>,
}

impl Instance {
    /// Takes the lowest free number, by a lock in a folder that all servers
    /// of this user share: control groups and host ids follow from the number.
    /// Then `make`s its groups, by name, which are locked as well: a server
    /// in mounts of its own may share the groups and not the folder, and one
    /// on a host without groups has the folder alone. `None` of `make` says
    /// that another has them: the next number is tried.
    ///
    /// Also calls `sweep` with every control group of servers that are dead:
    /// whoever holds no lock is. Their locks are held meanwhile, so that none
    /// of them can come to life again.
    pub(crate) fn take<T>(
        sweep: impl Fn(&Path),
        make: impl Fn(&str) -> Result<Option<(T, Vec<File>)>>,
    ) -> Result<(Self, T)> {
        let run_dir = open_run_dir()?;
        let mut taken = None;
        for number in 0..MOST {
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
                taken = Some((Self { number, path, lock, _groups }, made));
            } else {
                // Nobody's, and swept: nothing is left to tell.
                let _ = fs::remove_file(&path);
            }
        }
        taken.ok_or_else(|| {
            SandboxError::other(STEP, format!("{MOST} servers already run"))
        })
    }

    /// Writes down which control groups are this server's.
    pub(crate) fn record(&mut self, folders: &[PathBuf]) -> Result<()> {
        let lines: Vec<_> =
            folders.iter().map(|folder| folder.display().to_string()).collect();
        self.lock.write_all(lines.join("\n").as_bytes()).during(STEP)
    }

    /// Removes the lock's file, once the groups that it names are gone: else
    /// the next start has to find them. A server that is not root any more
    /// cannot, and leaves it to its parent.
    pub(crate) fn release(&self, folders: &[PathBuf]) {
        if folders.iter().all(|folder| !folder.exists()) {
            // What is left is a file that says nothing.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// The name of the control groups of the server with this number.
fn group_name(number: u32) -> String {
    let uid = rustix::process::geteuid().as_raw();
    format!("sandpiper-{uid}-{number}")
}

const STEP: &str = "use the folder of locks";

fn open_run_dir() -> Result<PathBuf> {
    let run_dir = run_dir();
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
    Ok(run_dir)
}

/// The file, locked, and what it names swept; `None` while a live server holds
/// it.
fn lock_and_sweep(path: &Path, sweep: impl Fn(&Path)) -> Result<Option<File>> {
    let Some(mut lock) = try_lock(path)? else { return Ok(None) };
    take_record(&mut lock)?.iter().for_each(|group| sweep(group));
    Ok(Some(lock))
}

/// The file, locked; `None` while a live server holds it.
fn try_lock(path: &Path) -> Result<Option<File>> {
    loop {
        let lock = File::options()
            .create(true)
            .truncate(false)
            .read(true)
            .write(true)
            .open(path)
            .during(STEP)?;
        if !take_lock(&lock).during(STEP)? {
            return Ok(None);
        }
        // Else its last owner removed it in between: a lock on nothing.
        if is_at(&lock, path)? {
            return Ok(Some(lock));
        }
    }
}

/// Locks a file, or folder, as long as it is open; `false` while somebody else
/// holds it.
pub(crate) fn take_lock(file: &File) -> io::Result<bool> {
    match flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(rustix::io::Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// Whether the file, or folder, is still the one of this name.
pub(crate) fn is_at(file: &File, path: &Path) -> Result<bool> {
    let own = file.metadata().during(STEP)?;
    Ok(path.symlink_metadata().is_ok_and(|named| {
        (named.dev(), named.ino()) == (own.dev(), own.ino())
    }))
}

/// The folders that a dead server wrote down; the file is empty then.
fn take_record(lock: &mut File) -> Result<Vec<PathBuf>> {
    let mut text = String::new();
    lock.read_to_string(&mut text).during(STEP)?;
    lock.set_len(0).during(STEP)?;
    lock.rewind().during(STEP)?;
    Ok(text.lines().map(PathBuf::from).collect())
}

/// Where this user's locks are.
fn run_dir() -> PathBuf {
    let uid = rustix::process::geteuid();
    if uid.is_root() {
        return PathBuf::from("/run/sandpiper");
    }
    let is_own = |folder: &Path| {
        let found = folder.symlink_metadata();
        found.is_ok_and(|it| it.is_dir() && it.uid() == uid.as_raw())
    };
    // The folder of the packaged service's user: it outlives the service's
    // private /tmp, and all that this user starts can see it.
    let service = PathBuf::from("/run/sandpiper-service");
    if is_own(&service) {
        return service;
    }
    // The folder that systemd makes for a user's session.
    let session = PathBuf::from(format!("/run/user/{}", uid.as_raw()));
    if is_own(&session) {
        return session.join("sandpiper");
    }
    PathBuf::from(format!("/tmp/sandpiper-{}", uid.as_raw()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_is_held_once_and_gone_when_released() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("instance-0.lock");
        let lock = try_lock(&path).unwrap().expect("it is free");
        let (number, _groups) = (0, Vec::new());
        let instance = Instance { number, path: path.clone(), lock, _groups };
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
