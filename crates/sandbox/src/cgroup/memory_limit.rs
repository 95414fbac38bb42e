//! The limit of a box's memory, which one command may have lower than another.

use std::io;
use std::path::PathBuf;

use super::folder::write;
use crate::error::{Result, SandboxError};

/// The files that hold the limit, and what it is.
#[derive(Debug)]
pub(super) struct MemoryLimit {
    files: Vec<PathBuf>,
    bytes: u64,
}

impl MemoryLimit {
    /// A limit that was set: of memory, and in version 1 of memory and swap
    /// together, where the kernel counts that.
    pub(super) fn new(files: Vec<PathBuf>, bytes: u64) -> Self {
        Self { files, bytes }
    }

    /// Sets it anew; `false` where more is in use and none of it can be freed.
    /// Version 2 kills then, as it does where a program wants more.
    pub(super) fn set(&mut self, bytes: u64) -> Result<bool> {
        if bytes == self.bytes {
            return Ok(true);
        }
        let mut files: Vec<_> = self.files.iter().collect();
        // That of memory alone may never be above the other.
        if bytes > self.bytes {
            files.reverse();
        }
        for file in files {
            match write(file, &bytes.to_string()) {
                Err(error) if is_busy(&error) => return Ok(false),
                written => written?,
            }
        }
        self.bytes = bytes;
        Ok(true)
    }
}

fn is_busy(error: &SandboxError) -> bool {
    error.cause.kind() == io::ErrorKind::ResourceBusy
}
