//! The products in memory.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;

use crate::http::AnswerMemory;

use super::product::{self, ProductFields};

/// Memory of a product besides its text, in bytes: its place in the map, its
/// reference count, and its share of the allocator's rounding.
const PRODUCT_BYTES: u64 = 128;
/// Texts from this size on count as memory of answers: slow clients can hold
/// many of them after their products have changed.
const LARGE_BYTES: usize = 4 * 1024;

/// Products by id, each as the JSON text that answers carry.
#[derive(Debug)]
pub(super) struct Store {
    state: Mutex<State>,
    capacity: u64,
    /// Counts large texts.
    memory: AnswerMemory,
}

#[derive(Debug)]
struct State {
    products: BTreeMap<i64, Bytes>,
    next_id: i64,
    /// Memory of the products, in bytes.
    used: u64,
    /// All products as one JSON list, kept until one of them changes. So
    /// clients that take it slowly share one copy.
    list: Option<Bytes>,
}

/// Why a product was not stored. The store is as it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum StoreError {
    NotFound,
    Full,
}

impl Store {
    /// Returns an empty store of `capacity` bytes.
    pub(super) fn new(capacity: u64, memory: AnswerMemory) -> Self {
        let products = BTreeMap::new();
        let state = State { products, next_id: 1, used: 0, list: None };
        Self { state: Mutex::new(state), capacity, memory }
    }

    /// Adds a product under the next id and returns its text.
    ///
    /// # Errors
    ///
    /// `Full` if the store has no room for it. This uses up no id.
    pub(super) fn create(
        &self,
        fields: &ProductFields,
    ) -> Result<Bytes, StoreError> {
        let mut state = self.state();
        let id = state.next_id;
        let text = self.counted(product::text(id, fields));
        state.put(id, text.clone(), self.capacity)?;
        state.next_id += 1;
        Ok(text)
    }

    /// Returns the text of a product.
    pub(super) fn get(&self, id: i64) -> Option<Bytes> {
        self.state().products.get(&id).cloned()
    }

    /// Replaces all fields of a product but its id and returns its text.
    ///
    /// # Errors
    ///
    /// `NotFound` if no product has the id, `Full` if the store has no room.
    pub(super) fn replace(
        &self,
        id: i64,
        fields: &ProductFields,
    ) -> Result<Bytes, StoreError> {
        let text = self.counted(product::text(id, fields));
        let mut state = self.state();
        if !state.products.contains_key(&id) {
            return Err(StoreError::NotFound);
        }
        state.put(id, text.clone(), self.capacity)?;
        Ok(text)
    }

    /// Removes a product. Returns `false` if there is none.
    pub(super) fn remove(&self, id: i64) -> bool {
        let mut state = self.state();
        let Some(text) = state.products.remove(&id) else { return false };
        state.used -= cost(&text);
        state.list = None;
        true
    }

    /// Returns all products as one JSON list, sorted by id.
    pub(super) fn list(&self) -> Bytes {
        let mut state = self.state();
        if let Some(list) = &state.list {
            return list.clone();
        }
        let length = state.products.values().map(|text| text.len() + 1).sum();
        let mut list = Vec::with_capacity(2_usize.saturating_add(length));
        list.push(b'[');
        for text in state.products.values() {
            if list.len() > 1 {
                list.push(b',');
            }
            list.extend_from_slice(text);
        }
        list.push(b']');
        let list = self.counted(list);
        state.list = Some(list.clone());
        list
    }

    /// Returns the number of products and the bytes that they use.
    pub(super) fn size(&self) -> (u64, u64) {
        let state = self.state();
        (state.products.len() as u64, state.used)
    }

    /// Returns the most bytes that the products may use.
    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Returns the memory that large texts count in.
    pub(super) fn memory(&self) -> &AnswerMemory {
        &self.memory
    }

    fn counted(&self, text: Vec<u8>) -> Bytes {
        if text.len() < LARGE_BYTES {
            // The store counts the length, so nothing may be allocated beyond.
            text.into_boxed_slice().into()
        } else {
            self.memory.count(text)
        }
    }

    // No code that holds the lock leaves the state half changed.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Stores the text of a product in place of the one before.
    fn put(
        &mut self,
        id: i64,
        text: Bytes,
        capacity: u64,
    ) -> Result<(), StoreError> {
        let before = self.products.get(&id).map_or(0, cost);
        let used = self.used - before + cost(&text);
        // Even a full store takes a smaller text in place of a larger one.
        if used > capacity && used > self.used {
            return Err(StoreError::Full);
        }
        self.used = used;
        self.products.insert(id, text);
        self.list = None;
        Ok(())
    }
}

/// Returns the memory that a product and its part of the list use, in bytes.
fn cost(text: &Bytes) -> u64 {
    2 * text.len() as u64 + PRODUCT_BYTES
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
