//! Reading a request's body: bounded in size and in total time.

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::EXPECT;
use http::{HeaderMap, StatusCode};
use http_body::Body as _;
use http_body_util::BodyExt;
use hyper::body::Incoming;
use sandpiper_engine::limits::MIB;
use tokio::time::{Instant, timeout_at};

use super::{Answer, failure};

/// Time for the whole body, from the end of the headers.
const BODY_TIME: Duration = Duration::from_secs(30);
/// Time for a body that nobody needs, so that a client which writes it first
/// and reads later gets to its answer.
const DISCARD_TIME: Duration = Duration::from_secs(10);

/// The body of one request.
#[derive(Debug)]
pub(crate) struct RequestBody {
    incoming: Incoming,
    /// Most bytes that are taken, read or discarded.
    limit: u64,
    taken: u64,
    deadline: Instant,
    /// The client waits for `100 Continue` before it sends anything.
    waits: bool,
}

/// Why a body could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("the request body must not be larger than {} MiB", limit / MIB)]
    TooLarge { limit: u64 },
    #[error("the request body took longer than {} s", BODY_TIME.as_secs())]
    TooSlow,
    #[error("the request body is cut short or malformed")]
    Broken,
}

impl RequestBody {
    pub(crate) fn new(
        incoming: Incoming,
        headers: &HeaderMap,
        limit: u64,
    ) -> Self {
        let waits = headers.contains_key(EXPECT);
        let deadline = Instant::now() + BODY_TIME;
        Self { incoming, limit, taken: 0, deadline, waits }
    }

    /// The whole body.
    pub(crate) async fn read(&mut self) -> Result<Bytes, BodyError> {
        // A length that says too much is refused before a byte is asked for.
        if self.incoming.size_hint().lower() > self.limit {
            return Err(BodyError::TooLarge { limit: self.limit });
        }
        self.waits = false;
        let mut whole = BytesMut::new();
        while let Some(chunk) = self.chunk(self.deadline).await? {
            if self.taken > self.limit {
                return Err(BodyError::TooLarge { limit: self.limit });
            }
            whole.extend_from_slice(&chunk);
        }
        Ok(whole.freeze())
    }

    /// Takes what the client is still sending, up to the limit, so that it
    /// comes to read its answer. Says whether the connection can go on.
    pub(crate) async fn discard(&mut self) -> bool {
        let deadline = self.deadline.min(Instant::now() + DISCARD_TIME);
        while !self.incoming.is_end_stream() {
            if self.waits || self.taken > self.limit {
                return false;
            }
            match self.chunk(deadline).await {
                Ok(Some(_)) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
        true
    }

    /// The next piece; trailers are passed over.
    async fn chunk(
        &mut self,
        deadline: Instant,
    ) -> Result<Option<Bytes>, BodyError> {
        loop {
            let frame = timeout_at(deadline, self.incoming.frame()).await;
            let Some(frame) = frame.map_err(|_| BodyError::TooSlow)? else {
                return Ok(None);
            };
            let frame = frame.map_err(|_| BodyError::Broken)?;
            if let Ok(chunk) = frame.into_data() {
                self.taken += chunk.len() as u64;
                return Ok(Some(chunk));
            }
        }
    }
}

impl From<BodyError> for Answer {
    fn from(error: BodyError) -> Self {
        let status = match error {
            BodyError::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            BodyError::TooSlow => StatusCode::REQUEST_TIMEOUT,
            BodyError::Broken => StatusCode::BAD_REQUEST,
        };
        failure(status, &error.to_string())
    }
}
