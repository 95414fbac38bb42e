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
struct Counted<T> {
    bytes: Vec<u8>,
    memory: AnswerMemory,
    _with: T,
}

impl AnswerMemory {
    pub(crate) fn new(limit: u64) -> Self {
        Self(Arc::new(Inner { held: AtomicU64::new(0), limit }))
    }

    /// These bytes, counted until the last clone and slice of them is gone.
    /// `with` goes after them: when they were sent, or compressed.
    pub(crate) fn count<T: Send + 'static>(
        &self,
        bytes: Vec<u8>,
        with: T,
    ) -> Bytes {
        self.0.held.fetch_add(bytes.len() as u64, Ordering::Relaxed);
        let memory = self.clone();
        Bytes::from_owner(Counted { bytes, memory, _with: with })
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
    pub(crate) fn is_over_limit(&self) -> bool {
        self.held() > self.0.limit
    }
}

impl<T> AsRef<[u8]> for Counted<T> {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl<T> Drop for Counted<T> {
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
        let first = memory.count(vec![0; 2], ());
        assert!(!memory.is_over_limit());
        let second = memory.count(vec![0; 2], ());
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
