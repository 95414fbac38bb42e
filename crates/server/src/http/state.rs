//! The states of a connection, from its permit to its end.
//!
//! ```text
//!          a head was read           its answer begins
//!   Idle ------------------> Serving -------------------> Sending
//!    | ^                      |   ^                         ^ |  |
//!    | |  its body has not    |   | now it has              | |  |
//!    | |  come whole          v   |          it is refused  | |  |
//!    | |                    Receiving ----------------------' |  |
//!    | |                                                      |  |
//!    | '------------------- the answer was sent --------------'  |
//!    |                                                           |
//!    | not a valid request              the last answer was sent,|
//!    |                                  but its body was not read|
//!    v                                                           v
//!   Malformed                                                 Unread
//! ```
//!
//! A stream is being sent from its first piece on, until hyper has the last one and
//! has sent it.
//!
//! The client waits for the server in Serving, and in Sending while it has taken
//! all that there is of a stream. Everywhere else it costs a client nothing to
//! stay. So each wait for a client ends after a time of its own, and after
//! `MIN_WAIT` if others wait for a permit.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use super::AnswerMemory;
use super::body::BodyMemory;
use crate::limits::{ANSWER_TIME, HEAD_TIME};

/// Time that the server waits for a client, however many others wait for a
/// permit: new connections must not drive each other out before their requests
/// have come.
pub(super) const MIN_WAIT: Duration = Duration::from_secs(1);
/// Bytes that a client must take in a second; it may be behind by
/// [`ANSWER_TIME`].
const MIN_RATE: u64 = 64 * 1024;
/// Time by which a client may be behind with a large answer while the memory of
/// answers is over its limit.
const OVER_LIMIT_TIME: Duration = Duration::from_secs(2);
/// Bytes that a client must take in a second then, or while others wait for a
/// permit.
const OVER_LIMIT_RATE: u64 = 4 << 20;
/// Answers up to this size never have the shorter time.
const SMALL_ANSWER_BYTES: u64 = 64 * 1024;

/// The state of one connection, as hyper, the requests and the connection
/// limiter share it.
#[derive(Debug)]
pub(crate) struct ConnectionState {
    state: Mutex<State>,
    eviction: Notify,
    /// The memory that its bodies need a part of: that of its client first, so
    /// that no client waits with a part of what all share.
    body_memory: Vec<BodyMemory>,
}

#[derive(Debug)]
enum State {
    /// Waits for the head of a request, or reads it.
    Idle { since: Instant },
    /// A request waits for its answer.
    Serving,
    /// The rest of a request's body is awaited, or memory for it.
    Receiving { since: Instant },
    /// An answer is being sent.
    Sending {
        /// The memory that it counts in, if it is large.
        memory: Option<AnswerMemory>,
        is_read: bool,
        /// When the client first did not take all that there was.
        stalled: Option<Instant>,
        /// Bytes that it took since then.
        taken: u64,
        body: SentBody,
    },
    /// The client may still be sending the body of the last request.
    Unread { since: Instant },
    /// hyper has refused what came. This answer with a body takes the place of
    /// hyper's own, which has none.
    Malformed { since: Instant, status: u16, answer: Bytes },
}

/// How much there is of the body of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum SentBody {
    /// A stream of which more may come. The client stalls anew whenever it took
    /// something.
    Open,
    /// A stream whose rest is known.
    Closed,
    /// hyper has all of it. Before, hyper may have sent all that it has, and the
    /// answer goes on.
    Whole,
}

/// The work that is left when hyper has ended with a connection.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Ending {
    Close,
    /// Close when the client has sent what it wants to send.
    Drain,
    /// Send this answer, with this status, and then the same.
    Answer(u16, Bytes),
}

impl ConnectionState {
    /// Returns the state of a connection that waits for its first request.
    pub(super) fn new(body_memory: Vec<BodyMemory>) -> Self {
        let state = Mutex::new(State::Idle { since: Instant::now() });
        Self { state, eviction: Notify::new(), body_memory }
    }

