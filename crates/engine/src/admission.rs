//! Admission: which runs may use a box now, which wait, and which are refused.
//!
//! Slots are the boxes that run at once. One client holds at most half of
//! them, rounded up. Runs that find no slot wait in a bounded queue: clients
//! take turns, and each client's runs keep their order. One client takes at
//! most half of the queue's places, rounded up, so that nobody can keep the
//! others out of it. The addresses of one IPv6 /64 have a client's share
//! together, and take turns in it.

mod queue;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};

use queue::Queue;

/// What a run is taken to last before any has ended.
const FIRST_GUESS: Duration = Duration::from_secs(1);
/// The least that a refused client is told to wait.
const LEAST_RETRY: Duration = Duration::from_secs(1);

/// Hands out slots. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Admission {
    shared: Arc<Shared>,
}

/// The right to use one box; dropping it lets the next run in.
#[derive(Debug)]
pub(crate) struct Slot {
    shared: Arc<Shared>,
    client: IpAddr,
    since: Instant,
}

/// Why a run got no slot; the text is for the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{cause}")]
pub(crate) struct Full {
    /// What was full.
    pub(crate) cause: Cause,
    /// When a slot is likely to be free: at least a second, at most the time
    /// that a run may wait.
    pub(crate) retry_after: Duration,
}

/// What was full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Cause {
    /// Every place of the queue was taken.
    #[error("too many runs are waiting already")]
    Queue,
    /// The client's share of the queue was taken.
    #[error("too many runs of this client are waiting already")]
    Share,
    /// No slot became free in time.
    #[error("no box became free within {} s", .0.as_secs_f64())]
    Wait(Duration),
}

impl Admission {
    /// `slots` runs at once, at least one; `queue_length` runs wait (none
    /// with 0), each for `queue_wait` at most.
    pub(crate) fn new(
        slots: usize,
        queue_length: usize,
        queue_wait: Duration,
    ) -> Self {
        let queue = Queue::new(slots.max(1), queue_length);
        let state = Mutex::new(State { queue, usual_run: FIRST_GUESS });
        Self { shared: Arc::new(Shared { queue_wait, state }) }
    }

    /// Waits for a slot. Dropping the future leaves the queue.
    ///
    /// # Errors
    /// At once where the queue or the client's share of it is full; after the
    /// queue's wait where no slot became free.
    pub(crate) async fn enter(&self, client: IpAddr) -> Result<Slot, Full> {
        let shared = &self.shared;
        let (sender, granted) = oneshot::channel();
        let place = {
            let mut state = shared.lock();
            if state.queue.start(client) {
                return Ok(shared.slot(client));
            }
            match state.queue.wait(client, sender) {
                Err(cause) => return Err(shared.full(&state, cause)),
                Ok(number) => {
                    let shared = Arc::clone(shared);
                    Place { shared, client, number }
                }
            }
        };
        // A slot that is granted while this future goes away is dropped with
        // the channel, and so handed to the next.
        let answer = timeout(shared.queue_wait, granted).await;
        drop(place);
        match answer {
            Ok(Ok(slot)) => Ok(slot),
            Ok(Err(_)) | Err(_) => {
                let cause = Cause::Wait(shared.queue_wait);
                Err(shared.full(&shared.lock(), cause))
            }
        }
    }

    /// Runs that hold a slot.
    pub(crate) fn running(&self) -> usize {
        self.shared.lock().queue.running()
    }

    /// Runs that wait for a slot.
    pub(crate) fn waiting(&self) -> usize {
        self.shared.lock().queue.waiting()
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let next = {
            let mut state = self.shared.lock();
            // Recent runs weigh more: an eighth each.
            state.usual_run =
                state.usual_run * 7 / 8 + self.since.elapsed() / 8;
            state.queue.end(self.client)
        };
        if let Some((client, sender)) = next {
            // Outside the lock: when the one who waited has just gone, the
            // slot is dropped here, and passes itself on.
            drop(sender.send(self.shared.slot(client)));
        }
    }
}

#[derive(Debug)]
struct Shared {
    queue_wait: Duration,
    state: Mutex<State>,
}

#[derive(Debug)]
struct State {
    queue: Queue<oneshot::Sender<Slot>>,
    /// What a run lasts, on average.
    usual_run: Duration,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No change of the state can stop halfway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(self: &Arc<Self>, client: IpAddr) -> Slot {
        Slot { shared: Arc::clone(self), client, since: Instant::now() }
    }

    fn full(&self, state: &State, cause: Cause) -> Full {
        let rounds = state.queue.rounds_ahead();
        let estimate = state.usual_run.saturating_mul(rounds);
        let most = self.queue_wait.max(LEAST_RETRY);
        Full { cause, retry_after: estimate.clamp(LEAST_RETRY, most) }
    }
}

/// A place in the queue; dropping it leaves the queue.
struct Place {
    shared: Arc<Shared>,
    client: IpAddr,
    number: u64,
}

impl Drop for Place {
    fn drop(&mut self) {
        self.shared.lock().queue.leave(self.client, self.number);
    }
}
