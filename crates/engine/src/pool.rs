//! The pool: boxes that are made before a submission asks for them. They
//! are prepared and kept at the least CPU share. Each is used for one
//! submission and never put back.
//!
//! ```text
//! languages that can run ──> pool keys ── allocate the memory ──> fill
//!                                                                  │
//! submission ── take ──────────────── boxes with its key <─────────┘
//! ```

mod allocation;
mod fill;
mod key;
mod keyed;

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sandpiper_sandbox::Sandbox;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::limits::{MIB, POOL_BOX_AGE, POOL_BOXES_PER_KEY};
use crate::outcome::StartKind;
use allocation::allocate;
pub(crate) use fill::fill;
pub(crate) use key::PoolKey;
use keyed::{KeyedPool, WaitingBox};

/// The assumed memory of a box if the host does not account for it.
const UNCOUNTED_COST: u64 = 64 * MIB;
/// The memory of a box besides its processes and files: the kernel's objects,
/// and the pages that it touches when it is first looked at.
const KERNEL_COST: u64 = MIB;
/// A run that lasts longer no longer delays the filling of the pool.
const LONG_RUN: Duration = Duration::from_millis(100);

/// The boxes of the pool for one language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LanguageBoxes {
    /// The language's id.
    pub language: String,
    /// The start of a run in one of these boxes.
    pub kind: StartKind,
    /// The number of boxes. Languages with the same pool key share them.
    pub boxes: usize,
}

/// The state of the pool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PoolState {
    /// Every language that can have boxes in it, and how many it has.
    pub languages: Vec<LanguageBoxes>,
    /// The memory of all its boxes, in bytes.
    pub memory_bytes: u64,
    /// Maximum memory that they may have, in bytes.
    pub memory_limit_bytes: u64,
}

/// The boxes of all keys. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct BoxPool {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    /// The memory that all boxes may have, in bytes.
    budget: u64,
    /// The number of boxes that there may be.
    capacity: usize,
    pools: Mutex<Vec<KeyedPool>>,
    /// Notified when a box was taken or another is wanted.
    changed: Notify,
}

/// The next thing to do for a task that fills the pool.
enum Work {
    Make(PoolKey),
    Destroy(Box<Sandbox>),
    /// Wait for a change, or until this time has passed.
    Wait(Duration),
}

impl BoxPool {
    /// Creates a pool of `budget` bytes and `capacity` boxes. Either can be 0:
    /// then no box is made ahead.
    pub(crate) fn new(budget: u64, capacity: usize) -> Self {
        let capacity = if budget == 0 { 0 } else { capacity };
        let pools = Mutex::default();
        let changed = Notify::new();
        let inner = Inner { budget, capacity, pools, changed };
        Self { inner: Arc::new(inner) }
    }

    /// Returns whether boxes are made ahead at all.
    pub(crate) fn is_on(&self) -> bool {
        self.inner.capacity > 0
    }

    /// Takes a box with this key, if there is one. `is_demand` counts it as a
    /// request, so that more of them are made.
    pub(crate) fn take(
        &self,
        key: &PoolKey,
        is_demand: bool,
    ) -> Option<Sandbox> {
        let mut pools = self.pools();
        let pool = pools.iter_mut().find(|pool| pool.key == *key)?;
        if is_demand {
            pool.requests.add(Instant::now());
        }
        loop {
            // A box that has died is dropped here, which clears it away.
            let sandbox = pool.boxes.pop_front()?.sandbox;
            if sandbox.is_alive() {
                pool.failures = 0;
                return Some(sandbox);
            }
        }
    }

    /// Awaits a run, or the removal of its box, and has the pool filled if it
    /// takes long. If it does not, the end of the run has the pool filled: a
    /// box that is made beside a short run would slow it.
    pub(crate) async fn refill_if_long<T>(
        &self,
        // Pinned: an owned future would be in here three times, and each copy
        // would be written for each run.
        mut run: Pin<&mut impl Future<Output = T>>,
    ) -> T {
        if !self.is_on() {
            return run.await;
        }
        // In the run's own task: a second task would wake a thread.
        match timeout(LONG_RUN, run.as_mut()).await {
            Ok(ran) => ran,
            Err(_) => {
                self.refill();
                run.await
            }
        }
    }

    /// Has the tasks that fill the pool look at it.
    pub(crate) fn refill(&self) {
        self.inner.changed.notify_waiters();
    }

