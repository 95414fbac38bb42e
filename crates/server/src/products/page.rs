//! A page of the store: products of neighbouring ids, and their text as the
//! list shows it.

use std::sync::OnceLock;

use bytes::Bytes;

use crate::http::AnswerMemory;

/// Records from this size on stand in the list as they are; smaller ones are
/// copied together, so that the list has few pieces.
pub(super) const LARGE: usize = 4 * 1024;
/// Memory of a product besides its text: its slot, its counter, and its share
/// of allocators' rounding.
const PRODUCT_BYTES: u64 = 128;
/// Memory of a page besides its products.
pub(super) const PAGE_BYTES: u64 = 256;

/// Neighbouring products. A record is the product's JSON behind a comma, so
/// that records in a row are the inside of a JSON list.
#[derive(Debug, Default)]
pub(super) struct Page {
    /// Sorted by id.
    records: Vec<(i64, Bytes)>,
    /// All records, joined. Empty after a change, until the list is asked for.
    chunks: OnceLock<Box<[Bytes]>>,
}

/// What a record uses of the store's memory, in bytes.
pub(super) fn cost(record: &Bytes) -> u64 {
    let copies = if record.len() < LARGE { 2 } else { 1 };
    copies * record.len() as u64 + PRODUCT_BYTES
}

impl Page {
    pub(super) fn len(&self) -> usize {
        self.records.len()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    pub(super) fn get(&self, id: i64) -> Option<&Bytes> {
        let at = self.position(id).ok()?;
        Some(&self.records[at].1)
    }

    /// Stores a record; the one that had its id before goes.
    pub(super) fn put(&mut self, id: i64, record: Bytes) {
        self.chunks.take();
        // A new one is the last.
        if self.records.last().is_none_or(|(last, _)| *last < id) {
            self.records.push((id, record));
            return;
        }
        match self.position(id) {
            Ok(at) => self.records[at].1 = record,
            Err(at) => self.records.insert(at, (id, record)),
        }
    }

    pub(super) fn remove(&mut self, id: i64) -> Option<Bytes> {
        let at = self.position(id).ok()?;
        self.chunks.take();
        let (_, record) = self.records.remove(at);
        if self.records.len() < self.records.capacity() / 2 {
            self.records.shrink_to_fit();
        }
        Some(record)
    }

    /// All records in order, in few pieces.
    pub(super) fn chunks(&self, memory: &AnswerMemory) -> &[Bytes] {
        self.chunks.get_or_init(|| self.joined(memory))
    }

    fn joined(&self, memory: &AnswerMemory) -> Box<[Bytes]> {
        let mut chunks = Vec::new();
        let mut small = Vec::new();
        for (_, record) in &self.records {
            if record.len() < LARGE {
                small.extend_from_slice(record);
                continue;
            }
            if !small.is_empty() {
                chunks.push(exact(&mut small, memory));
            }
            chunks.push(record.clone());
        }
        if !small.is_empty() {
            chunks.push(exact(&mut small, memory));
        }
        chunks.into()
    }

    fn position(&self, id: i64) -> Result<usize, usize> {
        self.records.binary_search_by_key(&id, |(own, _)| *own)
    }
}

/// The text in an allocation of its own size, and the buffer empty again.
fn exact(buffer: &mut Vec<u8>, memory: &AnswerMemory) -> Bytes {
    let chunk = memory.count(buffer.as_slice().to_vec(), ());
    buffer.clear();
    chunk
}