    pub(super) fn body_memory(&self) -> &[BodyMemory] {
        &self.body_memory
    }

    /// Begins to wait for the first request anew.
    pub(super) fn restart(&self) {
        *self.state() = State::Idle { since: Instant::now() };
    }

    /// Idle to serving.
    pub(super) fn begin_request(&self) {
        *self.state() = State::Serving;
    }

    /// Serving to receiving.
    pub(super) fn await_body(&self) {
        let mut state = self.state();
        if let State::Serving = *state {
            *state = State::Receiving { since: Instant::now() };
        }
    }

    /// Receiving to serving.
    pub(super) fn end_body(&self) {
        *self.state() = State::Serving;
    }

    /// Serving or receiving to sending. `is_read` says whether all of the
    /// request's body was read; the connection ends after this answer if it was
    /// not. If the answer is large, it counts in `memory`.
    pub(super) fn begin_answer(
        &self,
        bytes: u64,
        is_read: bool,
        memory: Option<&AnswerMemory>,
    ) {
        let memory = memory.and_then(|memory| large(bytes, memory));
        *self.state() = State::sending(memory, is_read, SentBody::Whole);
    }

    /// Counts bytes of the answer that the client took.
    pub(super) fn count_taken(&self, bytes: usize) {
        match &mut *self.state() {
            State::Sending { stalled, body: SentBody::Open, .. } => {
                *stalled = None;
            }
            State::Sending { stalled: Some(_), taken, .. } => {
                *taken += bytes as u64;
            }
            _ => {}
        }
    }

    /// Serving to sending, of an answer that is made meanwhile. It may be complete
    /// already.
    pub(super) fn begin_stream(&self, is_read: bool) {
        let mut state = self.state();
        if let State::Sending { is_read: known, .. } = &mut *state {
            *known = is_read;
        } else {
            *state = State::sending(None, is_read, SentBody::Open);
        }
    }

    /// Notes that the rest of a stream is known: it has so many bytes, and counts
    /// in `all` if these are many.
    pub(super) fn complete_stream(&self, bytes: u64, all: &AnswerMemory) {
        let mut state = self.state();
        let rest = large(bytes, all);
        match &mut *state {
            State::Sending { memory, stalled, body, .. } => {
                (*memory, *stalled, *body) = (rest, None, SentBody::Closed);
            }
            // The task that makes it was quicker than the one that sends it.
            State::Serving => {
                *state = State::sending(rest, false, SentBody::Closed);
            }
            _ => {}
        }
    }

    /// Notes that hyper has all of a stream.
    pub(super) fn end_stream(&self) {
        if let State::Sending { body, .. } = &mut *self.state() {
            *body = SentBody::Whole;
        }
    }

    /// Sending to idle or unread. All bytes of hyper were sent.
    pub(super) fn end_answer(&self) {
        let mut state = self.state();
        if let State::Sending { is_read, body: SentBody::Whole, .. } = *state {
            let since = Instant::now();
            *state = if is_read {
                State::Idle { since }
            } else {
                State::Unread { since }
            };
        }
    }

    /// Idle to malformed. Returns whether what hyper wants to write is an
    /// answer of its own; `answer` makes a better one, with its status.
    pub(super) fn refuse(
        &self,
        answer: impl FnOnce() -> Option<(u16, Bytes)>,
    ) -> bool {
        let mut state = self.state();
        // No route has an answer to send to a connection without request.
        if let State::Idle { .. } = *state
            && let Some((status, answer)) = answer()
        {
            let since = Instant::now();
            *state = State::Malformed { since, status, answer };
        }
        matches!(*state, State::Malformed { .. })
    }

    /// Returns whether the answer to what was no request is still to be sent.
    pub(super) fn is_malformed(&self) -> bool {
        matches!(*self.state(), State::Malformed { .. })
    }

