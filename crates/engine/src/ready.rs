//! Boxes that are ready before anybody asks for them: prepared and kept at the
//! least CPU share, taken for one submission each, never put back.
//!
//! ```text
//! languages that can run ──> kinds of box ── shares of the memory ──> fill
//!                                                                       │
//! submission ── take ──────────────── a shelf of ready boxes <──────────┘
//! ```

mod fill;
mod shares;
mod shelf;

use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sandpiper_sandbox::Sandbox;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::kind::{BoxKind, Kind};
use crate::limits::{MIB, WARM_BOX_AGE, WARM_BOXES_PER_KEY};
pub(crate) use fill::fill;
use shares::shares;
use shelf::{Shelf, Waiting};

/// What a box costs where nothing accounts for its memory.
const UNCOUNTED_COST: u64 = 64 * MIB;
/// What a box costs beside its processes and files: the kernel's objects, and
/// the pages that it touches once it is looked at.
const KERNEL_COST: u64 = MIB;
/// A run that lasts longer does not keep the shelves from being filled.
const LONG_RUN: Duration = Duration::from_millis(100);
/// The ready boxes of one language.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ready {
    /// The language's id.
    pub language: String,
    /// What the boxes are when they are ready.
    pub kind: BoxKind,
    /// How many there are; languages of one image can have them in common.
    pub boxes: usize,
}

/// All ready boxes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Supply {
    /// Every language that can have some, and how many there are.
    pub languages: Vec<Ready>,
    /// Their memory in bytes.
    pub memory_bytes: u64,
    /// The most of it that there may be.
    pub memory_limit_bytes: u64,
}

/// Every shelf. Cheap to clone.
#[derive(Clone, Debug)]
pub(crate) struct ReadyBoxes {
    shared: Arc<Shared>,
}

#[derive(Debug)]
struct Shared {
    /// Memory that ready boxes may have together, in bytes.
    budget: u64,
    /// How many there may be.
    places: usize,
    shelves: Mutex<Vec<Shelf>>,
    /// Something was taken, or is wanted.
    changed: Notify,
}

/// Has the shelves filled when it is dropped.
#[derive(Debug)]
pub(crate) struct Refill {
    ready: ReadyBoxes,
}

impl Drop for Refill {
    fn drop(&mut self) {
        self.ready.refill();
    }
}

/// What there is to do for whoever fills the shelves.
enum Work {
    Make(Kind),
    Destroy(Box<Sandbox>),
    /// Nothing, until something changes or this has passed.
    Wait(Duration),
}

impl ReadyBoxes {
    /// Shelves for `budget` bytes and `places` boxes; none with 0.
    pub(crate) fn new(budget: u64, places: usize) -> Self {
        let places = if budget == 0 { 0 } else { places };
        let shelves = Mutex::default();
        let changed = Notify::new();
        let shared = Shared { budget, places, shelves, changed };
        Self { shared: Arc::new(shared) }
    }

    /// Whether there will ever be a box.
    pub(crate) fn is_on(&self) -> bool {
        self.shared.places > 0
    }

    /// A box of this kind, if one is ready. `is_demand`: more of it may be
    /// wanted soon.
    pub(crate) fn take(&self, kind: &Kind, is_demand: bool) -> Option<Sandbox> {
        let mut shelves = self.shelves();
        let shelf = shelves.iter_mut().find(|shelf| shelf.kind == *kind)?;
        if is_demand {
            shelf.demand.add(Instant::now());
        }
        loop {
            let sandbox = shelf.boxes.pop_front()?.sandbox;
            // Dropped, it is cleared away.
            if sandbox.is_alive() {
                shelf.failures = 0;
                return Some(sandbox);
            }
        }
    }

    /// Goes on with a run that takes a box, or with its box's removal. The
    /// shelves are filled when both are over ([`Refill`]), or soon where one
    /// takes long: to begin with a box would slow it.
    pub(crate) async fn beside<T>(
        &self,
        // Pinned: moved in, its state would be in here three times, and each
        // would be written for each run.
        mut run: Pin<&mut impl Future<Output = T>>,
    ) -> T {
        if !self.is_on() {
            return run.await;
        }
        // In the run's own task: another would have a thread woken for it.
        match timeout(LONG_RUN, run.as_mut()).await {
            Ok(ran) => ran,
            Err(_) => {
                self.refill();
                run.await
            }
        }
    }

    /// What has the shelves filled when it is dropped.
    pub(crate) fn refill_later(&self) -> Refill {
        Refill { ready: self.clone() }
    }

    fn refill(&self) {
        self.shared.changed.notify_waiters();
    }

