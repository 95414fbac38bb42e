//! The launchers of a box that wait at their gates, seen from the server.

use crate::StepSpec;
use crate::streams::Near;

/// In the order of their preparing, which is that of the steps.
#[derive(Debug, Default)]
pub(crate) struct Launchers {
    waiting: Vec<(StepSpec, Near)>,
    /// How many of those that init has before them are not wanted any more.
    skipped: usize,
}

impl Launchers {
    pub(crate) fn add(&mut self, spec: StepSpec, near: Near) {
        self.waiting.push((spec, near));
    }

    /// The streams of the launcher that waits for this step, if any does; and
    /// how many before it are to be given up.
    pub(crate) fn take(&mut self, spec: &StepSpec) -> (usize, Option<Near>) {
        let found =
            self.waiting.iter().position(|(other, _)| other.starts_as(spec));
        let before = found.unwrap_or(0);
        let mut taken = self.waiting.drain(..found.map_or(0, |at| at + 1));
        let near = taken.next_back().map(|(_, near)| near);
        drop(taken);
        (std::mem::take(&mut self.skipped) + before, near)
    }

    /// The step will not be run.
    pub(crate) fn skip(&mut self, spec: &StepSpec) {
        let (before, found) = self.take(spec);
        self.skipped = before + usize::from(found.is_some());
    }

    /// None waits any more.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }
}