    /// Returns when the client must have taken more of the answer that is being
    /// sent. It has not taken all that there is: that it stalls is noted.
    pub(super) fn answer_deadline(&self) -> Option<Instant> {
        let mut state = self.state();
        let State::Sending { memory, stalled, taken, .. } = &mut *state else {
            return None;
        };
        let memory = memory.as_ref();
        let is_over_limit = memory.is_some_and(AnswerMemory::is_over_limit);
        let (time, rate) = if is_over_limit {
            (OVER_LIMIT_TIME, OVER_LIMIT_RATE)
        } else {
            (ANSWER_TIME, MIN_RATE)
        };
        let stalled = *stalled.get_or_insert_with(Instant::now);
        Some(stalled + time + Duration::from_secs(*taken / rate))
    }

    pub(super) fn ending(&self) -> Ending {
        match &*self.state() {
            State::Sending { is_read: false, .. } | State::Unread { .. } => {
                Ending::Drain
            }
            State::Idle { .. }
            | State::Serving
            | State::Receiving { .. }
            | State::Sending { .. } => Ending::Close,
            State::Malformed { status, answer, .. } => {
                Ending::Answer(*status, answer.clone())
            }
        }
    }

    /// Returns since when the server has waited for the client, if that is long
    /// enough for the connection to be evicted. If the client does not take its
    /// answer, a quick one would have taken as much by then.
    pub(super) fn evictable_since(&self, now: Instant) -> Option<Instant> {
        let since = match *self.state() {
            State::Serving => return None,
            State::Idle { since }
            | State::Receiving { since }
            | State::Unread { since }
            | State::Malformed { since, .. } => since,
            State::Sending { stalled, taken, .. } => {
                stalled? + Duration::from_secs(taken / OVER_LIMIT_RATE)
            }
        };
        (since + MIN_WAIT <= now).then_some(since)
    }

    fn idle_since(&self) -> Option<Instant> {
        match *self.state() {
            State::Idle { since } => Some(since),
            _ => None,
        }
    }

    /// Ends the connection if it can be evicted.
    pub(super) fn evict(&self) {
        self.eviction.notify_one();
    }

    /// Resolves when the connection was evicted, or idle for too long.
    pub(super) async fn expired(&self) {
        loop {
            let end =
                self.idle_since().unwrap_or_else(Instant::now) + HEAD_TIME;
            // A request may have come in the meantime, and another wait begun.
            tokio::select! {
                biased;
                () = self.eviction.notified() => {
                    if self.evictable_since(Instant::now()).is_some() {
                        return;
                    }
                }
                () = sleep_until(end) => {
                    let now = Instant::now();
                    let is_over = |since| since + HEAD_TIME <= now;
                    if self.idle_since().is_some_and(is_over) {
                        return;
                    }
                }
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn sending(
        memory: Option<AnswerMemory>,
        is_read: bool,
        body: SentBody,
    ) -> Self {
        Self::Sending { memory, is_read, stalled: None, taken: 0, body }
    }
}

/// Returns the memory that an answer of so many bytes counts in, if it is large.
fn large(bytes: u64, memory: &AnswerMemory) -> Option<AnswerMemory> {
    (bytes > SMALL_ANSWER_BYTES).then(|| memory.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_may_be_complete_before_it_begins() {
        let memory = AnswerMemory::new(0);
        let check = |is_first: bool| {
            let state = ConnectionState::new(Vec::new());
            state.begin_request();
            let complete =
                || state.complete_stream(SMALL_ANSWER_BYTES + 1, &memory);
            if is_first {
                complete();
            }
            state.begin_stream(true);
            if !is_first {
                complete();
            }
            let state = state.state();
            let State::Sending { memory: Some(_), is_read, body, .. } = &*state
            else {
                panic!("{state:?}");
            };
            assert!(*is_read && matches!(body, SentBody::Closed), "{state:?}");
        };
        check(false);
        check(true);
    }
}
