//! The product catalogue.

mod error;
mod product;
mod shared;
mod store;

use std::borrow::Cow;
use std::sync::Arc;

use bytes::Bytes;
use http::{Method, StatusCode};
use sandpiper_shared::LinkState;

use crate::http::{
    Answer, AnswerMemory, Proxies, RequestContext, is_cross_site, json,
    json_text, method_not_allowed, no_content,
};

use error::ProductError;
pub(crate) use product::{NewProduct, Product, ProductFields};
use shared::SharedStore;
use store::Store;

/// The routes `/products` and `/products/{id}`.
#[derive(Debug)]
pub(crate) struct Products {
    catalogue: Catalogue,
    proxies: Arc<Proxies>,
    /// Most bytes that the products may use.
    capacity: u64,
}

#[derive(Debug)]
enum Catalogue {
    Own(Store),
    Shared(SharedStore),
}

impl Products {
    /// Returns a catalogue that holds `capacity` bytes. Its large texts, stored or
    /// not yet taken by clients, may have `capacity + answers` bytes. It begins
    /// empty, if it is not a shared one.
    pub(crate) fn new(
        capacity: u64,
        answers: u64,
        shared: Option<sandpiper_shared::Catalogue>,
        proxies: Arc<Proxies>,
    ) -> Self {
        // Answers share the bytes of the store, which therefore count once.
        let memory = AnswerMemory::new(capacity.saturating_add(answers));
        let catalogue = match shared {
            None => Catalogue::Own(Store::new(capacity, memory)),
            Some(shared) => {
                Catalogue::Shared(SharedStore::new(shared, capacity, memory))
            }
        };
        Self { catalogue, proxies, capacity }
    }

    /// Returns the memory of large products and lists.
    pub(crate) fn memory(&self) -> &AnswerMemory {
        &self.store().memory
    }

    /// Returns the number of products and the bytes that they use. Those of a
    /// shared catalogue are as this process saw them last.
    pub(crate) async fn size(&self) -> (u64, u64) {
        self.store().size().await
    }

    /// Returns the most bytes that the products may use.
    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Returns the state of a shared catalogue.
    pub(crate) fn shared_state(&self) -> Option<LinkState> {
        match &self.catalogue {
            Catalogue::Own(_) => None,
            Catalogue::Shared(shared) => Some(shared.state()),
        }
    }

    /// Answers a request for `/products`.
    pub(crate) async fn collection(
        &self,
        request: RequestContext<'_>,
    ) -> Answer {
        let answer = match request.head.method {
            Method::GET => self.list().await,
            Method::POST => self.create(request).await,
            _ => Ok(method_not_allowed("/products", "GET, POST")),
        };
        answer.unwrap_or_else(Into::into)
    }

    /// Answers a request for `/products/` followed by `segment`.
    pub(crate) async fn single(
        &self,
        segment: &[u8],
        request: RequestContext<'_>,
    ) -> Answer {
        let Some(id) = id(segment) else {
            return ProductError::InvalidId.into();
        };
        let answer = match request.head.method {
            Method::GET => self.get(id).await,
            Method::PUT => self.replace(id, request).await,
            Method::DELETE => self.remove(id, request).await,
            _ => {
                let allowed = "GET, PUT, DELETE";
                Ok(method_not_allowed("/products/{id}", allowed))
            }
        };
        answer.unwrap_or_else(Into::into)
    }

    // The futures of a shared catalogue are boxed: requests to the catalogue of
    // this process need not carry them along.

    async fn list(&self) -> Result<Answer, ProductError> {
        let text = match &self.catalogue {
            Catalogue::Own(store) => store.list().await?,
            Catalogue::Shared(shared) => Box::pin(shared.list()).await?,
        };
        Ok(json(StatusCode::OK, text))
    }

    async fn get(&self, id: i64) -> Result<Answer, ProductError> {
        let text = match &self.catalogue {
            Catalogue::Own(store) => store.get(id).await?,
            Catalogue::Shared(shared) => Box::pin(shared.get(id)).await?,
        };
        Ok(json(StatusCode::OK, text))
    }

