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

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sandpiper_sandbox::Sandbox;
use tokio::sync::Notify;
use tokio::time::timeout;

use crate::kind::{BoxKind, Kind};
use crate::limits::{MIB, READY_BOX_AGE, READY_BOXES_OF_A_KIND};
pub(crate) use fill::fill;
use shares::{Demand, Wish, shares};

/// What a kind is taken to cost until one of it has been made.
const UNKNOWN_COST: u64 = MIB;
/// What a box costs where nothing accounts for its memory.
const UNCOUNTED_COST: u64 = 64 * MIB;
/// What a box costs beside its processes and files: the kernel's objects.
const KERNEL_COST: u64 = MIB;
/// How soon a kind that could not be made is tried again; the time doubles
/// with every failure.
const FIRST_RETRY: Duration = Duration::from_secs(5);
const LONGEST_RETRY: Duration = Duration::from_secs(300);
/// A run that lasts longer does not keep the shelves from being filled.
const LONG_RUN: Duration = Duration::from_millis(100);
/// Boxes that are made in this time are made also while runs wait for one, one
/// at a time: who finds none ready would take as long itself.
const QUICK: Duration = Duration::from_millis(50);
/// How often it is looked whether boxes that wait live.
const LOOK_FOR_THE_DEAD: Duration = Duration::from_secs(1);

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

/// The ready boxes of one kind.
#[derive(Debug)]
struct Shelf {
    kind: Kind,
    languages: Vec<String>,
    boxes: VecDeque<Waiting>,
    /// How many are being made.
    making: usize,
    demand: Demand,
    /// Memory of the last that was made, in bytes.
    cost: Option<u64>,
    /// The least time that one was made in.
    least_time: Duration,
    failures: u32,
    retry_at: Option<Instant>,
    /// When it was looked whether its boxes live.
    looked_at: Option<Instant>,
}

/// A box that waits.
#[derive(Debug)]
struct Waiting {
    sandbox: Sandbox,
    since: Instant,
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
    /// takes long: to make a box would slow it.
    pub(crate) async fn beside<T>(&self, run: impl Future<Output = T>) -> T {
        if !self.is_on() {
            return run.await;
        }
        let mut run = pin!(run);
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
        let shares = shares(&wishes, budget, places, READY_BOXES_OF_A_KIND);
        for (shelf, &share) in shelves.iter_mut().zip(&shares) {
            // The first is the oldest.
            let is_old = shelf.boxes.front().is_some_and(|waiting| {
                now.saturating_duration_since(waiting.since) > READY_BOX_AGE
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
        let is_one_made = shelves.iter().any(|s| s.making > 0 && s.is_quick());
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
            .filter(|s| !is_contended || s.is_quick() && !is_one_made)
            .max_by(|a, b| a.urgency(now).total_cmp(&b.urgency(now)));
        match next {
            Some(shelf) => {
                shelf.making += 1;
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
                shelf.least_time = shelf.least_time.min(time);
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

impl Shelf {
    fn new(kind: Kind, languages: Vec<String>) -> Self {
        Self {
            kind,
            languages,
            boxes: VecDeque::new(),
            making: 0,
            demand: Demand::new(Instant::now()),
            cost: None,
            least_time: Duration::MAX,
            failures: 0,
            retry_at: None,
            looked_at: None,
        }
    }

    /// Lets go of boxes that ended while they waited.
    fn bury_the_dead(&mut self, now: Instant) {
        let is_soon = self.looked_at.is_some_and(|at| {
            now.saturating_duration_since(at) < LOOK_FOR_THE_DEAD
        });
        if is_soon {
            return;
        }
        self.looked_at = Some(now);
        let before = self.boxes.len();
        self.boxes.retain(|waiting| waiting.sandbox.is_alive());
        if self.boxes.len() < before {
            self.fail("one ended while it waited", now);
        }
    }

    /// Puts the next try off, longer with each failure since one was of use.
    fn fail(&mut self, error: &str, now: Instant) {
        if self.failures == 0 {
            let languages = self.languages.join(", ");
            tracing::warn!(
                %languages, %error,
                "cannot keep a box ready; programs start cold"
            );
        }
        let pause = FIRST_RETRY * 2_u32.pow(self.failures.min(10));
        self.failures += 1;
        self.retry_at = Some(now + pause.min(LONGEST_RETRY));
    }

    fn wish(&self, now: Instant) -> Wish {
        let cost = self.cost.unwrap_or(UNKNOWN_COST);
        Wish { demand: self.demand.at(now), cost }
    }

    fn is_quick(&self) -> bool {
        self.least_time <= QUICK
    }

    /// Which shelf is filled first: the one with most requests to a box.
    fn urgency(&self, now: Instant) -> f64 {
        let has = u32::try_from(self.boxes.len() + self.making + 1);
        self.demand.at(now) / has.map_or(f64::MAX, f64::from)
    }
}

#[cfg(test)]
#[path = "ready/tests.rs"]
mod tests;
