//! The products in memory.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytes::Bytes;

use crate::http::AnswerMemory;

use super::page::{LARGE, PAGE_BYTES, Page, cost};
use super::price;
use super::wire::ProductFields;

/// Ids of one page. More make the list quicker to gather and a change dearer.
const IDS_PER_PAGE: i64 = 256;

/// Products, each as the JSON that answers carry. A list is gathered from
/// pages that stay rendered until one of their products changes.
#[derive(Debug)]
pub(super) struct Store {
    state: RwLock<State>,
    /// Most bytes of memory.
    capacity: u64,
    /// Counts what lists are made of.
    memory: AnswerMemory,
}

#[derive(Debug)]
struct State {
    /// By id divided by [`IDS_PER_PAGE`]; no page is empty.
    pages: BTreeMap<i64, Page>,
    next_id: i64,
    /// Bytes of memory, as [`cost`] and [`PAGE_BYTES`] count them.
    used: u64,
}

/// The store's memory is used up; nothing was changed.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Full;

/// Why a product was not replaced; nothing was changed.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ReplaceError {
    NotFound,
    Full,
}

impl Store {
    /// An empty store of this many bytes.
    pub(super) fn new(capacity: u64, memory: AnswerMemory) -> Self {
        let state = State { pages: BTreeMap::new(), next_id: 1, used: 0 };
        Self { state: RwLock::new(state), capacity, memory }
    }

    /// Adds a product under the next id and gives its JSON. A full store uses
    /// up no id.
    pub(super) fn create(
        &self,
        product: &ProductFields,
    ) -> Result<Bytes, Full> {
        let tail = tail(product);
        let mut state = self.write();
        let id = state.next_id;
        let record = self.record(id, &tail);
        let new_page = !state.pages.contains_key(&page_of(id));
        let added = cost(&record) + if new_page { PAGE_BYTES } else { 0 };
        let used = state.used + added;
        if used > self.capacity {
            return Err(Full);
        }
        state.used = used;
        state.next_id += 1;
        let page = state.pages.entry(page_of(id)).or_default();
        page.put(id, record.clone());
        Ok(json_of(&record))
    }

    /// The JSON of a product.
    pub(super) fn get(&self, id: i64) -> Option<Bytes> {
        self.read().get(id).map(json_of)
    }

    /// Replaces all but the id of a product and gives its JSON.
    pub(super) fn replace(
        &self,
        id: i64,
        product: &ProductFields,
    ) -> Result<Bytes, ReplaceError> {
        let record = self.record(id, &tail(product));
        let mut state = self.write();
        let old = state.get(id).map(cost).ok_or(ReplaceError::NotFound)?;
        let used = state.used - old + cost(&record);
        // A store that is full already still takes what makes it smaller.
        if used > self.capacity && used > state.used {
            return Err(ReplaceError::Full);
        }
        state.used = used;
        if let Some(page) = state.pages.get_mut(&page_of(id)) {
            page.put(id, record.clone());
        }
        Ok(json_of(&record))
    }

    /// Removes a product. `false` where there is none.
    pub(super) fn remove(&self, id: i64) -> bool {
        let mut state = self.write();
        let Some(page) = state.pages.get_mut(&page_of(id)) else {
            return false;
        };
        let Some(record) = page.remove(id) else {
            return false;
        };
        let mut freed = cost(&record);
        if page.is_empty() {
            state.pages.remove(&page_of(id));
            freed += PAGE_BYTES;
        }
        state.used -= freed;
        true
    }

    /// All products as the pieces of one JSON list, by id.
    pub(super) fn list(&self) -> Vec<Bytes> {
        let mut pieces = vec![Bytes::from_static(b"[")];
        {
            let state = self.read();
            for page in state.pages.values() {
                pieces.extend_from_slice(page.chunks(&self.memory));
            }
        }
        if let Some(first) = pieces.get_mut(1) {
            *first = json_of(first);
        }
        pieces.push(Bytes::from_static(b"]"));
        pieces
    }

    /// How many products there are, and the bytes that they use.
    pub(super) fn size(&self) -> (u64, u64) {
        let state = self.read();
        let products = state.pages.values().map(|page| page.len() as u64);
        (products.sum(), state.used)
    }

    /// Most bytes that they may use.
    pub(super) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// A product as pages keep it: behind a comma.
    fn record(&self, id: i64, tail: &[u8]) -> Bytes {
        // Room for the longest id.
        let mut record = Vec::with_capacity(tail.len() + 27);
        // Writing to a Vec cannot fail.
        let _ = write!(record, ",{{\"id\":{id}");
        record.extend_from_slice(tail);
        if record.len() < LARGE {
            // Lists have a copy, and that counts.
            return record.into();
        }
        self.memory.count(record)
    }

    // A panic under the lock would be a bug that leaves the maps whole.
    fn read(&self) -> RwLockReadGuard<'_, State> {
        self.state.read().unwrap_or_else(PoisonError::into_inner)
    }

    fn write(&self) -> RwLockWriteGuard<'_, State> {
        self.state.write().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn get(&self, id: i64) -> Option<&Bytes> {
        self.pages.get(&page_of(id))?.get(id)
    }
}

fn page_of(id: i64) -> i64 {
    id.div_euclid(IDS_PER_PAGE)
}

/// A product's JSON after its id, made outside of the lock.
fn tail(product: &ProductFields) -> Vec<u8> {
    // Room for most, without growing.
    let mut tail = Vec::with_capacity(product.name.len() + 48);
    tail.extend_from_slice(b",\"name\":");
    // Writing to a Vec cannot fail.
    let _ = serde_json::to_writer(&mut tail, &product.name);
    tail.extend_from_slice(b",\"price\":");
    price::write(product.price, &mut tail);
    tail.push(b'}');
    tail
}

/// A record, or records in a row, without the comma in front.
fn json_of(record: &Bytes) -> Bytes {
    record.slice(1..)
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
