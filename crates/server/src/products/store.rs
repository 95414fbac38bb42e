//! The products in memory.

use std::collections::BTreeMap;

use bytes::Bytes;
use tokio::sync::Mutex;
use tokio::task::yield_now;

use crate::http::AnswerMemory;

use super::error::{ProductError, Result};
use super::{Action, product};

/// Memory of a product besides its text, in bytes: its place in the map, its
/// reference count, and its share of the allocator's rounding.
const PRODUCT_BYTES: u64 = 128;
/// Texts from this size on count as memory of answers: slow clients can hold
/// many of them after their products have changed.
const LARGE_BYTES: usize = 4 * 1024;
/// Bytes of the list that are joined before other tasks have a turn.
const TURN_BYTES: usize = 256 * 1024;

/// All products, under a lock.
#[derive(Debug)]
pub(super) struct Store {
    /// Maximum memory of the products, in bytes.
    pub(super) capacity: u64,
    /// Counts large texts.
    pub(super) memory: AnswerMemory,
    /// Locked also while a list of all is made, which takes 0.1 s for a million
    /// products. Waiting for it blocks no thread.
    pub(super) rows: Mutex<Rows>,
}

/// All products.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// By id. Each is the JSON text that answers carry.
    texts: BTreeMap<i64, Bytes>,
    /// The largest id that was ever used.
    last_id: i64,
    /// Memory of the products, in bytes.
    used: u64,
    /// All products as one JSON list, until one of them changes. So clients that
    /// take it slowly share one copy.
    list: Option<Bytes>,
}

impl Store {
    /// Returns an empty store of `capacity` bytes.
    pub(super) fn new(capacity: u64, memory: AnswerMemory) -> Self {
        Self { capacity, memory, rows: Mutex::default() }
    }

    /// Does what a request asks for. Returns the text of its answer, if it has
    /// one.
    ///
    /// # Errors
    ///
    /// `NotFound` if no product has the id, `Full` if the store has no room for
    /// the product, which then uses up no id, `AnswerMemoryFull` if another list
    /// would have to be made, and the memory is over its limit.
    pub(super) async fn execute(
        &self,
        action: Action,
    ) -> Result<Option<Bytes>> {
        let mut rows = self.rows.lock().await;
        let text =
            |id, fields| Some(counted(product::text(id, fields), &self.memory));
        match action {
            Action::List => rows.list(&self.memory).await.map(Some),
            Action::Get(id) => rows.get(id).map(Some),
            Action::Create(fields) => {
                let id = rows.last_id + 1;
                rows.put(id, text(id, &fields), self.capacity)
            }
            Action::Replace(id, fields) => {
                rows.get(id)?;
                rows.put(id, text(id, &fields), self.capacity)
            }
            Action::Remove(id) => {
                rows.get(id)?;
                rows.put(id, None, self.capacity)
            }
        }
    }

    /// Returns the number of products and the bytes that they use.
    pub(super) async fn size(&self) -> (u64, u64) {
        let rows = self.rows.lock().await;
        (rows.texts.len() as u64, rows.used)
    }
}

impl Rows {
    /// Stores the text of a product in place of the one before, or removes the
    /// product if there is none. Returns the text.
    ///
    /// # Errors
    ///
    /// `Full` if the products would use more than `capacity`.
    pub(super) fn put(
        &mut self,
        id: i64,
        text: Option<Bytes>,
        capacity: u64,
    ) -> Result<Option<Bytes>> {
        let before = self.texts.get(&id).map_or(0, cost);
        let used = self.used - before + text.as_ref().map_or(0, cost);
        if used > capacity {
            return Err(ProductError::Full);
        }
        match &text {
            Some(text) => self.texts.insert(id, text.clone()),
            None => self.texts.remove(&id),
        };
        self.last_id = self.last_id.max(id);
        (self.used, self.list) = (used, None);
        Ok(text)
    }

    fn get(&self, id: i64) -> Result<Bytes> {
        self.texts.get(&id).cloned().ok_or(ProductError::NotFound)
    }

    /// Returns all products as one JSON list, sorted by id.
    async fn list(&mut self, memory: &AnswerMemory) -> Result<Bytes> {
        if let Some(list) = &self.list {
            return Ok(list.clone());
        }
        if memory.is_over_limit() {
            return Err(ProductError::AnswerMemoryFull);
        }
        // The cost of a product has its text twice.
        let mut list =
            Vec::with_capacity(usize::try_from(self.used / 2).unwrap_or(0));
        list.push(b'[');
        for text in self.texts.values() {
            let turns = list.len() / TURN_BYTES;
            list.extend_from_slice(text);
            list.push(b',');
            if list.len() / TURN_BYTES > turns {
                yield_now().await;
            }
        }
        list.pop_if(|last| *last == b',');
        list.push(b']');
        Ok(self.list.insert(counted(list, memory)).clone())
    }
}

/// Returns a text that `memory` counts if it is large.
pub(super) fn counted(text: Vec<u8>, memory: &AnswerMemory) -> Bytes {
    if text.len() < LARGE_BYTES {
        // The store counts the length, so nothing may be allocated beyond.
        text.into_boxed_slice().into()
    } else {
        memory.count(text)
    }
}

/// Returns the memory that a product and its part of the list use, in bytes.
fn cost(text: &Bytes) -> u64 {
    2 * text.len() as u64 + PRODUCT_BYTES
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
