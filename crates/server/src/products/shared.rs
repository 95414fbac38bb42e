//! The products that several Sandpipers share, as one of them sees them.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use sandpiper_shared as shared;
use shared::{Changes, Cursor, LinkState};
use tokio::sync::Mutex;
use tokio::time::timeout;
use tracing::error;

use crate::http::AnswerMemory;

use super::Action;
use super::error::ProductError;
use super::product;
use super::store::{Store, counted};

/// The longest time for a list, all its batches together.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);

/// A catalogue that several Sandpipers share. Every call but `list` is one round
/// trip, so each Sandpiper sees what all have written. Lists come from a mirror,
/// which is first brought up to date: to send all products for each list would
/// block the catalogue for everybody.
#[derive(Debug)]
pub(super) struct SharedStore {
    catalogue: shared::Catalogue,
    /// Maximum bytes that the products may use.
    capacity: u64,
    /// The products of the catalogue, as they were at `progress`.
    mirror: Mutex<Store>,
    /// Counts large texts.
    memory: AnswerMemory,
    /// Locked while the mirror is brought up to date, and while a list is made
    /// of it: only between two updates it is the catalogue of one moment.
    progress: Mutex<Progress>,
    /// Counts lists that were asked for and updates that began.
    arrivals: AtomicU64,
    /// Shorter in tests.
    list_timeout: Duration,
}

/// How far the mirror is.
#[derive(Debug, Default)]
struct Progress {
    cursor: Cursor,
    /// The number at which the last update began, and its end. `None` if there
    /// was none, or its client left amid it.
    last: Option<(u64, Result<(), ProductError>)>,
}

impl SharedStore {
    /// Returns a catalogue of `capacity` bytes, whose large texts `memory`
    /// counts.
    pub(super) fn new(
        catalogue: shared::Catalogue,
        capacity: u64,
        memory: AnswerMemory,
    ) -> Self {
        // The catalogue has checked its own bound. Amid an update the mirror can
        // have products of before beside those of now.
        let twice = capacity.saturating_mul(2);
        Self {
            catalogue,
            capacity,
            mirror: Mutex::new(Store::new(twice, memory.clone())),
            memory,
            progress: Mutex::default(),
            arrivals: AtomicU64::default(),
            list_timeout: LIST_TIMEOUT,
        }
    }

    /// Returns the products that were there at the last update.
    pub(super) fn mirror(&self) -> &Mutex<Store> {
        &self.mirror
    }

    /// Returns the state of the connection.
    pub(super) fn state(&self) -> LinkState {
        self.catalogue.link().state()
    }

    /// Does what a request asks for. Returns the text of its answer, if it has
    /// one. `request` is the same for each try of a balancer.
    pub(super) async fn execute(
        &self,
        request: &str,
        action: Action,
    ) -> Result<Option<Bytes>, ProductError> {
        let (catalogue, capacity) = (&self.catalogue, self.capacity);
        let text = match action {
            Action::List => return self.list().await.map(Some),
            Action::Create(fields) => {
                let rest = product::text_behind_id(&fields);
                let rest = rest.as_bytes();
                let id = catalogue.create(request, capacity, rest).await?;
                product::text(id.ok_or(ProductError::Full)?, &fields)
            }
            Action::Get(id) => self.get(id).await?,
            Action::Replace(id, fields) => {
                let text = product::text(id, &fields);
                match catalogue.replace(request, capacity, id, &text).await? {
                    shared::Replaced::Done => text,
                    shared::Replaced::NotFound => {
                        return Err(ProductError::NotFound);
                    }
                    shared::Replaced::Full => return Err(ProductError::Full),
                }
            }
            Action::Remove(id) => {
                let is_removed = catalogue.remove(request, id).await?;
                return is_removed
                    .then_some(None)
                    .ok_or(ProductError::NotFound);
            }
        };
        Ok(Some(counted(text, &self.memory)))
    }

    async fn get(&self, id: i64) -> Result<Vec<u8>, ProductError> {
        // Each of these answers has a copy of its own.
        if self.memory.is_over_limit() {
            return Err(ProductError::AnswerMemoryFull);
        }
        let text = self.catalogue.get(id).await?;
        let text = text.ok_or(ProductError::NotFound)?;
        check(id, &text)?;
        Ok(text)
    }

    async fn list(&self) -> Result<Bytes, ProductError> {
        let list = timeout(self.list_timeout, self.updated_list()).await;
        list.unwrap_or(Err(ProductError::Unreachable))
    }

    async fn updated_list(&self) -> Result<Bytes, ProductError> {
        let arrival = self.arrive();
        let mut progress = self.progress.lock().await;
        match progress.last {
            // It began when this list had been asked for, so it is new enough.
            Some((began, end)) if began > arrival => end?,
            _ => self.update(&mut progress).await?,
        }
        self.mirror.lock().await.list().await
    }

    fn arrive(&self) -> u64 {
        self.arrivals.fetch_add(1, Ordering::SeqCst)
    }

    /// Brings the mirror up to date.
    async fn update(
        &self,
        progress: &mut Progress,
    ) -> Result<(), ProductError> {
        let began = self.arrive();
        // This holds if the client leaves, too.
        progress.last = None;
        let end = self.follow(&mut progress.cursor).await;
        progress.last = Some((began, end));
        end
    }

    /// Takes over batches of changes until there are no more. If one fails, or
    /// the time is over, the next call goes on from there.
    async fn follow(&self, cursor: &mut Cursor) -> Result<(), ProductError> {
        loop {
            let batch: Changes = self.catalogue.changes(cursor).await?;
            for (id, text) in &batch.products {
                text.as_ref().map_or(Ok(()), |text| check(*id, text))?;
            }
            let mut mirror = self.mirror.lock().await;
            let before = batch.is_anew.then(|| mirror.clear());
            for (id, text) in batch.products {
                match text {
                    Some(text) => {
                        let is_put = mirror.put(id, text);
                        is_put.map_err(too_large)?;
                    }
                    None => _ = mirror.remove(id),
                }
            }
            drop(mirror);
            drop(before);
            *cursor = batch.cursor;
            if !batch.has_more {
                return Ok(());
            }
        }
    }
}

/// Checks that a text is the one that this version writes of a product. Nothing
/// else is passed on to clients.
fn check(id: i64, text: &[u8]) -> Result<(), ProductError> {
    if product::is_text_of(id, text) {
        return Ok(());
    }
    error!(
        "product {id} of the shared catalogue has a text that this version of \
         Sandpiper does not write; remove it there"
    );
    Err(ProductError::Foreign)
}

/// Reports that the catalogue holds more than any Sandpiper would have put there.
fn too_large(_: ProductError) -> ProductError {
    error!(
        "the shared catalogue is larger than --products-memory allows; give all \
         servers the same, and remove products that none of them made"
    );
    ProductError::Foreign
}

impl From<shared::CatalogueError> for ProductError {
    fn from(reason: shared::CatalogueError) -> Self {
        match reason {
            shared::CatalogueError::NoAnswer(_) => Self::Unreachable,
            shared::CatalogueError::Unexpected(_) => {
                error!("{reason}");
                Self::Foreign
            }
        }
    }
}

#[cfg(test)]
#[path = "shared_tests.rs"]
mod with_valkey;
