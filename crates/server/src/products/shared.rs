//! The products that several Sandpipers share, as one of them sees them.

use std::time::{Duration, Instant};

use bytes::Bytes;
use sandpiper_shared::{Catalogue, CatalogueError, Cursor, Replaced};
use tokio::sync::Mutex;
use tokio::time::timeout;
use tracing::error;

use super::Action;
use super::error::{ProductError, Result};
use super::product;
use super::store::{Rows, Store, counted};

/// The longest time for a list, all its batches together.
const LIST_TIMEOUT: Duration = Duration::from_secs(5);

/// A catalogue that several Sandpipers share. Every call but `list` is one round
/// trip, so each Sandpiper sees what all have written. Lists come from a mirror,
/// which is first brought up to date: to send all products for each list would
/// block the catalogue for everybody.
#[derive(Debug)]
pub(super) struct SharedCatalogue {
    pub(super) catalogue: Catalogue,
    /// Locked while the mirror is brought up to date, and while a list is made
    /// of it: only between two updates it is the catalogue of one moment.
    progress: Mutex<Progress>,
}

/// How far the mirror is.
#[derive(Debug, Default)]
struct Progress {
    cursor: Cursor,
    /// The begin of the last update, and its end. `None` if there was none, or
    /// its client left amid it.
    last: Option<(Instant, Result<()>)>,
}

impl SharedCatalogue {
    pub(super) fn new(catalogue: Catalogue) -> Self {
        Self { catalogue, progress: Mutex::default() }
    }

    /// Does what a request asks for. Returns the text of its answer, if it has
    /// one. `request` is the same for each try of a balancer.
    pub(super) async fn execute(
        &self,
        mirror: &Store,
        request: &str,
        action: Action,
    ) -> Result<Option<Bytes>> {
        let (catalogue, capacity) = (&self.catalogue, mirror.capacity);
        let text = match action {
            Action::List => return self.list(mirror, LIST_TIMEOUT).await,
            Action::Create(fields) => {
                let rest = product::text_behind_id(&fields);
                let id = catalogue.create(request, capacity, &rest).await?;
                product::text(id.ok_or(ProductError::Full)?, &fields)
            }
            // Each of these answers has a copy of its own.
            Action::Get(_) if mirror.memory.is_over_limit() => {
                return Err(ProductError::AnswerMemoryFull);
            }
            Action::Get(id) => {
                let text = catalogue.get(id).await?;
                checked(id, text.ok_or(ProductError::NotFound)?)?
            }
            Action::Replace(id, fields) => {
                let text = product::text(id, &fields);
                match catalogue.replace(request, capacity, id, &text).await? {
                    Replaced::Done => text,
                    Replaced::NotFound => return Err(ProductError::NotFound),
                    Replaced::Full => return Err(ProductError::Full),
                }
            }
            Action::Remove(id) => {
                let is_removed = catalogue.remove(request, id).await?;
                return is_removed
                    .then_some(None)
                    .ok_or(ProductError::NotFound);
            }
        };
        Ok(Some(counted(text, &mirror.memory)))
    }

    async fn list(
        &self,
        mirror: &Store,
        within: Duration,
    ) -> Result<Option<Bytes>> {
        let asked = Instant::now();
        let list = async {
            let mut progress = self.progress.lock().await;
            match progress.last {
                // It is new enough, since this list had been asked for then.
                Some((began, end)) if began > asked => end?,
                _ => {
                    let began = Instant::now();
                    // This holds if the client leaves, too.
                    progress.last = None;
                    let end = self.follow(mirror, &mut progress.cursor).await;
                    progress.last = Some((began, end));
                    end?;
                }
            }
            mirror.execute(Action::List).await
        };
        let list = timeout(within, list).await;
        list.unwrap_or(Err(ProductError::Unreachable))
    }

    /// Takes over batches of changes until there are no more. If one fails, or
    /// the time is over, the next call goes on from there.
    async fn follow(&self, mirror: &Store, cursor: &mut Cursor) -> Result<()> {
        // The catalogue has checked its own bound. Amid an update the mirror can
        // have products of before beside those of now.
        let capacity = mirror.capacity.saturating_mul(2);
        loop {
            let batch = self.catalogue.changes(cursor).await?;
            let mut rows = mirror.rows.lock().await;
            if batch.is_anew {
                *rows = Rows::default();
            }
            for (id, text) in batch.products {
                let text = text.map(|text| checked(id, text)).transpose()?;
                let text = text.map(|text| counted(text, &mirror.memory));
                rows.put(id, text, capacity).map_err(too_large)?;
            }
            *cursor = batch.cursor;
            if !batch.has_more {
                return Ok(());
            }
        }
    }
}

/// Returns a text if it is the one that this version writes of a product.
/// Nothing else is passed on to clients.
fn checked(id: i64, text: Vec<u8>) -> Result<Vec<u8>> {
    if product::is_text_of(id, &text) {
        return Ok(text);
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

impl From<CatalogueError> for ProductError {
    fn from(reason: CatalogueError) -> Self {
        match reason {
            CatalogueError::NoAnswer(_) => Self::Unreachable,
            CatalogueError::Unexpected(_) => {
                error!("{reason}");
                Self::Foreign
            }
        }
    }
}

#[cfg(test)]
#[path = "shared_tests.rs"]
mod with_valkey;
