//! Writes the submitted files into the working directory, with the program's
//! rights.

use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags, ResolveFlags};

use crate::BoxFile;
use crate::error::{During, Result, SandboxError};

/// Returns the number of inodes that the files and their folders need.
pub(super) fn inodes(files: &[BoxFile]) -> u64 {
    let mut folders: Vec<&str> = files
        .iter()
        .flat_map(|BoxFile { path, .. }| {
            path.match_indices('/').map(|(end, _)| &path[..end])
        })
        .collect();
    folders.sort_unstable();
    folders.dedup();
    (files.len() + folders.len()) as u64
}

/// Writes every file below `root`, the folder that is /box. Call it with the
/// program's rights.
///
/// The server has checked the paths. Here each segment is opened on its own,
/// below the one before, so that no link can lead out. An error does not name
/// the file: it goes to the log, which must hold no names of a submission.
pub(super) fn write(files: &[BoxFile], root: BorrowedFd<'_>) -> Result<()> {
    files.iter().try_for_each(|file| write_one(root, file))
}

fn write_one(root: BorrowedFd<'_>, file: &BoxFile) -> Result<()> {
    let mut opened: Option<OwnedFd> = None;
    let (parents, name) =
        file.path.rsplit_once('/').unwrap_or(("", &file.path));
    for segment in parents.split('/').filter(|segment| !segment.is_empty()) {
        let folder = opened.as_ref().map_or(root, AsFd::as_fd);
        match rustix::fs::mkdirat(folder, segment, folder_mode()) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => {
                return Err(SandboxError::new("make a folder", error.into()));
            }
        }
        opened = Some(open_folder(folder, segment, below())?);
    }
    let folder = opened.as_ref().map_or(root, AsFd::as_fd);
    let step = "write a file";
    let flags =
        OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o644);
    let target =
        rustix::fs::openat2(folder, name, flags, mode, below()).during(step)?;
    File::from(target).write_all(&file.content).during(step)
}

pub(super) fn open_folder(
    parent: BorrowedFd<'_>,
    path: &str,
    resolve: ResolveFlags,
) -> Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::PATH | OFlags::CLOEXEC;
    rustix::fs::openat2(parent, path, flags, Mode::empty(), resolve)
        .during("open a folder")
}

pub(super) fn below() -> ResolveFlags {
    ResolveFlags::BENEATH
        | ResolveFlags::NO_SYMLINKS
        | ResolveFlags::NO_MAGICLINKS
        | ResolveFlags::NO_XDEV
}

fn folder_mode() -> Mode {
    Mode::from_raw_mode(0o755)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_and_their_folders_are_counted() {
        let check = |paths: &[&str], expected| {
            let file = |path: &&str| BoxFile {
                path: (*path).to_owned(),
                content: Vec::new(),
            };
            let files: Vec<_> = paths.iter().map(file).collect();
            assert_eq!(inodes(&files), expected, "{paths:?}");
        };
        check(&["a"], 1);
        check(&["a", "b/c"], 3);
        check(&["a/b/c", "a/b/d", "a/c/d"], 6);
    }
}
