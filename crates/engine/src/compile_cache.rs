//! The compile cache: keeps the compile artifacts of steps that succeeded, so
//! that they need not be compiled again. Their key is a hash of everything that
//! they depend on.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use sandpiper_languages::SourceFile;
use sandpiper_sandbox::{BoxSpec, CompileArtifact, StepSpec};
use sha2::{Digest, Sha256};

use crate::limits::MIB;

/// The memory of an entry besides its bytes: names, modes, and its place.
const ENTRY_COST: u64 = 256;
/// One submission may have this part of the cache, a quarter, but no more than
/// [`MAX_ENTRY_BYTES`].
const MAX_PART: u64 = 4;
/// Maximum bytes of one submission: every copy on its way is in memory.
const MAX_ENTRY_BYTES: u64 = 16 * MIB;

/// The hash of everything that compile artifacts depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct CompileKey([u8; 32]);

/// The kept compile artifacts, bounded in bytes. The entry that has not been
/// used for longest goes first.
#[derive(Debug)]
pub(crate) struct CompileCache {
    capacity: u64,
    entries: Mutex<Entries>,
}

#[derive(Debug)]
struct Entries {
    by_key: LruCache<CompileKey, Arc<Vec<CompileArtifact>>>,
    bytes: u64,
}

impl CompileKey {
    /// Returns the key of a compile step in a box with these files. `spec` has
    /// the image, whose path names its contents, and every limit. `step` has
    /// the command, the environment and the entry file.
    pub(crate) fn of(
        spec: &BoxSpec,
        step: &StepSpec,
        files: &[SourceFile],
    ) -> Self {
        let mut all = HashedBytes(Sha256::new());
        // The derived hashes cover all fields, and those added later. Lists
        // hash their length, and texts their end. `Path` hashes less than its
        // text, so the text is hashed too.
        let rootfs = spec.rootfs.as_os_str();
        (spec, rootfs, step, files).hash(&mut all);
        Self(all.0.finalize().into())
    }
}

/// A hasher that passes all bytes to SHA-256.
struct HashedBytes(Sha256);

impl Hasher for HashedBytes {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Never called: the key is longer than this.
    fn finish(&self) -> u64 {
        0
    }
}

impl CompileCache {
    /// Creates a cache of `capacity` bytes.
    pub(crate) fn new(capacity: u64) -> Self {
        // It is bounded in bytes, not in entries.
        let entries = Entries { by_key: LruCache::unbounded(), bytes: 0 };
        Self { capacity, entries: Mutex::new(entries) }
    }

    /// Returns the most bytes of one submission's compile artifacts, or `None`
    /// if no compile artifacts are kept.
    pub(crate) fn max_entry_bytes(&self) -> Option<u64> {
        let part = (self.capacity / MAX_PART).min(MAX_ENTRY_BYTES);
        Some(part).filter(|&bytes| bytes > 0)
    }

    /// Returns the compile artifacts that are kept under this key.
    pub(crate) fn get(
        &self,
        key: CompileKey,
    ) -> Option<Arc<Vec<CompileArtifact>>> {
        self.entries().by_key.get(&key).cloned()
    }

    /// Keeps the compile artifacts of a compile step that succeeded.
    pub(crate) fn keep(
        &self,
        key: CompileKey,
        compile_artifacts: Vec<CompileArtifact>,
    ) {
        let cost = cost(&compile_artifacts);
        if cost > self.capacity {
            return;
        }
        let mut entries = self.entries();
        // Another run of the same submission may have come first. Both kept
        // the same.
        if let Some(old) = entries.by_key.put(key, Arc::new(compile_artifacts))
        {
            entries.bytes -= self::cost(&old);
        }
        entries.bytes += cost;
        while entries.bytes > self.capacity {
            let Some((_, gone)) = entries.by_key.pop_lru() else { break };
            entries.bytes -= self::cost(&gone);
        }
    }

    /// Returns the bytes that are kept, and the most that may be.
    pub(crate) fn size(&self) -> (u64, u64) {
        (self.entries().bytes, self.capacity)
    }

    fn entries(&self) -> MutexGuard<'_, Entries> {
        // A panic cannot leave them half changed.
        self.entries.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn cost(compile_artifacts: &[CompileArtifact]) -> u64 {
    let of_one = |file: &CompileArtifact| {
        let content = file.content.as_ref().map_or(0, |bytes| bytes.len());
        (file.path.len() + content) as u64 + ENTRY_COST
    };
    compile_artifacts.iter().map(of_one).sum::<u64>() + ENTRY_COST
}

#[cfg(test)]
#[path = "compile_cache/tests.rs"]
mod tests;
