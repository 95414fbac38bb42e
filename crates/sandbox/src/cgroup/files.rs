//! The files of control groups: opened, read again and again, and parsed.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::Path;

use crate::error::{During, Result};

pub(super) fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).during(&named("read", path))
}

pub(super) fn write(path: &Path, text: &str) -> Result<()> {
    // Not fs::write, which would create a file that the kernel lacks.
    open_to_write(path)?
        .write_all(text.as_bytes())
        .during(&named("write", path))
}

/// Returns whether the number after `key` in this file is above 0.
pub(super) fn has_counted(file: &File, key: &str) -> bool {
    let text = read_again(file);
    text.and_then(|text| counter(&text, key)).is_some_and(|count| count > 0)
}

/// Returns the number after `key` at the start of a line.
pub(super) fn counter(text: &str, key: &str) -> Option<u64> {
    text.lines().find_map(|line| line.strip_prefix(key)?.parse().ok())
}

/// Reads the beginning of a file in one system call. Such files are short, and
/// the wanted line comes early.
pub(super) fn read_again(file: &File) -> Option<String> {
    let mut bytes = [0; 4096];
    let length = file.read_at(&mut bytes, 0).ok()?;
    Some(String::from_utf8_lossy(&bytes[..length]).into_owned())
}

pub(super) fn write_again(file: &File, text: &str) -> io::Result<()> {
    file.write_all_at(text.as_bytes(), 0)
}

pub(super) fn open(path: &Path) -> Result<File> {
    File::open(path).during(&named("open", path))
}

pub(super) fn open_to_write(path: &Path) -> Result<File> {
    File::options().write(true).open(path).during(&named("open", path))
}

pub(super) fn named(what: &str, path: &Path) -> String {
    format!("{what} {}", path.display())
}
