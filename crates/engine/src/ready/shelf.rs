//! The ready boxes of one kind.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use sandpiper_sandbox::Sandbox;

use super::shares::{Demand, Wish};
use crate::kind::Kind;
use crate::limits::MIB;

/// What a kind is taken to cost until one of it has been made.
const UNKNOWN_COST: u64 = MIB;
/// How soon a kind that could not be made is tried again; the time doubles
/// with every failure.
const FIRST_RETRY: Duration = Duration::from_secs(5);
const LONGEST_RETRY: Duration = Duration::from_secs(300);
/// Kinds of which one was made in this time are made also while runs wait for a
/// box, one at a time: who finds none ready would take as long itself. One that
/// takes longer then keeps no other back.
const QUICK: Duration = Duration::from_millis(50);
/// How often it is looked whether boxes that wait live.
const LOOK_FOR_THE_DEAD: Duration = Duration::from_secs(1);

/// The ready boxes of one kind.
#[derive(Debug)]
pub(super) struct Shelf {
    pub(super) kind: Kind,
    pub(super) languages: Vec<String>,
    pub(super) boxes: VecDeque<Waiting>,
    /// How many are being made, and since when the last.
    pub(super) making: usize,
    pub(super) making_since: Option<Instant>,
    pub(super) demand: Demand,
    /// Memory of the last that was made, in bytes.
    pub(super) cost: Option<u64>,
    /// The least time that one was made in.
    pub(super) least_time: Duration,
    pub(super) failures: u32,
    pub(super) retry_at: Option<Instant>,
    /// When it was looked whether its boxes live.
    pub(super) looked_at: Option<Instant>,
}

/// A box that waits.
#[derive(Debug)]
pub(super) struct Waiting {
    pub(super) sandbox: Sandbox,
    pub(super) since: Instant,
}

impl Shelf {
    pub(super) fn new(kind: Kind, languages: Vec<String>) -> Self {
        Self {
            kind,
            languages,
            boxes: VecDeque::new(),
            making: 0,
            making_since: None,
            demand: Demand::new(Instant::now()),
            cost: None,
            least_time: Duration::MAX,
            failures: 0,
            retry_at: None,
            looked_at: None,
        }
    }

    /// Lets go of boxes that ended while they waited.
    pub(super) fn bury_the_dead(&mut self, now: Instant) {
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
    pub(super) fn fail(&mut self, error: &str, now: Instant) {
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

    pub(super) fn wish(&self, now: Instant) -> Wish {
        let cost = self.cost.unwrap_or(UNKNOWN_COST);
        Wish { demand: self.demand.at(now), cost }
    }

    pub(super) fn took(&mut self, time: Duration) {
        self.least_time = self.least_time.min(time);
    }

    pub(super) fn is_quick(&self) -> bool {
        self.least_time <= QUICK
    }

    /// Whether one is being made that may still be quick.
    pub(super) fn has_begun_lately(&self, now: Instant) -> bool {
        let since = self.making_since.filter(|_| self.making > 0);
        since.is_some_and(|at| now.saturating_duration_since(at) <= QUICK)
    }

    /// Which shelf is filled first: the one with most requests to a box.
    pub(super) fn urgency(&self, now: Instant) -> f64 {
        let has = u32::try_from(self.boxes.len() + self.making + 1);
        self.demand.at(now) / has.map_or(f64::MAX, f64::from)
    }
}
