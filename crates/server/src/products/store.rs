//! The products in memory.

use std::collections::BTreeMap;

use bytes::Bytes;
use tokio::task::yield_now;

use crate::http::AnswerMemory;

use super::Action;
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
    /// By id. Each is the JSON text that answers carry.
    products: BTreeMap<i64, Bytes>,
    last_id: i64,
    /// Memory of the products, in bytes.
    used: u64,
    /// Maximum of `used`.
    capacity: u64,
    /// All products as one JSON list, until one of them changes. So clients that
    /// take it slowly share one copy.
    list: Option<Bytes>,
    /// Counts large texts.
    memory: AnswerMemory,
}

impl Store {
    /// Returns an empty store of `capacity` bytes.
    pub(super) fn new(capacity: u64, memory: AnswerMemory) -> Self {
        let (products, last_id, used, list) = Default::default();
        Self { products, last_id, used, capacity, list, memory }
    }

    /// Does what a request asks for. Returns the text of its answer, if it has
    /// one.
    ///
    /// # Errors
    ///
    /// `NotFound` if no product has the id, `Full` if the store has no room for
    /// the product, which then uses up no id.
    pub(super) async fn execute(
        &mut self,
        action: Action,
    ) -> Result<Option<Bytes>, ProductError> {
        match action {
            Action::List => self.list().await.map(Some),
            Action::Create(fields) => self.create(&fields).map(Some),
            Action::Get(id) => self.get(id).map(Some),
            Action::Replace(id, fields) => self.replace(id, &fields).map(Some),
            Action::Remove(id) => self.remove(id).map(|()| None),
        }
    }

    /// Returns all products as one JSON list, sorted by id.
    ///
    /// # Errors
    ///
    /// `AnswerMemoryFull` if another list would have to be made, and the memory
    /// is over its limit.
    pub(super) async fn list(&mut self) -> Result<Bytes, ProductError> {
        if let Some(list) = &self.list {
            return Ok(list.clone());
        }
        if self.memory.is_over_limit() {
            return Err(ProductError::AnswerMemoryFull);
        }
        let list = counted(self.joined().await, &self.memory);
        self.list = Some(list.clone());
        Ok(list)
    }

    /// Stores the text of a product in place of the one before, and returns it.
    ///
    /// # Errors
    ///
    /// `Full` if the store has no room for it.
    pub(super) fn put(
        &mut self,
        id: i64,
        text: Vec<u8>,
    ) -> Result<Bytes, ProductError> {
        let before = self.products.get(&id).map_or(0, |text| cost(text));
        let used = self.used - before + cost(&text);
        // Even a full store takes a smaller text in place of a larger one.
        if used > self.capacity.max(self.used) {
            return Err(ProductError::Full);
        }
        let text = counted(text, &self.memory);
        self.products.insert(id, text.clone());
        self.used = used;
        self.list = None;
        Ok(text)
    }

    /// Removes a product.
    ///
    /// # Errors
    ///
    /// `NotFound` if no product has the id.
    pub(super) fn remove(&mut self, id: i64) -> Result<(), ProductError> {
        let text = self.products.remove(&id).ok_or(ProductError::NotFound)?;
        self.used -= cost(&text);
        self.list = None;
        Ok(())
    }

    /// Removes all products, and returns them: freeing many takes time. Ids begin
    /// anew.
    pub(super) fn clear(&mut self) -> BTreeMap<i64, Bytes> {
        (self.last_id, self.used, self.list) = Default::default();
        std::mem::take(&mut self.products)
    }

    /// Returns the number of products and the bytes that they use.
    pub(super) fn size(&self) -> (u64, u64) {
        (self.products.len() as u64, self.used)
    }

    fn create(
        &mut self,
        fields: &ProductFields,
    ) -> Result<Bytes, ProductError> {
        let id = self.last_id + 1;
        let text = self.put(id, product::text(id, fields))?;
        self.last_id = id;
        Ok(text)
    }

    fn get(&self, id: i64) -> Result<Bytes, ProductError> {
        self.products.get(&id).cloned().ok_or(ProductError::NotFound)
    }

    fn replace(
        &mut self,
        id: i64,
        fields: &ProductFields,
    ) -> Result<Bytes, ProductError> {
        self.get(id)?;
        self.put(id, product::text(id, fields))
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
fn cost(text: &[u8]) -> u64 {
    2 * text.len() as u64 + PRODUCT_BYTES
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
