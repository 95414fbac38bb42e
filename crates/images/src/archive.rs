//! The file names in an export, and a reader and writer that computes a checksum
//! and reports its progress.

use std::io::{self, Read, Write};

use sha2::{Digest, Sha256};

use crate::recipe::{Recipe, architecture};

/// The first file of an export: the checksums of the others, for
/// `sha256sum --check`.
pub(crate) const SUMS: &str = "SHA256SUMS";

/// The extension of an image's archive.
const EXTENSION: &str = ".tar.zst";

/// The file name of an image's archive in an export, in its parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ArchiveName {
    pub(crate) image: String,
    pub(crate) hash: String,
    pub(crate) architecture: String,
}

impl ArchiveName {
    pub(crate) fn of(recipe: &Recipe) -> Self {
        Self {
            image: recipe.name.clone(),
            hash: recipe.hash.clone(),
            architecture: architecture().to_owned(),
        }
    }

    pub(crate) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.strip_suffix(EXTENSION)?.rsplitn(3, '-');
        let (architecture, hash) = (parts.next()?, parts.next()?);
        let image = parts.next().filter(|image| !image.is_empty())?;
        Some(Self {
            image: image.to_owned(),
            hash: hash.to_owned(),
            architecture: architecture.to_owned(),
        })
    }
}

impl std::fmt::Display for ArchiveName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { image, hash, architecture } = self;
        write!(f, "{image}-{hash}-{architecture}{EXTENSION}")
    }
}

/// A reader or writer that hashes and counts the bytes that pass through it.
pub(crate) struct Hashing<'a, T> {
    inner: T,
    hasher: Sha256,
    bytes: u64,
    /// Gets the number of bytes so far.
    report: &'a mut dyn FnMut(u64),
}

impl<'a, T> Hashing<'a, T> {
    pub(crate) fn new(inner: T, report: &'a mut dyn FnMut(u64)) -> Self {
        Self { inner, hasher: Sha256::new(), bytes: 0, report }
    }

    /// Returns the SHA-256 of all bytes, in hexadecimal digits.
    pub(crate) fn sum(self) -> String {
        let digest = self.hasher.finalize();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    fn count(&mut self, bytes: &[u8]) {
        self.hasher.update(bytes);
        self.bytes += bytes.len() as u64;
        (self.report)(self.bytes);
    }
}

impl<T: Read> Read for Hashing<'_, T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.inner.read(buffer)?;
        self.count(&buffer[..length]);
        Ok(length)
    }
}

impl<T: Write> Write for Hashing<'_, T> {
    fn write(&mut self, buffer: &[u8]) -> io::Result<usize> {
        let length = self.inner.write(buffer)?;
        self.count(&buffer[..length]);
        Ok(length)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_archives() {
        let name = ArchiveName::parse("a-b-0123-amd64.tar.zst").unwrap();
        assert_eq!(name.image, "a-b");
        assert_eq!((&*name.hash, &*name.architecture), ("0123", "amd64"));
        assert_eq!(name.to_string(), "a-b-0123-amd64.tar.zst");
        for wrong in ["a-b.tar.zst", "-0-amd64.tar.zst", "a-0-amd64.tar", ""] {
            assert_eq!(ArchiveName::parse(wrong), None, "{wrong}");
        }
    }
}