    async fn create(
        &self,
        mut request: RequestContext<'_>,
    ) -> Result<Answer, ProductError> {
        let product = sent_fields(&mut request).await?;
        if product.name.is_empty() || product.price < 0.0 {
            return Err(ProductError::NotAcceptable);
        }
        let text = match &self.catalogue {
            Catalogue::Own(store) => store.create(&product).await?,
            Catalogue::Shared(shared) => {
                let request_id = self.request_id(&request);
                Box::pin(shared.create(&request_id, &product)).await?
            }
        };
        Ok(json(StatusCode::CREATED, text))
    }

    async fn replace(
        &self,
        id: i64,
        mut request: RequestContext<'_>,
    ) -> Result<Answer, ProductError> {
        let product = sent_fields(&mut request).await?;
        let text = match &self.catalogue {
            Catalogue::Own(store) => store.replace(id, &product).await?,
            Catalogue::Shared(shared) => {
                let request_id = self.request_id(&request);
                Box::pin(shared.replace(&request_id, id, &product)).await?
            }
        };
        Ok(json(StatusCode::OK, text))
    }

    async fn remove(
        &self,
        id: i64,
        request: RequestContext<'_>,
    ) -> Result<Answer, ProductError> {
        refuse_cross_site(&request)?;
        match &self.catalogue {
            Catalogue::Own(store) => store.remove(id).await?,
            Catalogue::Shared(shared) => {
                let request_id = self.request_id(&request);
                Box::pin(shared.remove(&request_id, id)).await?;
            }
        }
        Ok(no_content())
    }

    /// Returns the id of a client's request, the same for each try of a balancer.
    fn request_id(&self, request: &RequestContext<'_>) -> String {
        let headers = &request.head.headers;
        self.proxies.request_id(request.peer, headers).to_string()
    }

    /// Returns the products that this process holds.
    fn store(&self) -> &Store {
        match &self.catalogue {
            Catalogue::Own(store) => store,
            Catalogue::Shared(shared) => shared.mirror(),
        }
    }
}

/// Returns an error if a page of another site sent the request.
fn refuse_cross_site(request: &RequestContext<'_>) -> Result<(), ProductError> {
    if is_cross_site(request.head) {
        return Err(ProductError::CrossSite);
    }
    Ok(())
}

/// Returns the fields that a request of this site has in its body.
async fn sent_fields(
    request: &mut RequestContext<'_>,
) -> Result<ProductFields, ProductError> {
    refuse_cross_site(request)?;
    fields(&request.body.read().await?)
}

fn fields(body: &Bytes) -> Result<ProductFields, ProductError> {
    let text: Cow<'_, str> =
        json_text(body).ok_or(ProductError::InvalidJson)?;
    product::parse(&text).ok_or(ProductError::InvalidJson)
}

/// For fuzzing: the name and the price of a body that is accepted, and the
/// JSON that answers a PUT of it to product 1.
#[cfg(feature = "fuzzing")]
pub(crate) fn accepted(body: &Bytes) -> Option<(String, f64, Bytes)> {
    let product = fields(body).ok()?;
    let answer = product::text(1, &product).into();
    Some((product.name, product.price, answer))
}

/// An optional sign and ASCII digits that fit 64 bits, which is what Rust
/// takes.
fn id(segment: &[u8]) -> Option<i64> {
    std::str::from_utf8(segment).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_signed_64_bit_integers() {
        let check = |segment: &str, expected: Option<i64>| {
            assert_eq!(id(segment.as_bytes()), expected, "{segment}");
        };
        check("1", Some(1));
        check("007", Some(7));
        check("+1", Some(1));
        check("-5", Some(-5));
        check("-0", Some(0));
        check("9223372036854775807", Some(i64::MAX));
        check("-9223372036854775808", Some(i64::MIN));
        for segment in [
            "",
            "+",
            "-",
            "+-1",
            "1.0",
            "1e3",
            " 1",
            "1 ",
            "0x1",
            "1/",
            "/1",
            "1/2",
            "./1",
            "1_0",
            "١",
            "abc",
            "9223372036854775808",
        ] {
            check(segment, None);
        }
        assert_eq!(id(b"\xff"), None);
    }
}
