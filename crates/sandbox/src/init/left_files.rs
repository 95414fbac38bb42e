//! Reads the files that a program left, for the server. Every process of the
//! box is dead meanwhile, but the program may have made anything of any name.

use std::ffi::CString;
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{CWD, Dir, FileType, Mode, OFlags, ResolveFlags};

use super::files::{below, open_folder};
use crate::outcome::WORKING_DIRECTORY;
use crate::pattern::matches;
use crate::{
    FilesSpec, Fingerprint, LeftFile, LeftFiles, SkipReason, SkippedFile,
};

/// The folder in which runtimes put displays.
const DISPLAYS: &str = "/tmp/.display";
/// The ending of a recording of how a picture was drawn.
const RECORDING: &[u8] = b".json";
/// The working directory of programs.
const FILES: &str = "/box";
/// Maximum depth of folders below /box.
const MAX_DEPTH: usize = 8;
/// Maximum number of names of files that were left out.
pub const MAX_SKIPPED: usize = 64;
/// Maximum bytes of a path.
const MAX_PATH: usize = 1_024;

/// Returns the displays, and the files below /box that `spec` asks for.
pub(super) fn read(spec: &FilesSpec) -> LeftFiles {
    let mut reader =
        Reader { spec, left: spec.max_bytes, found: LeftFiles::default() };
    if let Some(folder) = open_root(DISPLAYS) {
        reader.read_displays(folder.as_fd());
    }
    match open_root(FILES) {
        Some(folder) => reader.read_folder(folder.as_fd(), "", 0),
        None => {
            reader.skip(WORKING_DIRECTORY.to_owned(), SkipReason::Unreadable)
        }
    }
    reader.found
}

struct Reader<'a> {
    spec: &'a FilesSpec,
    /// Bytes that may follow.
    left: u64,
    found: LeftFiles,
}

/// An entry of a folder, opened as a path.
struct Entry {
    name: CString,
    opened: OwnedFd,
    kind: FileType,
    bytes: u64,
}

impl Reader<'_> {
    fn read_displays(&mut self, folder: BorrowedFd<'_>) {
        let mut names = names(folder).unwrap_or_default();
        // The recording of a picture may have more bytes than are left, and is
        // worth less than any picture.
        names.sort_by_key(|name| name.to_bytes().ends_with(RECORDING));
        for name in names {
            let path = match shown_name(&name) {
                Ok(name) => name.to_owned(),
                Err(shown) => {
                    self.skip(shown, SkipReason::Name);
                    continue;
                }
            };
            let Ok(entry) = open_entry(folder, name) else {
                self.skip(path, SkipReason::Unreadable);
                continue;
            };
            match entry.kind {
                FileType::RegularFile => self.add(folder, &entry, path, true),
                FileType::Symlink => self.skip(path, SkipReason::Link),
                _ => self.skip(path, SkipReason::NotAFile),
            }
        }
        self.found.files.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    }

    fn read_folder(
        &mut self,
        folder: BorrowedFd<'_>,
        parent: &str,
        depth: usize,
    ) {
        let Some(names) = names(folder) else {
            let path = parent.trim_end_matches('/');
            let path = if path.is_empty() { WORKING_DIRECTORY } else { path };
            return self.skip(path.to_owned(), SkipReason::Unreadable);
        };
        for name in names {
            let path = match shown_name(&name) {
                Ok(name) => format!("{parent}{name}"),
                Err(shown) => {
                    let path = format!("{parent}{shown}");
                    self.skip(path, SkipReason::Name);
                    continue;
                }
            };
            let Ok(entry) = open_entry(folder, name) else {
                self.skip(path, SkipReason::Unreadable);
                continue;
            };
            match entry.kind {
                FileType::Directory if depth == MAX_DEPTH => {
                    self.skip(path, SkipReason::TooDeep);
                }
                FileType::Directory => {
                    let parent = format!("{path}/");
                    self.read_folder(entry.opened.as_fd(), &parent, depth + 1);
                }
                _ if !self.is_asked_for(&path) => {}
                FileType::RegularFile => self.add(folder, &entry, path, false),
                FileType::Symlink => self.skip(path, SkipReason::Link),
                _ => self.skip(path, SkipReason::NotAFile),
            }
        }
    }

    fn is_asked_for(&self, path: &str) -> bool {
        let patterns = &self.spec.patterns;
        patterns.is_empty()
            || patterns.iter().any(|pattern| matches(pattern, path))
    }

    /// Reads a file, unless it is as it was submitted.
    fn add(
        &mut self,
        folder: BorrowedFd<'_>,
        entry: &Entry,
        path: String,
        is_display: bool,
    ) {
        let submitted = self.submitted(&path, entry.bytes, is_display);
        if submitted.is_none() {
            if self.found.files.len() >= self.spec.max_files {
                return self.skip(path, SkipReason::TooMany);
            }
            if entry.bytes > self.left {
                return self.skip(path, SkipReason::TooLarge);
            }
        }
        let Some(content) = content(folder, entry) else {
            return self.skip(path, SkipReason::Unreadable);
        };
        if submitted.is_some_and(|it| *it == Fingerprint::of(&path, &content)) {
            return;
        }
        match self.left.checked_sub(content.len() as u64) {
            Some(left) if self.found.files.len() < self.spec.max_files => {
                self.left = left;
                self.found.files.push(LeftFile { path, is_display, content });
            }
            Some(_) => self.skip(path, SkipReason::TooMany),
            None => self.skip(path, SkipReason::TooLarge),
        }
    }

    /// Returns the fingerprint that the file could still have.
    fn submitted(
        &self,
        path: &str,
        bytes: u64,
        is_display: bool,
    ) -> Option<&Fingerprint> {
        let mut submitted = self.spec.submitted.iter();
        submitted
            .find(|it| !is_display && it.path() == path && it.bytes() == bytes)
    }

    fn skip(&mut self, path: String, reason: SkipReason) {
        if self.found.skipped.len() < MAX_SKIPPED {
            let end = path.floor_char_boundary(MAX_PATH);
            let path = path[..end].to_owned();
            self.found.skipped.push(SkippedFile { path, reason });
        }
    }
}

