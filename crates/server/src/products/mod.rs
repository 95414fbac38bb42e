//! The product catalogue.

mod catalogue;
mod product;
mod shared;
mod store;

use std::borrow::Cow;
use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::header::RETRY_AFTER;
use http::request::Parts;
use http::{Method, StatusCode};
use sandpiper_shared::LinkState;

use crate::http::{
    Answer, AnswerMemory, BodyError, Proxies, RequestBody, RequestContext,
    answers_over_limit, failure, is_cross_site, json, json_text,
    method_not_allowed, no_content,
};

use catalogue::{Catalogue, CatalogueError};
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

impl Products {
    /// A catalogue that holds this many bytes, and as many of answers that
    /// clients have not taken. It begins empty, if it is not a shared one.
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
        self.catalogue.memory()
    }

    /// Returns the number of products and the bytes that they use.
    pub(crate) async fn size(&self) -> (u64, u64) {
        self.catalogue.size().await
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

    /// `/products`.
    pub(crate) async fn collection(
        &self,
        request: RequestContext<'_>,
    ) -> Answer {
        let RequestContext { head, body, peer, .. } = request;
        let client_request = || self.client_request(head, peer);
        match head.method {
            Method::GET => match self.catalogue.list().await {
                Ok(text) => json(StatusCode::OK, text),
                Err(reason) => reason.into(),
            },
            Method::POST if is_cross_site(head) => cross_site(),
            Method::POST => {
                let created = self.create(client_request, body).await;
                created.unwrap_or_else(Into::into)
            }
            _ => method_not_allowed("/products", "GET, POST"),
        }
    }

    /// `/products/` followed by `segment`.
    pub(crate) async fn single(
        &self,
        segment: &[u8],
        request: RequestContext<'_>,
    ) -> Answer {
        let RequestContext { head, body, peer, .. } = request;
        let client_request = || self.client_request(head, peer);
        let Some(id) = id(segment) else {
            return failure(StatusCode::BAD_REQUEST, "invalid product id");
        };
        match head.method {
            Method::GET => match self.catalogue.get(id).await {
                Ok(text) => json(StatusCode::OK, text),
                Err(reason) => reason.into(),
            },
            Method::PUT | Method::DELETE if is_cross_site(head) => cross_site(),
            Method::PUT => {
                let replaced = self.replace(client_request, id, body).await;
                replaced.unwrap_or_else(Into::into)
            }
            Method::DELETE => {
                match self.catalogue.remove(client_request, id).await {
                    Ok(()) => no_content(),
                    Err(reason) => reason.into(),
                }
            }
            _ => method_not_allowed("/products/{id}", "GET, PUT, DELETE"),
        }
    }

    /// Returns the id of a client's request, the same for each try of a balancer.
    fn client_request(&self, head: &Parts, peer: IpAddr) -> String {
        self.proxies.request_id(peer, &head.headers).to_string()
    }

    async fn create(
        &self,
        client_request: impl FnOnce() -> String,
        body: &mut RequestBody,
    ) -> Result<Answer, ProductError> {
        let product = fields(&body.read().await?)?;
        if product.name.is_empty() || product.price < 0.0 {
            return Err(ProductError::NotAcceptable);
        }
        let text = self.catalogue.create(client_request, &product).await?;
        Ok(json(StatusCode::CREATED, text))
    }

    async fn replace(
        &self,
        client_request: impl FnOnce() -> String,
        id: i64,
        body: &mut RequestBody,
    ) -> Result<Answer, ProductError> {
        let product = fields(&body.read().await?)?;
        let text = self.catalogue.replace(client_request, id, &product).await?;
        Ok(json(StatusCode::OK, text))
    }
}

/// The reason why a request for a product was not answered with it.
#[derive(Debug)]
enum ProductError {
    Body(BodyError),
    NotJson,
    NotAcceptable,
    Catalogue(CatalogueError),
}

impl From<BodyError> for ProductError {
    fn from(error: BodyError) -> Self {
        Self::Body(error)
    }
}

impl From<CatalogueError> for ProductError {
    fn from(error: CatalogueError) -> Self {
        Self::Catalogue(error)
    }
}

impl From<ProductError> for Answer {
    fn from(reason: ProductError) -> Self {
        let (status, message) = match reason {
            ProductError::Body(error) => return error.into(),
            ProductError::NotJson => {
                (StatusCode::BAD_REQUEST, "invalid JSON body")
            }
            ProductError::NotAcceptable => (
                StatusCode::BAD_REQUEST,
                "name is required and price must be non-negative",
            ),
            ProductError::Catalogue(error) => return error.into(),
        };
        failure(status, message)
    }
}

impl From<CatalogueError> for Answer {
    fn from(reason: CatalogueError) -> Self {
        let (status, message) = match reason {
            CatalogueError::NotFound => {
                (StatusCode::NOT_FOUND, "product not found")
            }
            CatalogueError::Full => {
                (StatusCode::INSUFFICIENT_STORAGE, "product store is full")
            }
            CatalogueError::AnswersOverLimit => return answers_over_limit(),
            CatalogueError::Unreachable => return unreachable(),
            CatalogueError::Foreign => {
                (StatusCode::INTERNAL_SERVER_ERROR, "internal error")
            }
        };
        failure(status, message)
    }
}

/// Returns 403: no page of another site may change products. A browser sends a
/// preflight only for requests that no form could send.
fn cross_site() -> Answer {
    failure(StatusCode::FORBIDDEN, "cross-site requests are not accepted")
}

/// Returns 503: a shared catalogue gives no answer.
fn unreachable() -> Answer {
    const AGAIN: u64 = 1;
    let message = "the catalogue cannot be reached; try again";
    let mut answer = failure(StatusCode::SERVICE_UNAVAILABLE, message);
    answer.headers_mut().insert(RETRY_AFTER, AGAIN.into());
    answer
}

fn fields(body: &Bytes) -> Result<ProductFields, ProductError> {
    let text: Cow<'_, str> = json_text(body).ok_or(ProductError::NotJson)?;
    product::parse(&text).ok_or(ProductError::NotJson)
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
