//! Reads the files that a step left in /artifacts, for the server, and writes
//! them again for a later submission that is the same.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, ResolveFlags};
use serde_bytes::ByteBuf;

use super::files::{below, open_folder};
use super::mounts::ARTIFACTS;
use crate::CompileArtifact;
use crate::error::{During, Result};

/// Maximum number of files and folders.
const MAX_ENTRIES: usize = 1_000;
/// Maximum bytes of an entry in the answer besides its name and content.
const ENTRY_BYTES: u64 = 32;
/// Maximum depth of folders.
const MAX_DEPTH: usize = 16;

/// Returns everything in /artifacts. Returns `None` if it is more than
/// `max_bytes`, or not only files and folders.
pub(super) fn read(max_bytes: u64) -> Option<Vec<CompileArtifact>> {
    let root = open_folder(CWD, ARTIFACTS, ResolveFlags::NO_SYMLINKS).ok()?;
    let mut collected = Collected { list: Vec::new(), left: max_bytes };
    collected.add_folder(root.as_fd(), "", 0)?;
    Some(collected.list)
}

/// The entries that were read, and the number of bytes that may follow.
struct Collected {
    list: Vec<CompileArtifact>,
    left: u64,
}

impl Collected {
    fn add_folder(
        &mut self,
        folder: BorrowedFd<'_>,
        path: &str,
        depth: usize,
    ) -> Option<()> {
        let mut names = Vec::new();
        // The folder was opened as a path, which cannot be read.
        let readable = open(folder, ".", OFlags::DIRECTORY)?;
        for entry in Dir::new(readable).ok()? {
            let name = entry.ok()?.file_name().to_str().ok()?.to_owned();
            if name != "." && name != ".." {
                names.push(name);
            }
        }
        for name in names {
            let path = format!("{path}{name}");
            let found = open(folder, &name, OFlags::PATH)?;
            let status = rustix::fs::fstat(&found).ok()?;
            let mode = Mode::from_raw_mode(status.st_mode).as_raw_mode();
            // The name takes room in the answer, too.
            let bytes = path.len() as u64 + ENTRY_BYTES;
            self.left = self.left.checked_sub(bytes)?;
            let is_too_much =
                self.list.len() == MAX_ENTRIES || depth == MAX_DEPTH;
            let content = match FileType::from_raw_mode(status.st_mode) {
                _ if is_too_much => return None,
                FileType::RegularFile => Some(self.content(&open(
                    folder,
                    &name,
                    OFlags::empty(),
                )?)?),
                FileType::Directory => None,
                _ => return None,
            };
            let is_folder = content.is_none();
            self.list.push(CompileArtifact {
                path: path.clone(),
                mode,
                content,
            });
            if is_folder {
                let below = format!("{path}/");
                self.add_folder(found.as_fd(), &below, depth + 1)?;
            }
        }
        Some(())
    }

    /// Returns the whole file, unless it has more bytes than may follow.
    fn content(&mut self, file: &OwnedFd) -> Option<ByteBuf> {
        let file = File::from(file.try_clone().ok()?);
        let mut bytes = Vec::new();
        file.take(self.left + 1).read_to_end(&mut bytes).ok()?;
        self.left = self.left.checked_sub(bytes.len() as u64)?;
        Some(ByteBuf::from(bytes))
    }
}

/// Opens an entry of a folder. It may be anything, and made by anyone.
fn open(folder: BorrowedFd<'_>, name: &str, flags: OFlags) -> Option<OwnedFd> {
    // O_PATH allows no other flag. Else O_NONBLOCK: a pipe must not block init.
    let is_path = flags.contains(OFlags::PATH);
    let waiting = if is_path { OFlags::empty() } else { OFlags::NONBLOCK };
    let flags = flags | waiting | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    rustix::fs::openat2(folder, name, flags, Mode::empty(), below()).ok()
}

/// Writes them below `root`. Call it with the program's rights.
pub(super) fn write(
    compile_artifacts: &[CompileArtifact],
    root: BorrowedFd<'_>,
) -> Result<()> {
    compile_artifacts.iter().try_for_each(|a| write_one(root, a))?;
    // Last, and the deepest first: a folder must be writable while it is filled.
    let folders = compile_artifacts.iter().filter(|a| a.content.is_none());
    folders.rev().try_for_each(|folder| permit(root, folder))
}

fn write_one(root: BorrowedFd<'_>, file: &CompileArtifact) -> Result<()> {
    let step = "write a compile artifact";
    let (parent, name) =
        file.path.rsplit_once('/').unwrap_or((".", &file.path));
    let folder = open_folder(root, parent, below())?;
    let mode = Mode::from_raw_mode(file.mode);
    let Some(content) = &file.content else {
        let usable = Mode::from_raw_mode(0o700);
        return rustix::fs::mkdirat(&folder, name, usable).during(step);
    };
    let flags =
        OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let target = rustix::fs::openat2(&folder, name, flags, mode, below())
        .during(step)?;
    rustix::fs::fchmod(&target, mode).during(step)?;
    File::from(target).write_all(content).during(step)
}

/// Gives a folder its own permissions.
fn permit(root: BorrowedFd<'_>, folder: &CompileArtifact) -> Result<()> {
    let step = "write a compile artifact";
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let opened =
        rustix::fs::openat2(root, &folder.path, flags, Mode::empty(), below())
            .during(step)?;
    let mode = Mode::from_raw_mode(folder.mode);
    rustix::fs::fchmod(opened, mode).during(step)
}
