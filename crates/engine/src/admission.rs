//! Admission: which runs may use a box now, which wait, and which are refused.
//!
//! Slots are the boxes that run at once. As many more may be in removal, dead,
//! after they gave theirs back. One client holds at most half of
//! them, rounded up. Runs that find no slot wait in a bounded queue: clients
//! take turns, and each client's runs keep their order. One client takes at
//! most half of the queue's places, rounded up, so that nobody can keep the
//! others out of it. The addresses of one IPv6 /64 have a client's share
//! together, and take turns in it.
//!
//! Who finds no place, or no slot in time, is told when to come back, and is
//! promised a place then: one of half as many more, before those who were
//! promised nothing. Promises fall due no faster than runs end. Who would
//! wait in vain is told so at once.

mod promises;
mod queue;
#[cfg(test)]
mod tests;
mod usual;

use std::net::IpAddr;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore, oneshot};
use tokio::time::{Instant, timeout};

use crate::limits::{PROMISE_TIME, PROMISES};
use promises::Promises;
use queue::{Queue, subscriber};
use usual::UsualRun;

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

/// The right to remove a box without a slot; dropping it gives it back.
#[derive(Debug)]
pub(crate) struct Removal {
    _permit: OwnedSemaphorePermit,
}

/// Why a run got no slot; the text is for the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{cause}")]
pub(crate) struct Full {
    /// What was full.
    pub(crate) cause: Cause,
    /// When it finds a place that is kept for it; or, where its own runs are
    /// in the way, when these are likely to be over. At least a second.
    pub(crate) retry_after: Duration,
}

/// What was full.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Cause {
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
        let slots = slots.max(1);
        // Without a place there is none to promise.
        let promises = if queue_length == 0 { 0 } else { PROMISES };
        let queue = Queue::new(slots, queue_length);
        let usual_run = UsualRun::default();
        let between_ends = usual_run.get() / queue.slots();
        let state = Mutex::new(State {
            queue,
            promises: Promises::new(promises, PROMISE_TIME),
            usual_run,
            between_ends,
            busy_since: None,
        });
        let arrival = Notify::new();
        let removals = Arc::new(Semaphore::new(slots));
        let shared = Shared { queue_wait, state, arrival, removals };
        Self { shared: Arc::new(shared) }
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
            let now = Instant::now();
            state.promises.expire(now);
            let holder = subscriber(client);
            let is_promised = state.promises.is_due(holder, now);
            if state.queue.start(client) {
                state.promises.keep(holder);
                return Ok(shared.slot(client));
            }
            let most = shared.queue_wait;
            if !is_promised && state.is_too_late(client, now, most) {
                return Err(shared.full(&mut state, client, Cause::Queue));
            }
            match state.queue.wait(client, sender, is_promised) {
                Err(cause) => {
                    return Err(shared.full(&mut state, client, cause));
                }
                Ok(number) => {
                    if state.queue.is_wanted() {
                        shared.arrival.notify_waiters();
                    }
                    state.promises.keep(holder);
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
                Err(shared.full(&mut shared.lock(), client, cause))
            }
        }
    }

    /// A slot, where one is free for `client`: then nobody waits but for slots
    /// of their own share, who can do so for as long as they like.
    pub(crate) fn try_enter(&self, client: IpAddr) -> Option<Slot> {
        let is_free = self.shared.lock().queue.start(client);
        is_free.then(|| self.shared.slot(client))
    }

    /// Resolves when somebody waits who could have any slot.
    pub(crate) async fn contended(&self) {
        let mut arrival = pin!(self.shared.arrival.notified());
        // Who arrives from here on is noticed, whoever was there is seen.
        arrival.as_mut().enable();
        let is_wanted = self.shared.lock().queue.is_wanted();
        if !is_wanted {
            arrival.await;
        }
    }

    /// Whether somebody waits who could have any slot.
    pub(crate) fn is_contended(&self) -> bool {
        self.shared.lock().queue.is_wanted()
    }

    /// The right to remove a box without a slot, where it is free.
    pub(crate) fn try_remove(&self) -> Option<Removal> {
        let removals = Arc::clone(&self.shared.removals);
        let permit = removals.try_acquire_owned().ok()?;
        Some(Removal { _permit: permit })
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

impl Slot {
    /// What handed it out.
    pub(crate) fn admission(&self) -> Admission {
        Admission { shared: Arc::clone(&self.shared) }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let next = {
            let mut state = self.shared.lock();
            let now = Instant::now();
            let lasted = now - self.since;
            state.usual_run.add(subscriber(self.client), lasted);
            let next = state.queue.end(self.client);
            if let Some(before) = state.busy_since {
                // Recent ends weigh more: an eighth each.
                state.between_ends =
                    state.between_ends * 7 / 8 + (now - before) / 8;
            }
            state.busy_since = state.queue.is_full().then_some(now);
            if state.busy_since.is_none() {
                let usual_run = state.usual_run.get();
                state.between_ends = usual_run / state.queue.slots();
            }
            next
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
    /// Somebody has begun to wait who could have any slot.
    arrival: Notify,
    /// One for each box that may be in removal besides those with slots.
    removals: Arc<Semaphore>,
}

#[derive(Debug)]
struct State {
    queue: Queue<oneshot::Sender<Slot>>,
    promises: Promises,
    /// What a run lasts.
    usual_run: UsualRun,
    /// What passes between the ends of two runs while every slot is taken and
    /// others wait, on average; what would, where that is not so.
    between_ends: Duration,
    /// When a run ended last, where that has been so since then.
    busy_since: Option<Instant>,
}

impl State {
    /// Whether a run of `client` that comes now is likely to wait for longer
    /// than `most`. Those who were promised a place until then go first.
    fn is_too_late(
        &self,
        client: IpAddr,
        now: Instant,
        most: Duration,
    ) -> bool {
        let is_rival = self.queue.rivalry();
        let promised = self.promises.until(now + most, is_rival);
        let ahead = self.queue.ahead(client) + promised;
        let ahead = u32::try_from(ahead).unwrap_or(u32::MAX);
        self.pace().saturating_mul(ahead) > most
    }

    /// From the making of a promise until it falls due, at least: those who
    /// wait before `client` have started, or have waited for `most`, and are
    /// gone.
    fn soonest(&self, client: IpAddr, most: Duration) -> Duration {
        let ahead = self.queue.ahead(client);
        let ahead = u32::try_from(ahead).unwrap_or(u32::MAX);
        self.pace().saturating_mul(ahead).min(most).max(LEAST_RETRY)
    }

    /// What to count with for each run that is ahead: more than they last, so
    /// that what was told holds when they take longer.
    fn pace(&self) -> Duration {
        self.between_ends.saturating_mul(5) / 4
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // No change of the state can stop halfway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn slot(self: &Arc<Self>, client: IpAddr) -> Slot {
        Slot { shared: Arc::clone(self), client, since: Instant::now() }
    }

    fn full(&self, state: &mut State, client: IpAddr, cause: Cause) -> Full {
        let retry_after = match cause {
            Cause::Share => {
                let rounds = state.queue.own_rounds(client);
                let usual_run = state.usual_run.get();
                let estimate = usual_run.saturating_mul(rounds);
                estimate.clamp(LEAST_RETRY, self.queue_wait.max(LEAST_RETRY))
            }
            Cause::Queue | Cause::Wait(_) => {
                let now = Instant::now();
                let time = state.promises.make(
                    subscriber(client),
                    // As many as the client may run at once.
                    state.queue.share(),
                    now + state.soonest(client, self.queue_wait),
                    state.pace(),
                );
                time - now
            }
        };
        Full { cause, retry_after }
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
