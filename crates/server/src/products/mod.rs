//! The product catalogue.

mod error;
mod product;
mod shared;
mod store;

use std::net::IpAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::request::Parts;
use http::{Method, StatusCode};
use sandpiper_shared::LinkState;
use tokio::sync::Mutex;

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
    backend: Backend,
    proxies: Arc<Proxies>,
    /// Maximum bytes that the products may use.
    capacity: u64,
    /// Counts large products and lists.
    memory: AnswerMemory,
}

#[derive(Debug)]
enum Backend {
    /// Locked also while a list of all is made, which takes 0.1 s for a million
    /// products. Waiting for it blocks no thread.
    Own(Mutex<Store>),
    Shared(SharedStore),
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
        shared: Option<sandpiper_shared::Catalogue>,
        proxies: Arc<Proxies>,
    ) -> Self {
        // Answers share the bytes of the store, which therefore count once.
        let memory = AnswerMemory::new(capacity.saturating_add(answers));
        let counted = memory.clone();
        let backend = match shared {
            None => Backend::Own(Mutex::new(Store::new(capacity, counted))),
            Some(shared) => {
                Backend::Shared(SharedStore::new(shared, capacity, counted))
            }
        };
        Self { backend, proxies, capacity, memory }
    }

    /// Returns the memory of large products and lists.
    pub(crate) fn memory(&self) -> &AnswerMemory {
        &self.memory
    }

    /// Returns the number of products and the bytes that they use. Those of a
    /// shared catalogue are as this process saw them last.
    pub(crate) async fn size(&self) -> (u64, u64) {
        let store = match &self.backend {
            Backend::Own(store) => store,
            Backend::Shared(shared) => shared.mirror(),
        };
        store.lock().await.size()
    }

    /// Returns the most bytes that the products may use.
    pub(crate) fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Returns the state of a shared catalogue.
    pub(crate) fn shared_state(&self) -> Option<LinkState> {
        match &self.backend {
            Backend::Own(_) => None,
            Backend::Shared(shared) => Some(shared.state()),
        }
    }

    /// Answers a request to `/products`.
    pub(crate) async fn collection(
        &self,
        mut request: RequestContext<'_>,
    ) -> Answer {
        let action = match request.head.method {
            Method::GET => Ok(Action::List),
            Method::POST => fields(&mut request).await.and_then(creation),
            _ => return method_not_allowed("/products", "GET, POST"),
        };
        self.answer(request.head, request.peer, action).await
    }

    /// Answers a request to `/products/` followed by `segment`.
    pub(crate) async fn single(
        &self,
        segment: &[u8],
        mut request: RequestContext<'_>,
    ) -> Answer {
        let Some(id) = id(segment) else {
            return ProductError::InvalidId.into();
        };
        let action = match request.head.method {
            Method::GET => Ok(Action::Get(id)),
            Method::PUT => {
                let fields = fields(&mut request).await;
                fields.map(|fields| Action::Replace(id, fields))
            }
            Method::DELETE => {
                same_site(request.head).map(|()| Action::Remove(id))
            }
            _ => {
                let allowed = "GET, PUT, DELETE";
                return method_not_allowed("/products/{id}", allowed);
            }
        };
        self.answer(request.head, request.peer, action).await
    }

    async fn answer(
        &self,
        head: &Parts,
        peer: IpAddr,
        action: Result<Action, ProductError>,
    ) -> Answer {
        let success = match action {
            Ok(Action::Create(_)) => StatusCode::CREATED,
            _ => StatusCode::OK,
        };
        let result = match action {
            Ok(action) => self.execute(head, peer, action).await,
            Err(error) => Err(error),
        };
        match result {
            Ok(Some(text)) => json(success, text),
            Ok(None) => no_content(),
            Err(error) => error.into(),
        }
    }

    /// Returns the text of the answer, if it has one.
    async fn execute(
        &self,
        head: &Parts,
        peer: IpAddr,
        action: Action,
    ) -> Result<Option<Bytes>, ProductError> {
        match &self.backend {
            Backend::Own(store) => store.lock().await.execute(action).await,
            Backend::Shared(shared) => {
                // The same for each try of a balancer.
                let id = self.proxies.request_id(peer, &head.headers);
                // Boxed: requests to the catalogue of this process need not
                // carry it along.
                Box::pin(shared.execute(&id.to_string(), action)).await
            }
        }
    }
}

/// Returns the creation of a product that has a name and no negative price.
fn creation(fields: ProductFields) -> Result<Action, ProductError> {
    if fields.name.is_empty() || fields.price < 0.0 {
        return Err(ProductError::NotAcceptable);
    }
    Ok(Action::Create(fields))
}

/// Returns the fields that a request of this site has in its body.
async fn fields(
    request: &mut RequestContext<'_>,
) -> Result<ProductFields, ProductError> {
    same_site(request.head)?;
    parsed(&request.body.read().await?)
}

/// Returns an error if a page of another site sent the request.
fn same_site(head: &Parts) -> Result<(), ProductError> {
    if is_cross_site(head) {
        return Err(ProductError::CrossSite);
    }
    Ok(())
}

fn parsed(body: &Bytes) -> Result<ProductFields, ProductError> {
    let fields = json_text(body).and_then(|text| product::parse(&text));
    fields.ok_or(ProductError::InvalidJson)
}

/// For fuzzing: the name and the price of a body that is accepted, and the
/// JSON that answers a PUT of it to product 1.
#[cfg(feature = "fuzzing")]
pub(crate) fn accepted(body: &Bytes) -> Option<(String, f64, Bytes)> {
    let product = parsed(body).ok()?;
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
