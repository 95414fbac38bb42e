//! The catalogue of products that several servers share.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use redis::Value;
use tokio::time::{Instant, timeout_at};

use crate::error::CallError;
use crate::library::Library;
use crate::link::{Link, Observe};
use crate::url::ServerUrl;

/// The longest time for a call, its second attempt included.
const WITHIN: Duration = Duration::from_secs(1);
/// The longest time for the first attempt.
const FIRST_WITHIN: Duration = Duration::from_millis(600);

/// The keys of all functions but `open`, which catalogue.lua explains. Behind
/// them stands that of the request.
pub(crate) const KEYS: [&str; 4] = [
    "sp1:{catalogue}:products",
    "sp1:{catalogue}:changes",
    "sp1:{catalogue}:state",
    "sp1:{catalogue}:removed",
];

/// The functions.
const CREATE: &str = "sp3_create";
const REPLACE: &str = "sp3_replace";
const REMOVE: &str = "sp3_remove";
const GET: &str = "sp3_get";
const CHANGES: &str = "sp3_changes";

const LIBRARY: Library = Library {
    part: "products",
    text: include_str!("catalogue.lua"),
    open: "sp3_catalogue_open",
    epoch_key: KEYS[2],
    within: WITHIN,
    without: "requests for products are answered with 503",
};

/// A catalogue of products in Valkey. Each call that succeeds takes effect at
/// one moment between its begin and its end, for all servers. One that fails may
/// take effect later. Texts are not interpreted.
#[derive(Debug)]
pub struct Catalogue {
    link: Link,
    /// The last answer of [`Self::used`].
    used: AtomicU64,
}

/// The end of [`Catalogue::replace`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Replaced {
    /// The product has the new text.
    Done,
    /// No product has the id.
    NotFound,
    /// There is no room for the text.
    Full,
}

/// How far a mirror of the catalogue is. The default is a mirror that has
/// nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cursor {
    /// The connection that the changes came by; 0: none. Over another one an
    /// older catalogue may answer: that of a backup, or of a disk that lacked
    /// the last changes. Its numbers mean other changes.
    generation: u64,
    epoch: Vec<u8>,
    /// The number of the last change that the mirror has.
    change: u64,
    /// The number of the last change when the mirror began.
    began: u64,
}

/// Some changes of the catalogue.
#[derive(Debug, PartialEq, Eq)]
pub struct Changes {
    /// How far a mirror is that has taken them over.
    pub cursor: Cursor,
    /// Whether there are more.
    pub has_more: bool,
    /// Whether the mirror must first forget all products.
    pub is_anew: bool,
    /// The products that changed, by id. Removed ones have no text.
    pub products: Vec<(i64, Option<Vec<u8>>)>,
}

/// Why the catalogue gave no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CatalogueError {
    /// It has none, or an error. A change may have been made.
    #[error(transparent)]
    NoAnswer(#[from] CallError),
    /// Its answer has another form than this version expects.
    #[error(
        "{0} of the shared catalogue gave an answer of another form; check \
         that only Sandpiper uses its keys and functions"
    )]
    Unexpected(&'static str),
}