    /// Says which languages can run now, and in which kind of box.
    pub(crate) fn offer(&self, offered: Vec<(String, Kind)>) {
        let mut kinds: Vec<(Kind, Vec<String>)> = Vec::new();
        for (language, kind) in offered {
            match kinds.iter_mut().find(|(other, _)| *other == kind) {
                Some((_, languages)) => languages.push(language),
                None => kinds.push((kind, vec![language])),
            }
        }
        let mut shelves = self.shelves();
        let is_same = shelves.len() == kinds.len()
            && shelves.iter().zip(&kinds).all(|(shelf, (kind, languages))| {
                shelf.kind == *kind && shelf.languages == *languages
            });
        if is_same {
            return;
        }
        let mut old = std::mem::take(&mut *shelves);
        for (kind, languages) in kinds {
            let place = old.iter().position(|shelf| shelf.kind == kind);
            let shelf = match place {
                Some(place) => Shelf { languages, ..old.swap_remove(place) },
                None => Shelf::new(kind, languages),
            };
            shelves.push(shelf);
        }
        // What is left in `old` has no language any more: its boxes go.
        self.refill();
    }

    /// What there is.
    pub(crate) fn supply(&self) -> Supply {
        let shelves = self.shelves();
        let ready = shelves.iter().flat_map(|shelf| {
            shelf.languages.iter().map(|language| Ready {
                language: language.clone(),
                kind: shelf.kind.ready_kind(),
                boxes: shelf.boxes.len(),
            })
        });
        let memory =
            |shelf: &Shelf| shelf.cost.unwrap_or(0) * shelf.boxes.len() as u64;
        Supply {
            languages: ready.collect(),
            memory_bytes: shelves.iter().map(memory).sum(),
            memory_limit_bytes: self.shared.budget,
        }
    }

    /// Lets go of every box; the host knows when all are gone. Nobody may fill
    /// the shelves any more.
    pub(crate) fn clear(&self) {
        self.shelves().clear();
    }

    /// What is to be done next. `is_contended`: somebody waits for a box to
    /// run in; then only what is quick is made.
    fn next(&self, now: Instant, is_contended: bool) -> Work {
        let mut shelves = self.shelves();
        for shelf in &mut *shelves {
            shelf.bury_the_dead(now);
        }
        let wishes: Vec<_> =
            shelves.iter().map(|shelf| shelf.wish(now)).collect();
        let Shared { budget, places, .. } = *self.shared;
        let shares = shares(&wishes, budget, places, WARM_BOXES_PER_KEY);
        for (shelf, &share) in shelves.iter_mut().zip(&shares) {
            // The first is the oldest.
            let is_old = shelf.boxes.front().is_some_and(|waiting| {
                now.saturating_duration_since(waiting.since) > WARM_BOX_AGE
            });
            if (is_old || shelf.boxes.len() > share)
                && let Some(waiting) = shelf.boxes.pop_front()
            {
                return Work::Destroy(Box::new(waiting.sandbox));
            }
        }
        // What a kind costs is seen when it has been made: one at a time.
        let is_measuring =
            shelves.iter().any(|s| s.cost.is_none() && s.making > 0);
        let is_quick_in_making =
            shelves.iter().any(|s| s.is_quick() && s.has_begun_lately(now));
        let missing: Vec<_> = shelves
            .iter_mut()
            .zip(&shares)
            .filter(|(shelf, share)| shelf.boxes.len() + shelf.making < **share)
            .filter(|(shelf, _)| shelf.retry_at.is_none_or(|at| at <= now))
            .filter(|(shelf, _)| shelf.cost.is_some() || !is_measuring)
            .map(|(shelf, _)| shelf)
            .collect();
        let is_put_off = is_contended && !missing.is_empty();
        let next = missing
            .into_iter()
            .filter(|s| !is_contended || s.is_quick() && !is_quick_in_making)
            .max_by(|a, b| a.urgency(now).total_cmp(&b.urgency(now)));
        match next {
            Some(shelf) => {
                shelf.making += 1;
                shelf.making_since = Some(now);
                Work::Make(shelf.kind.clone())
            }
            None if is_put_off => Work::Wait(fill::LOOK_AGAIN_SOON),
            None => Work::Wait(fill::LOOK_AGAIN),
        }
    }

    /// What came of making a box of this kind, and how long it took.
    fn made(&self, kind: &Kind, made: Result<Sandbox, String>, time: Duration) {
        let mut shelves = self.shelves();
        // Without its shelf the box is dropped, and so cleared away.
        let Some(shelf) = shelves.iter_mut().find(|s| s.kind == *kind) else {
            return;
        };
        shelf.making = shelf.making.saturating_sub(1);
        match made {
            Ok(sandbox) => {
                let memory = sandbox.memory_bytes();
                shelf.cost = Some(
                    memory.map_or(UNCOUNTED_COST, |bytes| bytes + KERNEL_COST),
                );
                shelf.took(time);
                let since = Instant::now();
                shelf.boxes.push_back(Waiting { sandbox, since });
                shelf.retry_at = None;
            }
            Err(error) => shelf.fail(&error, Instant::now()),
        }
        self.refill();
    }

    fn shelves(&self) -> MutexGuard<'_, Vec<Shelf>> {
        let shelves = self.shared.shelves.lock();
        // No change of them can stop halfway.
        shelves.unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
#[path = "ready/tests.rs"]
mod tests;
