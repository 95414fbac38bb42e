//! The memory of answers that clients have not taken yet.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bytes::Bytes;

/// Counts the bytes of answers for as long as anything holds them.
#[derive(Clone, Debug)]
pub(crate) struct AnswerMemory(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    held: AtomicU64,
    /// Maximum bytes before large answers are refused.
    limit: u64,
}

/// Bytes that count until they are dropped.
struct CountedBytes {
    bytes: Vec<u8>,
    memory: AnswerMemory,
}

impl AnswerMemory {
    pub(crate) fn new(limit: u64) -> Self {
        Self(Arc::new(Inner { held: AtomicU64::new(0), limit }))
    }

    /// Counts these bytes until the last clone and slice of them is dropped.
    pub(crate) fn count(&self, bytes: Vec<u8>) -> Bytes {
        self.0.held.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let memory = self.clone();
        Bytes::from_owner(CountedBytes { bytes, memory })
    }

    /// Returns the bytes that count now.
    pub(crate) fn held(&self) -> u64 {
        self.0.held.load(Ordering::Relaxed)
    }

    /// Returns the most bytes before large answers are refused.
    pub(crate) fn limit(&self) -> u64 {
        self.0.limit
    }

    /// Returns whether more bytes count than the limit: then large answers are
    /// refused, and slow clients are disconnected.
    pub(crate) fn is_over_limit(&self) -> bool {
        self.held() > self.0.limit
    }
}

impl AsRef<[u8]> for CountedBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for CountedBytes {
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
        assert!(!memory.is_over_limit());
        let second = memory.count(vec![0; 2]);
        assert!(memory.is_over_limit());
        let slice = second.slice(1..);
        drop(second);
        assert!(memory.is_over_limit());
        drop(slice);
        assert!(!memory.is_over_limit());
        drop(first);
        assert_eq!(memory.held(), 0);
    }
}
