//! What compiled once need not compile again: the artifacts of successful
//! compile steps, by a hash of all that went into them.

use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use lru::LruCache;
use sandpiper_languages::SourceFile;
use sandpiper_sandbox::{Artifact, BoxSpec, StepSpec};
use sha2::{Digest, Sha256};

use crate::limits::MIB;

/// What an entry costs beside its bytes: names, modes, its place.
const ENTRY_COST: u64 = 256;
/// What part of the cache one submission may have.
const LARGEST_PART: u64 = 4;
/// The most it may have: every copy on its way is in memory.
const LARGEST: u64 = 16 * MIB;

/// The hash of everything that artifacts depend on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key([u8; 32]);

/// Kept artifacts, bounded in bytes; what was not used for longest goes first.
#[derive(Debug)]
pub(crate) struct ArtifactCache {
    capacity: u64,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    entries: LruCache<Key, Arc<Vec<Artifact>>>,
    bytes: u64,
}

impl Key {
    /// The key of a compile step in a box with these files. The box names the
    /// image by its contents, and every limit; the step its command, its
    /// environment and the entry file.
    pub(crate) fn of(
        spec: &BoxSpec,
        step: &StepSpec,
        files: &[SourceFile],
    ) -> Self {
        let mut all = Everything(Sha256::new());
        // All fields, those that will come included: lists say how long they
        // are, texts where they end. A path says less than its text.
        let rootfs = spec.rootfs.as_os_str();
        (spec, rootfs, step, files).hash(&mut all);
        Self(all.0.finalize().into())
    }
}

/// Takes the bytes of what is hashed as they are.
struct Everything(Sha256);

impl Hasher for Everything {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Of no use: what is asked for is longer.
    fn finish(&self) -> u64 {
        0
    }
}

impl ArtifactCache {
    /// Room for `capacity` bytes.
    pub(crate) fn new(capacity: u64) -> Self {
        // Bounded in bytes, not in entries.
        let state = State { entries: LruCache::unbounded(), bytes: 0 };
        Self { capacity, state: Mutex::new(state) }
    }

    /// The most bytes of one submission's artifacts; `None` where nothing is
    /// kept.
    pub(crate) fn largest(&self) -> Option<u64> {
        let part = (self.capacity / LARGEST_PART).min(LARGEST);
        Some(part).filter(|&bytes| bytes > 0)
    }

    pub(crate) fn get(&self, key: Key) -> Option<Arc<Vec<Artifact>>> {
        self.state().entries.get(&key).cloned()
    }

    /// Keeps the artifacts of a compile step that succeeded.
    pub(crate) fn keep(&self, key: Key, artifacts: Vec<Artifact>) {
        let cost = cost(&artifacts);
        if cost > self.capacity {
            return;
        }
        let mut state = self.state();
        // Another run of the same may have come first: either will do.
        if let Some(old) = state.entries.put(key, Arc::new(artifacts)) {
            state.bytes -= self::cost(&old);
        }
        state.bytes += cost;
        while state.bytes > self.capacity {
            let Some((_, gone)) = state.entries.pop_lru() else { break };
            state.bytes -= self::cost(&gone);
        }
    }

    /// Bytes kept, and the most that may be.
    pub(crate) fn size(&self) -> (u64, u64) {
        (self.state().bytes, self.capacity)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // No change of it can stop halfway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn cost(artifacts: &[Artifact]) -> u64 {
    let of_one = |artifact: &Artifact| {
        let content = artifact.content.as_ref().map_or(0, |bytes| bytes.len());
        (artifact.path.len() + content) as u64 + ENTRY_COST
    };
    artifacts.iter().map(of_one).sum::<u64>() + ENTRY_COST
}

#[cfg(test)]
#[path = "artifacts/tests.rs"]
mod tests;
