//! The products in memory.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::sync::{PoisonError, RwLock, RwLockReadGuard, RwLockWriteGuard};

use bytes::{Buf as _, Bytes};

use crate::http::AnswerMemory;

use super::page::{LARGE, PAGE_BYTES, Page, cost};
use super::price;
use super::wire::ProductFields;

/// Ids of one page. More make the list quicker to gather and a change dearer.
const IDS_PER_PAGE: i64 = 256;
/// What stands before the name, with the longest id.
const ID_BYTES: usize = 27;

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
        // Everyone waits for this lock: nothing is done under it that can be
        // done before.
        let draft = draft(product);
        let mut state = self.write();
        let State { pages, next_id, used } = &mut *state;
        let id = *next_id;
        let record = self.record(id, draft);
        // No page is behind that of the next id.
        let last = pages.last_entry();
        let last = last.filter(|last| *last.key() == page_of(id));
        let new_page = if last.is_none() { PAGE_BYTES } else { 0 };
        let used_then = *used + cost(&record) + new_page;
        if used_then > self.capacity {
            return Err(Full);
        }
        *used = used_then;
        *next_id += 1;
        let page = match last {
            Some(last) => last.into_mut(),
            None => pages.entry(page_of(id)).or_default(),
        };
        page.put(id, record.clone());
        drop(state);
        Ok(json_of(record))
    }

    /// The JSON of a product.
    pub(super) fn get(&self, id: i64) -> Option<Bytes> {
        self.read().get(id).cloned().map(json_of)
    }

    /// Replaces all but the id of a product and gives its JSON.
    pub(super) fn replace(
        &self,
        id: i64,
        product: &ProductFields,
    ) -> Result<Bytes, ReplaceError> {
        let record = self.record(id, draft(product));
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
        Ok(json_of(record))
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
            first.advance(1);
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
    fn record(&self, id: i64, mut draft: Vec<u8>) -> Bytes {
        let mut head = [0; ID_BYTES];
        let mut free = &mut head[..];
        // It fits, however long the id is.
        let _ = free.write_all(b",{\"id\":");
        let _ = serde_json::to_writer(&mut free, &id);
        let unused = free.len();
        let head = &head[..ID_BYTES - unused];
        draft[unused..ID_BYTES].copy_from_slice(head);
        let mut record = if draft.len() - unused < LARGE {
            // Lists have a copy, and that counts.
            draft.into()
        } else {
            self.memory.count(draft, ())
        };
        record.advance(unused);
        record
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

/// A product's JSON after its id, behind room for what comes before it.
fn draft(product: &ProductFields) -> Vec<u8> {
    const NAME: &[u8] = b",\"name\":";
    const PRICE: &[u8] = b",\"price\":";
    let price = price::text(product.price);
    // Exact where nothing of the name is escaped.
    let quoted = product.name.len() + 2;
    let length = [ID_BYTES, NAME.len(), quoted, PRICE.len(), price.len(), 1];
    let mut draft = Vec::with_capacity(length.iter().sum());
    draft.resize(ID_BYTES, 0);
    draft.extend_from_slice(NAME);
    // Writing to a Vec cannot fail.
    let _ = serde_json::to_writer(&mut draft, &product.name);
    draft.extend_from_slice(PRICE);
    draft.extend_from_slice(price.as_bytes());
    draft.push(b'}');
    // Its memory is counted by its length.
    draft.shrink_to_fit();
    draft
}

/// A record, or records in a row, without the comma in front.
fn json_of(mut record: Bytes) -> Bytes {
    record.advance(1);
    record
}

#[cfg(test)]
#[path = "store_tests.rs"]
mod tests;
