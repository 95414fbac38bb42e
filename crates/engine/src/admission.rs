//! Admission: decides which runs may use a box now, which wait, and which are
//! refused.
//!
//! As many runs as there are slots have a box at once. Further runs wait in a
//! bounded queue. Clients take turns in it (round robin), and the runs of one
//! client keep their order. A client that comes without a slot has its turn
//! before those with one. One client holds at most half of the slots and half
//! of the queue, both rounded up, so it cannot starve the others. Live runs have
//! slots of their own and no queue; their half is rounded down, but at least one.
//! In a full queue the newest run of the client with the most gives way to a
//! client that has none there, so a few clients together cannot starve the others
//! either.
//!
//! A run is refused if the queue is full, if it gives way, or if it has waited
//! for too long. The client then gets an estimate of when to try again.

mod queue;
#[cfg(test)]
mod tests;

use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, timeout};

use crate::client::client_prefix;
use queue::{Full, Queue};

/// The shortest time after which a refused client should try again.
const MIN_RETRY: Duration = Duration::from_secs(1);
/// The assumed duration of a run before any run has ended.
const FIRST_MEAN_RUN: Duration = Duration::from_secs(1);

/// Hands out the permits to run. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct Admission {
    inner: Arc<Inner>,
}

/// The right to run in one box: a slot. Dropping it starts the next run.
#[derive(Debug)]
pub(crate) struct RunPermit {
    inner: Arc<Inner>,
    client: IpAddr,
    since: Instant,
}

/// The right to remove a box without a slot. Dropping it gives it back.
#[derive(Debug)]
pub(crate) struct RemovalPermit {
    _permit: OwnedSemaphorePermit,
}

/// The error of a run that got no slot. Its text is for the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{cause}")]
pub(crate) struct Busy {
    /// The reason.
    pub(crate) cause: BusyCause,
    /// An estimate of when there is a place in the queue; at least a second.
    pub(crate) retry_after: Duration,
}

/// The reason why a run got no slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BusyCause {
    /// The queue was full, or became full and this run gave way.
    #[error("too many runs are waiting already")]
    Queue,
    /// The client's share of the queue was full.
    #[error("too many runs of this client are waiting already")]
    Share,
    /// This many live runs are in their boxes: all that there may be.
    #[error("all {0} live runs are taken")]
    Live(usize),
    /// The client's share of the live runs was taken.
    #[error("this client's half of the live runs is taken")]
    LiveShare,
    /// No slot became free within this time.
    #[error("no box became free within {} s", .0.as_secs_f64())]
    Wait(Duration),
}

/// How busy the engine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Runs that have a box.
    pub running: usize,
    /// Boxes that can be in use at once.
    pub boxes: usize,
    /// Runs that wait for a box.
    pub waiting: usize,
    /// Runs that can wait.
    pub queue_capacity: usize,
}

impl Admission {
    /// Creates an admission for `slots` runs at once, at least one, and
    /// `queue_capacity` runs that wait, each for `queue_wait` at most.
    pub(crate) fn new(
        slots: usize,
        queue_capacity: usize,
        queue_wait: Duration,
    ) -> Self {
        let slots = slots.max(1);
        let queue = Queue::new(slots, slots.div_ceil(2), queue_capacity);
        Self::with_queue(queue, queue_wait)
    }

    /// Creates an admission of live runs, which do not wait. A client that takes
    /// a slot may hold it for minutes, so the half of one client is rounded down.
    /// Without slots it admits none.
    pub(crate) fn of_live_runs(slots: usize) -> Self {
        let share = (slots / 2).max(1);
        Self::with_queue(Queue::new(slots, share, 0), Duration::ZERO)
    }

    fn with_queue(
        queue: Queue<oneshot::Sender<RunPermit>>,
        queue_wait: Duration,
    ) -> Self {
        let slots = queue.slots();
        let state =
            Mutex::new(AdmissionState { queue, mean_run: FIRST_MEAN_RUN });
        let removals = Arc::new(Semaphore::new(slots));
        let contention = Notify::new();
        let inner = Inner { queue_wait, state, contention, removals };
        Self { inner: Arc::new(inner) }
    }

    /// Waits for a slot. Dropping the future leaves the queue.
    ///
    /// # Errors
    ///
    /// Returns an error at once if the queue or the client's share of it is
    /// full, later if the run has to give way to another client's, and after
    /// the longest wait if no slot became free.
    pub(crate) async fn enter(
        &self,
        client: IpAddr,
    ) -> Result<RunPermit, Busy> {
        let client = client_prefix(client);
        let inner = &self.inner;
        let (sender, granted) = oneshot::channel();
        let place = {
            let mut state = inner.lock();
            if state.queue.start(client) {
                return Ok(inner.permit(client));
            }
            let number = state.queue.wait(client, sender).map_err(|full| {
                let cause = match full {
                    Full::Queue => BusyCause::Queue,
                    Full::Share => BusyCause::Share,
                };
                inner.busy(&state, client, cause)
            })?;
            if state.queue.is_contended() {
                inner.contention.notify_waiters();
            }
            QueuePlace { inner: Arc::clone(inner), client, number }
        };
        // If this future is dropped when its permit is on the way, the channel
        // drops the permit, which starts the next run.
        let answer = timeout(inner.queue_wait, granted).await;
        drop(place);
        let cause = match answer {
            Ok(Ok(permit)) => return Ok(permit),
            // The queue dropped the sender: the run gave way.
            Ok(Err(_)) => BusyCause::Queue,
            Err(_) => BusyCause::Wait(inner.queue_wait),
        };
        Err(inner.busy(&inner.lock(), client, cause))
    }

