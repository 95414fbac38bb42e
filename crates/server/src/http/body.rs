//! Reading a request's body: bounded in size and in total time.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http::header::{EXPECT, RETRY_AFTER};
use http::{HeaderMap, StatusCode};
use http_body::{Body as _, Frame};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use sandpiper_engine::limits::MIB;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::yield_now;
use tokio::time::{Instant, timeout_at};

use super::state::ConnectionState;
use super::{Answer, failure};
use crate::limits::{BODIES_BYTES, BODY_TIME};

/// Time for a body that nobody needs, so that a client which writes it first
/// and reads later gets to its answer.
const DISCARD_TIME: Duration = Duration::from_secs(10);

/// The first bytes of each body, which are read without asking for memory. So
/// a client that only says how much it will send has none.
const FIRST_BYTES: u64 = 64 * 1024;
/// The unit that memory is counted in, since a semaphore counts to 32 bits.
const UNIT_BYTES: u64 = 1024;

/// Memory that bodies share, in units.
#[derive(Clone, Debug)]
pub(super) struct BodyMemory(Arc<Semaphore>);

/// The body of one request.
#[derive(Debug)]
pub(crate) struct RequestBody {
    incoming: Incoming,
    state: Arc<ConnectionState>,
    /// The memory that this body has, until the request is answered: the parsed
    /// request needs as much.
    held: Vec<OwnedSemaphorePermit>,
    /// Maximum bytes that are taken, read or discarded.
    limit: u64,
    /// Its length alone is over the limit.
    is_too_long: bool,
    taken: u64,
    /// Known when something is first waited for.
    deadline: Option<Instant>,
    /// The client waits for `100 Continue` before it sends anything.
    waits: bool,
    /// All of it was read from the socket.
    is_whole: bool,
}

/// Why a body could not be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BodyError {
    #[error("the request body must not be larger than {}", size(*limit))]
    TooLarge { limit: u64 },
    #[error("the request body took longer than {} s", BODY_TIME.as_secs())]
    TooSlow,
    #[error("too many large requests at once")]
    Busy,
    /// It is cut short, its pieces are malformed, or it is not the JSON that the
    /// route takes.
    #[error("invalid JSON body")]
    Broken,
}

/// Returns a limit in words.
pub(crate) fn size(bytes: u64) -> String {
    if bytes.is_multiple_of(MIB) {
        format!("{} MiB", bytes / MIB)
    } else {
        format!("{} KiB", bytes >> 10)
    }
}

impl BodyMemory {
    /// Returns the memory of all bodies.
    pub(super) fn of_all() -> Self {
        Self::new(BODIES_BYTES)
    }

    /// Returns the share of one client: half, so that others have the rest.
    pub(super) fn of_client() -> Self {
        Self::new(BODIES_BYTES / 2)
    }

    fn new(bytes: u64) -> Self {
        let units = usize::try_from(bytes / UNIT_BYTES);
        Self(Arc::new(Semaphore::new(units.unwrap_or(usize::MAX))))
    }
}

impl RequestBody {
    /// `is_whole`: all of it was read from the socket.
    pub(crate) fn new(
        incoming: Incoming,
        state: Arc<ConnectionState>,
        headers: &HeaderMap,
        limit: u64,
        is_whole: bool,
    ) -> Self {
        let waits = !is_whole
            && !incoming.is_end_stream()
            && headers.contains_key(EXPECT);
        let is_too_long = incoming.size_hint().lower() > limit;
        Self {
            incoming,
            state,
            held: Vec::new(),
            limit,
            is_too_long,
            taken: 0,
            deadline: None,
            waits,
            is_whole,
        }
    }

    /// Reads the whole body.
    pub(crate) async fn read(&mut self) -> Result<Bytes, BodyError> {
        // Such a body is refused before a byte of it is read.
        if self.is_too_long {
            return Err(BodyError::TooLarge { limit: self.limit });
        }
        self.waits = false;
        let whole = self.whole().await?;
        self.state.end_body();
        Ok(whole)
    }

