//! The version of a file of an image, by which data made from it are kept.

use std::fs::File;
use std::io::Result;
use std::os::unix::fs::MetadataExt;

/// Changes if a file is replaced or written to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Version([u64; 3], [i64; 2]);

impl Version {
    pub(super) fn of(file: &File) -> Result<Self> {
        let file = file.metadata()?;
        Ok(Self(
            [file.dev(), file.ino(), file.size()],
            [file.ctime(), file.ctime_nsec()],
        ))
    }
}
