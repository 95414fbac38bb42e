//! The product catalogue.

mod error;
mod product;
mod shared;
mod store;

use std::sync::Arc;

use bytes::Bytes;
use http::{Method, StatusCode};
use sandpiper_shared::{Catalogue, LinkState};

use crate::http::{
    Answer, AnswerMemory, BodyError, Proxies, RequestContext, is_cross_site,
    json, no_content,
};

use error::{ProductError, Result};
pub(crate) use product::{NewProduct, Product, ProductFields};
use shared::SharedCatalogue;
use store::Store;

/// The routes `/products` and `/products/{id}`.
#[derive(Debug)]
pub(crate) struct Products {
    /// All products, or the mirror of those that are shared.
    store: Store,
    shared: Option<SharedCatalogue>,
    proxies: Arc<Proxies>,
}

/// A valid request.
#[derive(Clone, Debug)]
enum Action {
    List,
    Create(ProductFields),
    Get(i64),
    Replace(i64, ProductFields),
    Remove(i64),
}

impl Products {
    /// Returns a catalogue that holds `capacity` bytes. Its large texts, stored or
    /// not yet taken by clients, may have `capacity + answers` bytes. It begins
    /// empty, if it is not a shared one.
    pub(crate) fn new(
        capacity: u64,
        answers: u64,
        shared: Option<Catalogue>,
        proxies: Arc<Proxies>,
    ) -> Self {
        // Answers share the bytes of the store, which therefore count once.
        let memory = AnswerMemory::new(capacity.saturating_add(answers));
        let store = Store::new(capacity, memory);
        Self { store, shared: shared.map(SharedCatalogue::new), proxies }
    }

    /// Returns the memory of large products and lists.
    pub(crate) fn memory(&self) -> &AnswerMemory {
        &self.store.memory
    }

    /// Returns the number of products, and the bytes that they use and may use.
    /// The number of a shared catalogue is as this process listed them last.
    pub(crate) async fn size(&self) -> (u64, (u64, u64)) {
        let (products, own) = self.store.size().await;
        let used = match &self.shared {
            None => own,
            Some(shared) => shared.catalogue.used().await,
        };
        (products, (used, self.store.capacity))
    }

    /// Returns the state of a shared catalogue.
    pub(crate) fn shared_state(&self) -> Option<LinkState> {
        Some(self.shared.as_ref()?.catalogue.link().state())
    }

    /// Answers a request to `/products`, or to `/products/` followed by
    /// `segment`.
    pub(crate) async fn answer(
        &self,
        segment: Option<&[u8]>,
        request: RequestContext<'_>,
    ) -> Answer {
        let is_new = request.head.method == Method::POST;
        match self.execute(segment, request).await {
            Ok(Some(text)) if is_new => json(StatusCode::CREATED, text),
            Ok(Some(text)) => json(StatusCode::OK, text),
            Ok(None) => no_content(),
            Err(error) => error.into(),
        }
    }

    /// Returns the text of the answer, if it has one.
    async fn execute(
        &self,
        segment: Option<&[u8]>,
        mut request: RequestContext<'_>,
    ) -> Result<Option<Bytes>> {
        let action = action(segment, &mut request).await?;
        let Some(shared) = &self.shared else {
            return self.store.execute(action).await;
        };
        // The same for each try of a balancer.
        let headers = &request.head.headers;
        let id = self.proxies.request_id(request.peer, headers).to_string();
        // Boxed: requests to the catalogue of this process need not carry it
        // along.
        Box::pin(shared.execute(&self.store, &id, action)).await
    }
}

/// Checks the path, the method, the site and the body, in this order.
async fn action(
    segment: Option<&[u8]>,
    request: &mut RequestContext<'_>,
) -> Result<Action> {
    let head = request.head;
    let id = segment.map(id).transpose()?;
    match (&head.method, id) {
        (&Method::GET, None) => Ok(Action::List),
        (&Method::GET, Some(id)) => Ok(Action::Get(id)),
        (&Method::POST, None) | (&Method::PUT | &Method::DELETE, Some(_))
            if is_cross_site(head) =>
        {
            Err(ProductError::CrossSite)
        }
        (&Method::DELETE, Some(id)) => Ok(Action::Remove(id)),
        (&Method::POST, None) | (&Method::PUT, Some(_)) => {
            let fields = product::parse(&request.body.read().await?);
            let fields = fields.ok_or(BodyError::Broken)?;
            match id {
                Some(id) => Ok(Action::Replace(id, fields)),
                None if fields.name.is_empty() || fields.price < 0.0 => {
                    Err(ProductError::NotAcceptable)
                }
                None => Ok(Action::Create(fields)),
            }
        }
        (_, None) => Err(ProductError::Method("/products", "GET, POST")),
        (_, Some(_)) => {
            Err(ProductError::Method("/products/{id}", "GET, PUT, DELETE"))
        }
    }
}

/// For fuzzing: the name and the price of a body that is accepted, and the
/// JSON that answers a PUT of it to product 1.
#[cfg(feature = "fuzzing")]
pub(crate) fn accepted(body: &[u8]) -> Option<(String, f64, Bytes)> {
    let product = product::parse(body)?;
    let answer = product::text(1, &product).into();
    Some((product.name, product.price, answer))
}

/// An optional sign and ASCII digits that fit 64 bits, which is what Rust
/// takes.
fn id(segment: &[u8]) -> Result<i64> {
    let text = std::str::from_utf8(segment).unwrap_or_default();
    text.parse().map_err(|_| ProductError::InvalidId)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_signed_64_bit_integers() {
        let check = |segment: &str, expected: Option<i64>| {
            assert_eq!(id(segment.as_bytes()).ok(), expected, "{segment}");
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
        assert_eq!(id(b"\xff"), Err(ProductError::InvalidId));
    }
}