    async fn whole(&mut self) -> Result<Bytes, BodyError> {
        let first = self.piece().await?.unwrap_or_default();
        if self.incoming.is_end_stream() {
            return Ok(first);
        }
        let mut whole = BytesMut::from(first);
        while let Some(piece) = self.piece().await? {
            if self.taken > FIRST_BYTES && self.held.is_empty() {
                Box::pin(self.hold_memory()).await?;
            }
            whole.extend_from_slice(&piece);
        }
        Ok(whole.freeze())
    }

    /// Returns the next piece, unless it is more than the body may have.
    async fn piece(&mut self) -> Result<Option<Bytes>, BodyError> {
        let piece = self.chunk().await?;
        if self.taken > self.limit {
            return Err(BodyError::TooLarge { limit: self.limit });
        }
        Ok(piece)
    }

    /// Reads what the client is still sending, up to the limit, so that it gets
    /// to reading its answer. Returns whether the connection can go on.
    pub(crate) async fn discard(&mut self) -> bool {
        // Few bodies come to this, and to what is boxed below: the others need
        // not carry its state along.
        self.incoming.is_end_stream() || Box::pin(self.discard_rest()).await
    }

    async fn discard_rest(&mut self) -> bool {
        // Such a client is answered at once; then the connection is drained.
        if self.is_too_long {
            return false;
        }
        let soon = Instant::now() + DISCARD_TIME;
        self.deadline = Some(deadline(&mut self.deadline).min(soon));
        while !self.incoming.is_end_stream() {
            if self.waits || self.taken > self.limit {
                return false;
            }
            match self.chunk().await {
                Ok(Some(_)) => {}
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
        true
    }

    /// Takes memory for the whole body at once: bodies that took it piece by
    /// piece could wait for each other.
    async fn hold_memory(&mut self) -> Result<(), BodyError> {
        let rest = self.incoming.size_hint().upper();
        let most = rest.map_or(self.limit, |rest| self.taken + rest);
        let units = u32::try_from(most.div_ceil(UNIT_BYTES));
        let units = units.unwrap_or(u32::MAX);
        let deadline = deadline(&mut self.deadline);
        for memory in self.state.body_memory() {
            let permit = Arc::clone(&memory.0).acquire_many_owned(units);
            let permit = timeout_at(deadline, permit).await;
            self.held.extend(permit.map_err(|_| BodyError::Busy)?);
        }
        Ok(())
    }

    /// Returns the next piece; trailers are passed over.
    async fn chunk(&mut self) -> Result<Option<Bytes>, BodyError> {
        loop {
            let frame = if self.is_whole {
                self.incoming.frame().await
            } else {
                Box::pin(self.frame_in_time()).await?
            };
            let Some(frame) = frame else { return Ok(None) };
            let frame = frame.map_err(|_| BodyError::Broken)?;
            if let Ok(chunk) = frame.into_data() {
                self.taken += chunk.len() as u64;
                return Ok(Some(chunk));
            }
        }
    }

    async fn frame_in_time(
        &mut self,
    ) -> Result<Option<hyper::Result<Frame<Bytes>>>, BodyError> {
        let mut frame = pin!(self.incoming.frame());
        tokio::select! {
            biased;
            frame = &mut frame => Ok(frame),
            // hyper hands a piece over only once it was asked for: the first
            // wait is never worth a timer.
            () = yield_now() => {
                self.state.await_body();
                let frame = timeout_at(deadline(&mut self.deadline), frame);
                frame.await.map_err(|_| BodyError::TooSlow)
            }
        }
    }
}

/// Returns when the whole body must have come: `BODY_TIME` after the first wait
/// for it.
fn deadline(known: &mut Option<Instant>) -> Instant {
    *known.get_or_insert_with(|| Instant::now() + BODY_TIME)
}

impl From<BodyError> for Answer {
    fn from(error: BodyError) -> Self {
        let status = match error {
            BodyError::TooLarge { .. } => StatusCode::PAYLOAD_TOO_LARGE,
            BodyError::TooSlow => StatusCode::REQUEST_TIMEOUT,
            BodyError::Busy => StatusCode::SERVICE_UNAVAILABLE,
            BodyError::Broken => StatusCode::BAD_REQUEST,
        };
        let mut answer = failure(status, &error.to_string());
        if error == BodyError::Busy {
            // By then each of those that are being read has ended.
            let wait = BODY_TIME.as_secs().into();
            answer.headers_mut().insert(RETRY_AFTER, wait);
        }
        answer
    }
}
