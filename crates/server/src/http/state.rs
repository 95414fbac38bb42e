//! The states of a connection, from its permit to its end.
//!
//! ```text
//!          a head was read           its answer is ready
//!   Idle ------------------> Serving -------------------> Sending
//!    | ^                                                   |   |
//!    | '--------------- the answer was sent ---------------'   |
//!    |                                                         |
//!    | not a valid request            the last answer was sent,|
//!    |                                but its body was not read|
//!    v                                                         v
//!   Malformed                                               Unread
//! ```

use std::sync::{Mutex, MutexGuard, PoisonError};

use bytes::Bytes;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep_until};

use crate::limits::HEAD_TIME;

/// The state of one connection, as hyper, the requests and the connection
/// limiter share it.
#[derive(Debug)]
pub(crate) struct ConnectionState {
    state: Mutex<State>,
    eviction: Notify,
}

#[derive(Debug)]
enum State {
    /// Waits for the head of a request, or reads it.
    Idle { since: Instant },
    /// A request waits for its answer.
    Serving,
    /// An answer of this many bytes is being sent. `stalled` is when the
    /// client first did not take all that there was.
    Sending { bytes: u64, is_read: bool, stalled: Option<Instant> },
    /// The client may still be sending the body of the last request.
    Unread,
    /// hyper has refused what came. This answer with a body takes the place of
    /// hyper's own, which has none.
    Malformed { status: u16, answer: Bytes },
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
    pub(super) fn new() -> Self {
        let state = Mutex::new(State::Idle { since: Instant::now() });
        Self { state, eviction: Notify::new() }
    }

    /// Begins to wait for the first request anew.
    pub(super) fn restart(&self) {
        *self.state() = State::Idle { since: Instant::now() };
    }

    /// Idle to serving.
    pub(super) fn begin_request(&self) {
        *self.state() = State::Serving;
    }

    /// Serving to sending. `is_read` says whether all of the request's body
    /// was read; the connection ends after this answer if it was not.
    pub(super) fn begin_answer(&self, bytes: u64, is_read: bool) {
        *self.state() = State::Sending { bytes, is_read, stalled: None };
    }

    /// Sending to idle or unread. All bytes of hyper were sent.
    pub(super) fn end_answer(&self) {
        let mut state = self.state();
        match *state {
            State::Sending { is_read: true, .. } => {
                *state = State::Idle { since: Instant::now() };
            }
            State::Sending { is_read: false, .. } => *state = State::Unread,
            _ => {}
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
            *state = State::Malformed { status, answer };
        }
        matches!(*state, State::Malformed { .. })
    }

    /// Returns whether the answer to what was no request is still to be sent.
    pub(super) fn is_malformed(&self) -> bool {
        matches!(*self.state(), State::Malformed { .. })
    }

    /// Returns the size of the answer that is being sent, and when its client
    /// first did not take all that there was, which is now at the latest.
    pub(super) fn stalled(&self) -> Option<(u64, Instant)> {
        match &mut *self.state() {
            State::Sending { bytes, stalled, .. } => {
                Some((*bytes, *stalled.get_or_insert_with(Instant::now)))
            }
            _ => None,
        }
    }

    pub(super) fn ending(&self) -> Ending {
        match &*self.state() {
            State::Idle { .. } | State::Serving => Ending::Close,
            State::Sending { is_read, .. } if *is_read => Ending::Close,
            State::Sending { .. } | State::Unread => Ending::Drain,
            State::Malformed { status, answer } => {
                Ending::Answer(*status, answer.clone())
            }
        }
    }

    /// Returns since when the connection has been idle, if it is.
    pub(super) fn idle_since(&self) -> Option<Instant> {
        match *self.state() {
            State::Idle { since } => Some(since),
            _ => None,
        }
    }

    /// Ends the connection if it is idle.
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
                    if self.idle_since().is_some() {
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
