//! The catalogue behind the routes: of this process, or shared with others.

use bytes::Bytes;

use crate::http::AnswerMemory;

use super::product::ProductFields;
use super::shared::SharedStore;
use super::store::Store;

/// All products.
#[derive(Debug)]
pub(super) enum Catalogue {
    Own(Store),
    Shared(SharedStore),
}

/// Why there is no answer of the catalogue. No product was changed, but perhaps
/// after `Unreachable`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum CatalogueError {
    /// No product has the id.
    NotFound,
    /// The capacity is used up.
    Full,
    /// Too many answers are not taken yet.
    AnswersOverLimit,
    /// A shared catalogue did not answer in time.
    Unreachable,
    /// A shared catalogue has texts that no Sandpiper of this version wrote.
    Foreign,
}

// The futures of a shared catalogue are boxed: the requests of one's own need not
// carry them along.
impl Catalogue {
    /// Returns the memory of large products and lists.
    pub(super) fn memory(&self) -> &AnswerMemory {
        &self.store().memory
    }

    /// Returns the number of products and the bytes that they use. Those of a
    /// shared catalogue are as this process saw them last.
    pub(super) async fn size(&self) -> (u64, u64) {
        self.store().size().await
    }

    /// Adds a product under the next id and returns its text. Of all calls with
    /// one `request`, one does it if the catalogue is shared.
    ///
    /// # Errors
    ///
    /// `Full` if there is no room for it. This uses up no id.
    pub(super) async fn create(
        &self,
        request: impl FnOnce() -> String,
        fields: &ProductFields,
    ) -> Result<Bytes, CatalogueError> {
        match self {
            Self::Own(store) => store.create(fields).await,
            Self::Shared(shared) => {
                Box::pin(shared.create(&request(), fields)).await
            }
        }
    }

    /// Returns the text of a product.
    ///
    /// # Errors
    ///
    /// `NotFound` if no product has the id.
    pub(super) async fn get(&self, id: i64) -> Result<Bytes, CatalogueError> {
        match self {
            Self::Own(store) => {
                store.get(id).await.ok_or(CatalogueError::NotFound)
            }
            Self::Shared(shared) => Box::pin(shared.get(id)).await,
        }
    }

    /// Replaces all fields of a product but its id and returns its text.
    ///
    /// # Errors
    ///
    /// `NotFound` if no product has the id, `Full` if there is no room.
    pub(super) async fn replace(
        &self,
        request: impl FnOnce() -> String,
        id: i64,
        fields: &ProductFields,
    ) -> Result<Bytes, CatalogueError> {
        match self {
            Self::Own(store) => store.replace(id, fields).await,
            Self::Shared(shared) => {
                Box::pin(shared.replace(&request(), id, fields)).await
            }
        }
    }

    /// Removes a product.
    ///
    /// # Errors
    ///
    /// `NotFound` if no product has the id.
    pub(super) async fn remove(
        &self,
        request: impl FnOnce() -> String,
        id: i64,
    ) -> Result<(), CatalogueError> {
        match self {
            Self::Own(store) => {
                let is_removed = store.remove(id).await;
                is_removed.then_some(()).ok_or(CatalogueError::NotFound)
            }
            Self::Shared(shared) => {
                Box::pin(shared.remove(&request(), id)).await
            }
        }
    }

    /// Returns all products as one JSON list, sorted by id.
    ///
    /// # Errors
    ///
    /// `AnswersOverLimit` if a list would have to be made, and the memory is over
    /// its limit.
    pub(super) async fn list(&self) -> Result<Bytes, CatalogueError> {
        match self {
            Self::Own(store) => store.list().await,
            Self::Shared(shared) => Box::pin(shared.list()).await,
        }
    }

    fn store(&self) -> &Store {
        match self {
            Self::Own(store) => store,
            Self::Shared(shared) => shared.mirror(),
        }
    }
}