    /// Takes a slot, if one is free for `client`.
    ///
    /// Then no other run could use the slot: those that wait are of clients
    /// that hold their share.
    pub(crate) fn try_enter(&self, client: IpAddr) -> Option<RunPermit> {
        let client = client_prefix(client);
        let is_free = self.inner.lock().queue.start(client);
        is_free.then(|| self.inner.permit(client))
    }

    /// Resolves as soon as a run waits that could use any slot.
    pub(crate) async fn contended(&self) {
        let mut contention = pin!(self.inner.contention.notified());
        // Before the look at the queue, so that no arrival is missed between.
        contention.as_mut().enable();
        if !self.is_contended() {
            contention.await;
        }
    }

    /// Returns whether a run waits that could use any slot.
    pub(crate) fn is_contended(&self) -> bool {
        self.inner.lock().queue.is_contended()
    }

    /// Takes the right to remove a box without a slot. There are as many of
    /// these rights as slots.
    pub(crate) fn try_remove(&self) -> Option<RemovalPermit> {
        let removals = Arc::clone(&self.inner.removals);
        let permit = removals.try_acquire_owned().ok()?;
        Some(RemovalPermit { _permit: permit })
    }

    /// Returns how many runs have a slot and how many wait.
    pub(crate) fn load(&self) -> Load {
        let queue = &self.inner.lock().queue;
        Load {
            running: queue.running(),
            boxes: queue.slots(),
            waiting: queue.waiting(),
            queue_capacity: queue.capacity(),
        }
    }
}

impl RunPermit {
    /// The admission that handed it out.
    pub(crate) fn admission(&self) -> Admission {
        Admission { inner: Arc::clone(&self.inner) }
    }
}

impl Drop for RunPermit {
    fn drop(&mut self) {
        let next = {
            let mut state = self.inner.lock();
            // Recent runs weigh more: each counts for an eighth.
            state.mean_run = state.mean_run * 7 / 8 + self.since.elapsed() / 8;
            state.queue.end(self.client)
        };
        if let Some((client, sender)) = next {
            // Outside the lock: if the run that waited has just gone, this
            // permit is dropped here, and takes the lock again.
            drop(sender.send(self.inner.permit(client)));
        }
    }
}

#[derive(Debug)]
struct Inner {
    queue_wait: Duration,
    state: Mutex<AdmissionState>,
    /// Notified when a run begins to wait that could use any slot.
    contention: Notify,
    /// One permit for each box that may be in removal without a slot.
    removals: Arc<Semaphore>,
}

#[derive(Debug)]
struct AdmissionState {
    queue: Queue<oneshot::Sender<RunPermit>>,
    /// The time that a run holds its slot, on average.
    mean_run: Duration,
}

impl Inner {
    fn lock(&self) -> MutexGuard<'_, AdmissionState> {
        // A panic cannot leave the state half changed.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn permit(self: &Arc<Self>, client: IpAddr) -> RunPermit {
        RunPermit { inner: Arc::clone(self), client, since: Instant::now() }
    }

    /// The runs that are ahead of the client end at the mean rate of the slots
    /// that they can use. They wait no longer than the longest wait, so no
    /// estimate is longer.
    fn busy(
        &self,
        state: &AdmissionState,
        client: IpAddr,
        cause: BusyCause,
    ) -> Busy {
        let AdmissionState { queue, mean_run } = state;
        let (ahead, slots) = match cause {
            BusyCause::Share => (queue.waiting_of(client), queue.share()),
            BusyCause::Queue
            | BusyCause::Live(_)
            | BusyCause::LiveShare
            | BusyCause::Wait(_) => (queue.waiting(), queue.slots()),
        };
        let [ahead, slots] =
            [ahead, slots].map(|n| u32::try_from(n).unwrap_or(u32::MAX));
        let all = mean_run.saturating_mul(ahead);
        // There may be no slots for live runs.
        let estimate = all.checked_div(slots).unwrap_or_default();
        let most = self.queue_wait.max(MIN_RETRY);
        Busy { cause, retry_after: estimate.clamp(MIN_RETRY, most) }
    }
}

/// A place in the queue. Dropping it leaves the queue.
struct QueuePlace {
    inner: Arc<Inner>,
    client: IpAddr,
    number: u64,
}

impl Drop for QueuePlace {
    fn drop(&mut self) {
        self.inner.lock().queue.leave(self.client, self.number);
    }
}