impl Catalogue {
    /// The functions that are called.
    pub const CALLS: [&'static str; 5] =
        [CREATE, REPLACE, REMOVE, GET, CHANGES];

    /// Starts to connect, in a task of the present runtime.
    ///
    /// # Panics
    /// There is no runtime.
    #[must_use]
    pub fn start(url: ServerUrl, observe: Observe) -> Self {
        let link = Link::start(url, LIBRARY, observe);
        Self { link, used: AtomicU64::default() }
    }

    /// Returns the connection.
    #[must_use]
    pub fn link(&self) -> &Link {
        &self.link
    }

    /// Adds a product under the next id, which is put between `{"id":` and
    /// `rest`. Returns the id, or `None` if there is no room. Four tries of one
    /// `request` add one product.
    ///
    /// # Errors
    ///
    /// There is no answer.
    pub async fn create(
        &self,
        request: &str,
        capacity: u64,
        rest: &[u8],
    ) -> Result<Option<i64>, CatalogueError> {
        let capacity = capacity.to_string();
        let arguments = [capacity.as_bytes(), rest];
        let request = format!("create:{request}");
        match self.change(CREATE, &request, &arguments).await {
            Ok(Value::Int(0)) | Err(CallError::OutOfMemory) => Ok(None),
            Ok(Value::Int(id)) => Ok(Some(id)),
            Ok(_) => Err(CatalogueError::Unexpected(CREATE)),
            Err(reason) => Err(reason.into()),
        }
    }

    /// Replaces the text of a product, once for four tries of one `request`.
    ///
    /// # Errors
    ///
    /// There is no answer.
    pub async fn replace(
        &self,
        request: &str,
        capacity: u64,
        id: i64,
        text: &[u8],
    ) -> Result<Replaced, CatalogueError> {
        let (capacity, id) = (capacity.to_string(), id.to_string());
        let arguments = [capacity.as_bytes(), id.as_bytes(), text];
        let request = format!("replace:{id}:{request}");
        match self.change(REPLACE, &request, &arguments).await {
            Ok(Value::Int(1)) => Ok(Replaced::Done),
            Ok(Value::Int(0)) => Ok(Replaced::NotFound),
            Ok(Value::Int(-1)) | Err(CallError::OutOfMemory) => {
                Ok(Replaced::Full)
            }
            Ok(_) => Err(CatalogueError::Unexpected(REPLACE)),
            Err(reason) => Err(reason.into()),
        }
    }

    /// Removes a product, once for four tries of one `request`. Returns `false`
    /// if no product has the id.
    ///
    /// # Errors
    ///
    /// There is no answer.
    pub async fn remove(
        &self,
        request: &str,
        id: i64,
    ) -> Result<bool, CatalogueError> {
        let id = id.to_string();
        let request = format!("remove:{id}:{request}");
        match self.change(REMOVE, &request, &[id.as_bytes()]).await? {
            Value::Int(removed @ 0..=1) => Ok(removed == 1),
            _ => Err(CatalogueError::Unexpected(REMOVE)),
        }
    }

    /// Returns the text of a product, or `None` if no product has the id.
    ///
    /// # Errors
    ///
    /// There is no answer.
    pub async fn get(
        &self,
        id: i64,
    ) -> Result<Option<Vec<u8>>, CatalogueError> {
        let id = id.to_string();
        let answer = self.call(GET, &KEYS, &[id.as_bytes()]).await?;
        text(answer).ok_or(CatalogueError::Unexpected(GET))
    }

    /// Returns the bytes that the products of all servers use. If there is no
    /// answer, they are those of the call before.
    pub async fn used(&self) -> u64 {
        let (state, field) = ([KEYS[2]], [&b"used"[..]]);
        let answer = self.link.call(GET, &state, &field, FIRST_WITHIN).await;
        if let Ok(answer) = answer {
            // An empty catalogue may lack the field.
            self.used.store(number(answer).unwrap_or_default(), Relaxed);
        }
        self.used.load(Relaxed)
    }

    /// Returns the changes behind `cursor`, or the first of them.
    ///
    /// # Errors
    ///
    /// There is no answer.
    pub async fn changes(
        &self,
        cursor: &Cursor,
    ) -> Result<Changes, CatalogueError> {
        let (answer, generation) = self.changes_behind(cursor).await?;
        let is_anew = cursor.generation == 0;
        let (answer, generation) = if is_anew || generation == cursor.generation
        {
            (answer, generation)
        } else {
            self.changes_behind(&Cursor::default()).await?
        };
        changes(answer, generation).ok_or(CatalogueError::Unexpected(CHANGES))
    }

    async fn changes_behind(
        &self,
        cursor: &Cursor,
    ) -> Result<(Value, u64), CallError> {
        let Cursor { epoch, change, began, .. } = cursor;
        let (change, began) = (change.to_string(), began.to_string());
        let arguments = [epoch, change.as_bytes(), began.as_bytes()];
        self.call_numbered(CHANGES, &KEYS, &arguments).await
    }

    async fn change(
        &self,
        function: &'static str,
        request: &str,
        arguments: &[&[u8]],
    ) -> Result<Value, CallError> {
        let done = format!("sp1:{{catalogue}}:done:{request}");
        let [products, changes, state, removed] = KEYS;
        let keys = [products, changes, state, removed, &done];
        // The same if the answer is lost and this server asks again.
        let attempt = format!("{:016x}", rand::random::<u64>());
        let arguments = [&[attempt.as_bytes()], arguments].concat();
        match self.call(function, &keys, &arguments).await {
            // Valkey did not look whether another try of the request was done.
            Err(CallError::OutOfMemory) => {
                let answer = self.call(GET, &[&done], &[b"answer"]).await?;
                number(answer).map(Value::Int).ok_or(CallError::OutOfMemory)
            }
            answer => answer,
        }
    }

    async fn call(
        &self,
        function: &'static str,
        keys: &[&str],
        arguments: &[&[u8]],
    ) -> Result<Value, CallError> {
        let answer = self.call_numbered(function, keys, arguments).await;
        answer.map(|(value, _)| value)
    }

    /// Calls a function, and once more if there is no answer. Also returns the
    /// generation of the connection.
    async fn call_numbered(
        &self,
        function: &'static str,
        keys: &[&str],
        arguments: &[&[u8]],
    ) -> Result<(Value, u64), CallError> {
        let deadline = Instant::now() + WITHIN;
        let link = &self.link;
        let first = link.call_numbered(function, keys, arguments, FIRST_WITHIN);
        match first.await {
            Err(CallError::Unreachable) => {}
            answer => return answer,
        }
        if timeout_at(deadline, link.until_up()).await.is_err() {
            return Err(CallError::Unreachable);
        }
        let left = deadline.saturating_duration_since(Instant::now());
        match link.call_numbered(function, keys, arguments, left).await {
            // The first call may have been done.
            Err(_) => Err(CallError::Unreachable),
            answer => answer,
        }
    }
}

/// Returns a text, or nil, which is `None`.
fn text(value: Value) -> Option<Option<Vec<u8>>> {
    match value {
        Value::Nil => Some(None),
        Value::BulkString(text) => Some(Some(text)),
        _ => None,
    }
}

fn changes(answer: Value, generation: u64) -> Option<Changes> {
    let Value::Array(values) = answer else { return None };
    let mut values = values.into_iter();
    let epoch = text(values.next()?)??;
    let change = number(values.next()?)?;
    let began = number(values.next()?)?;
    let has_more = values.next()? == Value::Int(1);
    let is_anew = values.next()? == Value::Int(1);
    let mut products = Vec::with_capacity(values.len() / 2);
    while let Some(id) = values.next() {
        products.push((number(id)?, text(values.next()?)?));
    }
    let cursor = Cursor { generation, epoch, change, began };
    Some(Changes { cursor, has_more, is_anew, products })
}

fn number<T: std::str::FromStr>(value: Value) -> Option<T> {
    let text = text(value)??;
    std::str::from_utf8(&text).ok()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_have_one_form() {
        let word = |text: &str| Value::BulkString(text.into());
        let head = || {
            [word("1.2"), word("7"), word("3"), Value::Int(1), Value::Int(0)]
        };
        let batch = |rest: Vec<Value>| {
            changes(Value::Array([&head()[..], &rest].concat()), 2)
        };
        let found = batch(vec![word("5"), word("{}"), word("6"), Value::Nil]);
        let expected = Changes {
            cursor: Cursor {
                generation: 2,
                epoch: b"1.2".to_vec(),
                change: 7,
                began: 3,
            },
            has_more: true,
            is_anew: false,
            products: vec![(5, Some(b"{}".to_vec())), (6, None)],
        };
        assert_eq!(found, Some(expected));
        assert_eq!(batch(vec![word("5")]), None);
        assert_eq!(batch(vec![word("x"), Value::Nil]), None);
        assert_eq!(batch(vec![word("5"), Value::Int(1)]), None);
        assert_eq!(changes(Value::Array(vec![word("1.2")]), 2), None);
        assert_eq!(changes(Value::Nil, 2), None);
    }
}
