//! The product catalogue.

mod product;
mod store;

use std::borrow::Cow;

use bytes::Bytes;
use http::request::Parts;
use http::{Method, StatusCode};

use crate::http::{
    Answer, AnswerMemory, BodyError, RequestBody, answers_over_limit, failure,
    is_cross_site, json, json_text, method_not_allowed, no_content,
};

pub(crate) use product::{NewProduct, Product, ProductFields};
use store::{Store, StoreError};

/// The routes `/products` and `/products/{id}`.
#[derive(Debug)]
pub(crate) struct Products {
    store: Store,
}

impl Products {
    /// An empty catalogue that holds this many bytes, and as many of answers
    /// that clients have not taken.
    pub(crate) fn new(capacity: u64, answers: u64) -> Self {
        // Answers share the bytes of the store, which therefore count once.
        let memory = AnswerMemory::new(capacity.saturating_add(answers));
        Self { store: Store::new(capacity, memory) }
    }

    /// Returns the memory of large products and lists.
    pub(crate) fn memory(&self) -> &AnswerMemory {
        &self.store.memory
    }

    /// Returns the number of products and the bytes that they use.
    pub(crate) fn size(&self) -> (u64, u64) {
        self.store.size()
    }

    /// Returns the most bytes that the products may use.
    pub(crate) fn capacity(&self) -> u64 {
        self.store.capacity
    }

    /// `/products`.
    pub(crate) async fn collection(
        &self,
        head: &Parts,
        body: &mut RequestBody,
    ) -> Answer {
        match head.method {
            Method::GET => {
                let list = self.store.list().await;
                list.map_or_else(answers_over_limit, |text| {
                    json(StatusCode::OK, text)
                })
            }
            Method::POST if is_cross_site(head) => cross_site(),
            Method::POST => self.create(body).await.unwrap_or_else(Into::into),
            _ => method_not_allowed("/products", "GET, POST"),
        }
    }

    /// `/products/` followed by `segment`.
    pub(crate) async fn single(
        &self,
        head: &Parts,
        segment: &[u8],
        body: &mut RequestBody,
    ) -> Answer {
        let Some(id) = id(segment) else {
            return failure(StatusCode::BAD_REQUEST, "invalid product id");
        };
        match head.method {
            Method::GET => {
                let product = self.store.get(id);
                product
                    .map_or_else(not_found, |text| json(StatusCode::OK, text))
            }
            Method::PUT | Method::DELETE if is_cross_site(head) => cross_site(),
            Method::PUT => {
                self.replace(id, body).await.unwrap_or_else(Into::into)
            }
            Method::DELETE if self.store.remove(id) => no_content(),
            Method::DELETE => not_found(),
            _ => method_not_allowed("/products/{id}", "GET, PUT, DELETE"),
        }
    }

    async fn create(&self, body: &mut RequestBody) -> Result<Answer, Failure> {
        let product = fields(&body.read().await?)?;
        if product.name.is_empty() || product.price < 0.0 {
            return Err(Failure::NotAcceptable);
        }
        Ok(json(StatusCode::CREATED, self.store.create(&product)?))
    }

    async fn replace(
        &self,
        id: i64,
        body: &mut RequestBody,
    ) -> Result<Answer, Failure> {
        let product = fields(&body.read().await?)?;
        Ok(json(StatusCode::OK, self.store.replace(id, &product)?))
    }
}

/// Why a product was not stored.
#[derive(Debug)]
enum Failure {
    Body(BodyError),
    NotJson,
    NotAcceptable,
    Store(StoreError),
}

impl From<BodyError> for Failure {
    fn from(error: BodyError) -> Self {
        Self::Body(error)
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        Self::Store(error)
    }
}

impl From<Failure> for Answer {
    fn from(reason: Failure) -> Self {
        let (status, message) = match reason {
            Failure::Body(error) => return error.into(),
            Failure::NotJson => (StatusCode::BAD_REQUEST, "invalid JSON body"),
            Failure::NotAcceptable => (
                StatusCode::BAD_REQUEST,
                "name is required and price must be non-negative",
            ),
            Failure::Store(StoreError::NotFound) => return not_found(),
            Failure::Store(StoreError::Full) => {
                (StatusCode::INSUFFICIENT_STORAGE, "product store is full")
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

fn not_found() -> Answer {
    failure(StatusCode::NOT_FOUND, "product not found")
}

fn fields(body: &Bytes) -> Result<ProductFields, Failure> {
    let text: Cow<'_, str> = json_text(body).ok_or(Failure::NotJson)?;
    product::parse(&text).ok_or(Failure::NotJson)
}

/// For fuzzing: the name and the price of a body that is accepted, and the
/// JSON that answers a PUT of it to an empty catalogue's first product.
#[cfg(feature = "fuzzing")]
pub(crate) fn accepted(body: &Bytes) -> Option<(String, f64, Bytes)> {
    let product = fields(body).ok()?;
    let store = Store::new(u64::MAX, AnswerMemory::new(u64::MAX));
    store.create(&ProductFields::default()).ok()?;
    let answer = store.replace(1, &product).ok()?;
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