    /// Sets the languages that can run now, and the keys of their boxes.
    pub(crate) fn offer(&self, offered: Vec<(String, PoolKey)>) {
        let mut keys: Vec<(PoolKey, Vec<String>)> = Vec::new();
        for (language, key) in offered {
            match keys.iter_mut().find(|(other, _)| *other == key) {
                Some((_, languages)) => languages.push(language),
                None => keys.push((key, vec![language])),
            }
        }
        let mut pools = self.pools();
        let is_same = pools.len() == keys.len()
            && pools.iter().zip(&keys).all(|(pool, (key, languages))| {
                pool.key == *key && pool.languages == *languages
            });
        if is_same {
            return;
        }
        let mut old = std::mem::take(&mut *pools);
        for (key, languages) in keys {
            let index = old.iter().position(|pool| pool.key == key);
            let pool = match index {
                Some(index) => {
                    KeyedPool { languages, ..old.swap_remove(index) }
                }
                None => KeyedPool::new(key, languages),
            };
            pools.push(pool);
        }
        // The pools left in `old` have no language: their boxes are dropped.
        self.refill();
    }

    /// Returns the boxes that there are.
    pub(crate) fn state(&self) -> PoolState {
        let pools = self.pools();
        let ready = pools.iter().flat_map(|pool| {
            pool.languages.iter().map(|language| LanguageBoxes {
                language: language.clone(),
                kind: pool.key.start_kind(),
                boxes: pool.boxes.len(),
            })
        });
        let memory =
            |pool: &KeyedPool| pool.cost.unwrap_or(0) * pool.boxes.len() as u64;
        PoolState {
            languages: ready.collect(),
            memory_bytes: pools.iter().map(memory).sum(),
            memory_limit_bytes: self.inner.budget,
        }
    }

    /// Drops every box. The tasks that fill the pool must have ended.
    pub(crate) fn clear(&self) {
        self.pools().clear();
    }

    /// Returns what to do next. While runs wait for a box (`is_contended`),
    /// only quick boxes are made.
    fn next_work(&self, now: Instant, is_contended: bool) -> Work {
        let mut pools = self.pools();
        for pool in &mut *pools {
            pool.reap_dead(now);
        }
        let demands: Vec<_> =
            pools.iter().map(|pool| pool.demand(now)).collect();
        let Inner { budget, capacity, .. } = *self.inner;
        let allocation =
            allocate(&demands, budget, capacity, POOL_BOXES_PER_KEY);
        for (pool, &allowed) in pools.iter_mut().zip(&allocation) {
            // The first is the oldest.
            let is_old = pool.boxes.front().is_some_and(|waiting| {
                now.saturating_duration_since(waiting.since) > POOL_BOX_AGE
            });
            if (is_old || pool.boxes.len() > allowed)
                && let Some(waiting) = pool.boxes.pop_front()
            {
                return Work::Destroy(Box::new(waiting.sandbox));
            }
        }
        // The cost of a key is known when its first box has been made, so only
        // one box of unknown cost is made at a time.
        let is_measuring =
            pools.iter().any(|pool| pool.cost.is_none() && pool.making > 0);
        let is_quick_in_making = pools
            .iter()
            .any(|pool| pool.is_quick() && pool.has_begun_recently(now));
        let missing: Vec<_> = pools
            .iter_mut()
            .zip(&allocation)
            .filter(|(pool, allowed)| {
                pool.boxes.len() + pool.making < **allowed
            })
            .filter(|(pool, _)| pool.retry_at.is_none_or(|at| at <= now))
            .filter(|(pool, _)| pool.cost.is_some() || !is_measuring)
            .map(|(pool, _)| pool)
            .collect();
        let is_put_off = is_contended && !missing.is_empty();
        let next = missing
            .into_iter()
            .filter(|pool| {
                !is_contended || pool.is_quick() && !is_quick_in_making
            })
            .max_by(|a, b| a.urgency(now).total_cmp(&b.urgency(now)));
        match next {
            Some(pool) => {
                pool.making += 1;
                pool.making_since = Some(now);
                Work::Make(pool.key.clone())
            }
            None if is_put_off => Work::Wait(fill::CONTENDED_WAIT),
            None => Work::Wait(fill::MAX_WAIT),
        }
    }

    /// Adds a box that was made with this key in `time`, or records why it
    /// could not be made.
    fn add(
        &self,
        key: &PoolKey,
        made: Result<Sandbox, String>,
        time: Duration,
    ) {
        let mut pools = self.pools();
        // If its pool is gone, the box is dropped, which clears it away.
        let Some(pool) = pools.iter_mut().find(|pool| pool.key == *key) else {
            return;
        };
        pool.making = pool.making.saturating_sub(1);
        match made {
            Ok(sandbox) => {
                let memory = sandbox.memory_bytes();
                pool.cost = Some(
                    memory.map_or(UNCOUNTED_COST, |bytes| bytes + KERNEL_COST),
                );
                pool.record_time(time);
                let since = Instant::now();
                pool.boxes.push_back(WaitingBox { sandbox, since });
                pool.retry_at = None;
            }
            Err(error) => pool.fail(&error, Instant::now()),
        }
        self.refill();
    }

    fn pools(&self) -> MutexGuard<'_, Vec<KeyedPool>> {
        let pools = self.inner.pools.lock();
        // A panic cannot leave them half changed.
        pools.unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests;