/// Returns the names in a folder in order, without those that begin with a dot.
fn names(folder: BorrowedFd<'_>) -> Option<Vec<CString>> {
    // The folder was opened as a path, which cannot be read.
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let readable =
        rustix::fs::openat2(folder, ".", flags, Mode::empty(), below()).ok()?;
    let mut names = Vec::new();
    for entry in Dir::new(readable).ok()? {
        let entry = entry.ok()?;
        let name = entry.file_name();
        if !name.to_bytes().starts_with(b".") {
            names.push(name.to_owned());
        }
    }
    names.sort_unstable();
    Some(names)
}

/// Returns a name that can be shown as it is, or the error of its escaped form.
/// A backslash separates folders where a client could write the file.
fn shown_name(name: &CString) -> Result<&str, String> {
    let is_odd = |c: char| c.is_control() || c == '\\';
    let is_plain = |name: &str| !name.contains(is_odd);
    match name.to_str() {
        Ok(name) if is_plain(name) => Ok(name),
        _ => Err(name.to_bytes().escape_ascii().to_string()),
    }
}

fn open_root(path: &str) -> Option<OwnedFd> {
    open_folder(CWD, path, ResolveFlags::NO_SYMLINKS).ok()
}

fn open_entry(
    folder: BorrowedFd<'_>,
    name: CString,
) -> rustix::io::Result<Entry> {
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    // The flags keep a link from being followed; its own status is read.
    let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_XDEV;
    let opened =
        rustix::fs::openat2(folder, &*name, flags, Mode::empty(), resolve)?;
    let status = rustix::fs::fstat(&opened)?;
    let kind = FileType::from_raw_mode(status.st_mode);
    let bytes = u64::try_from(status.st_size).unwrap_or(u64::MAX);
    Ok(Entry { name, opened, kind, bytes })
}

/// Returns the whole file.
fn content(folder: BorrowedFd<'_>, entry: &Entry) -> Option<Vec<u8>> {
    // Nothing runs that could put a pipe there, and a pipe would not block.
    let flags = OFlags::NONBLOCK | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let opened = rustix::fs::openat2(
        folder,
        &*entry.name,
        flags,
        Mode::empty(),
        below(),
    );
    let mut bytes = Vec::new();
    let file = File::from(opened.ok()?);
    // A file of /proc or of a device could go on for ever; none is here.
    file.take(entry.bytes).read_to_end(&mut bytes).ok()?;
    Some(bytes)
}
