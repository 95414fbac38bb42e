//! The memory of answers that clients have not taken yet.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

/// Counts what answers are made of, for as long as anything holds it.
#[derive(Clone, Debug)]
pub(crate) struct AnswerMemory(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    held: AtomicU64,
    /// Most bytes before clients are pressed.
    limit: u64,
}

/// Bytes that count until they go.
struct Counted {
    bytes: Vec<u8>,
    memory: AnswerMemory,
}

impl AnswerMemory {
    pub(crate) fn new(limit: u64) -> Self {
        Self(Arc::new(Inner { held: AtomicU64::new(0), limit }))
    }

    /// These bytes, counted until the last clone and slice of them is gone.
    pub(crate) fn count(&self, bytes: Vec<u8>) -> Bytes {
        self.0.held.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        Bytes::from_owner(Counted { bytes, memory: self.clone() })
    }

    /// Bytes that count now.
    pub(crate) fn held(&self) -> u64 {
        self.0.held.load(Ordering::Relaxed)
    }

    /// Most bytes before clients are pressed.
    pub(crate) fn limit(&self) -> u64 {
        self.0.limit
    }

    /// Whether there is too much: large answers are refused then, and slow
    /// clients are ended.
    pub(crate) fn is_crowded(&self) -> bool {
        self.held() > self.0.limit
    }
}

impl AsRef<[u8]> for Counted {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        let length = self.bytes.len() as u64;
        self.memory.0.held.fetch_sub(length, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_count_until_the_last_slice_is_gone() {
        let memory = AnswerMemory::new(3);
        let first = memory.count(vec![0; 2]);
        assert!(!memory.is_crowded());
        let second = memory.count(vec![0; 2]);
        assert!(memory.is_crowded());
        let slice = second.slice(1..);
        drop(second);
        assert!(memory.is_crowded());
        drop(slice);
        assert!(!memory.is_crowded());
        drop(first);
        assert_eq!(memory.held(), 0);
    }
}
