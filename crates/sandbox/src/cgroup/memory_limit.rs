//! The memory limit of a box, which can change from one command to the next.

use std::io;
use std::path::PathBuf;

use super::files::write;
use crate::error::{Result, SandboxError};

/// The files that hold the limit, and its value.
#[derive(Debug)]
pub(super) struct MemoryLimit {
    files: Vec<PathBuf>,
    bytes: u64,
}

impl MemoryLimit {
    /// Describes a limit that is set. The files are that of memory and, in
    /// version 1 if the kernel counts swap, that of memory and swap together.
    pub(super) fn new(files: Vec<PathBuf>, bytes: u64) -> Self {
        Self { files, bytes }
    }

    pub(super) fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Raises the limit by this many bytes.
    pub(super) fn add(&mut self, bytes: u64) -> Result<()> {
        self.set(self.bytes.saturating_add(bytes)).map(|_| ())
    }

    /// Changes the limit. Returns `false` if more memory is in use and cannot be
    /// freed. Version 2 kills then, as at any other time.
    pub(super) fn set(&mut self, bytes: u64) -> Result<bool> {
        if bytes == self.bytes {
            return Ok(true);
        }
        let mut files: Vec<_> = self.files.iter().collect();
        // The limit of memory alone may never be above the other.
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
