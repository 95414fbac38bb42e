//! The products in memory.

use std::collections::BTreeMap;

use bytes::Bytes;
use tokio::sync::Mutex;
use tokio::task::yield_now;

use crate::http::AnswerMemory;

use super::error::ProductError;
use super::product::{self, ProductFields};

/// Memory of a product besides its text, in bytes: its place in the map, its
/// reference count, and its share of the allocator's rounding.
const PRODUCT_BYTES: u64 = 128;
/// Texts from this size on count as memory of answers: slow clients can hold
/// many of them after their products have changed.
const LARGE_BYTES: usize = 4 * 1024;
/// Bytes of the list that are joined before other tasks have a turn.
const TURN_BYTES: usize = 256 * 1024;

/// All products.
#[derive(Debug)]
pub(super) struct Store {
    /// Locked also while a list of all is made, which takes 0.1 s for a million
    /// products. Waiting for it blocks no thread.
    state: Mutex<State>,
    /// Most bytes that the products may use.
    capacity: u64,
    /// Counts large texts.
    pub(super) memory: AnswerMemory,
}

#[derive(Debug, Default)]
struct State {
    /// By id. Each is the JSON text that answers carry.
    products: BTreeMap<i64, Bytes>,
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
        Self { state: Mutex::default(), capacity, memory }
    }

    /// Adds a product under the next id and returns its text.
    ///
    /// # Errors
    ///
    /// `Full` if the store has no room for it. This uses up no id.
    pub(super) async fn create(
        &self,
        fields: &ProductFields,
    ) -> Result<Bytes, ProductError> {
        let mut state = self.state.lock().await;
        let id = state.last_id + 1;
        let text = self.counted(product::text(id, fields));
        state.put(id, text.clone(), self.capacity)?;
        state.last_id = id;
        Ok(text)
    }

    /// Returns the text of a product.
    ///
    /// # Errors
    ///
    /// `NotFound` if no product has the id.
    pub(super) async fn get(&self, id: i64) -> Result<Bytes, ProductError> {
        let state = self.state.lock().await;
        state.products.get(&id).cloned().ok_or(ProductError::NotFound)
    }

    /// Replaces all fields of a product but its id and returns its text.
    ///
    /// # Errors
    ///
    /// `NotFound` if no product has the id, `Full` if the store has no room.
    pub(super) async fn replace(
        &self,
        id: i64,
        fields: &ProductFields,
    ) -> Result<Bytes, ProductError> {
        let text = self.counted(product::text(id, fields));
        let mut state = self.state.lock().await;
        if !state.products.contains_key(&id) {
            return Err(ProductError::NotFound);
        }
        state.put(id, text.clone(), self.capacity)?;
        Ok(text)
    }

    /// Removes a product.
    ///
    /// # Errors
    ///
    /// `NotFound` if no product has the id.
    pub(super) async fn remove(&self, id: i64) -> Result<(), ProductError> {
        self.state.lock().await.remove(id)
    }

    /// Stores a text under an id, in place of the one before.
    ///
    /// # Errors
    ///
    /// `Full` if the store has no room for it.
    pub(super) async fn put(
        &self,
        id: i64,
        text: Vec<u8>,
    ) -> Result<(), ProductError> {
        let text = self.counted(text);
        self.state.lock().await.put(id, text, self.capacity)
    }

    /// Removes all products. Ids begin anew.
    pub(super) async fn clear(&self) {
        let before = std::mem::take(&mut *self.state.lock().await);
        // Freeing many products takes time, in which the store is not locked.
        drop(before);
    }

    /// Returns all products as one JSON list, sorted by id.
    ///
    /// # Errors
    ///
    /// `AnswersOverLimit` if another list would have to be made, and the memory
    /// is over its limit.
    pub(super) async fn list(&self) -> Result<Bytes, ProductError> {
        let mut state = self.state.lock().await;
        if let Some(list) = &state.list {
            return Ok(list.clone());
        }
        if self.memory.is_over_limit() {
            return Err(ProductError::AnswersOverLimit);
        }
        let list = self.counted(state.joined().await);
        state.list = Some(list.clone());
        Ok(list)
    }

    /// Returns the number of products and the bytes that they use.
    pub(super) async fn size(&self) -> (u64, u64) {
        let state = self.state.lock().await;
        (state.products.len() as u64, state.used)
    }

    /// Returns a text that counts as memory of answers if it is large.
    pub(super) fn counted(&self, text: Vec<u8>) -> Bytes {
        if text.len() < LARGE_BYTES {
            // The store counts the length, so nothing may be allocated beyond.
            text.into_boxed_slice().into()
        } else {
            self.memory.count(text)
        }
    }
}

impl State {
    /// Stores the text of a product in place of the one before.
    fn put(
        &mut self,
        id: i64,
        text: Bytes,
        capacity: u64,
    ) -> Result<(), ProductError> {
        let before = self.products.get(&id).map_or(0, cost);
        let more = cost(&text).saturating_sub(before);
        // Even a full store takes a smaller text in place of a larger one.
        if more > 0 && self.used + more > capacity {
            return Err(ProductError::Full);
        }
        self.used = self.used - before + cost(&text);
        self.list = None;
        self.products.insert(id, text);
        Ok(())
    }

    fn remove(&mut self, id: i64) -> Result<(), ProductError> {
        let text = self.products.remove(&id).ok_or(ProductError::NotFound)?;
        self.used -= cost(&text);
        self.list = None;
        Ok(())
    }

    /// Returns the texts of all products as one JSON list.
    async fn joined(&self) -> Vec<u8> {
        // The cost of a product has its text twice.
        let capacity = usize::try_from(self.used / 2).unwrap_or(0);
        let mut list = Vec::with_capacity(capacity);
        list.push(b'[');
        let mut turn_end = TURN_BYTES;
        for text in self.products.values() {
            if list.len() > 1 {
                list.push(b',');
            }
            list.extend_from_slice(text);
            if list.len() > turn_end {
                turn_end = list.len() + TURN_BYTES;
                yield_now().await;
            }
        }
        list.push(b']');
        list
    }
}

/// Returns the memory that a product and its part of the list use, in bytes.
fn cost(text: &Bytes) -> u64 {
    2 * text.len() as u64 + PRODUCT_BYTES
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
