//! The launchers of a box that wait at their gates, as the server knows them.

use crate::StepSpec;
use crate::streams::ParentPipes;

/// The launchers in the order in which they were prepared. This is the order of
/// the steps.
#[derive(Debug, Default)]
pub(crate) struct Launchers {
    waiting: Vec<(StepSpec, ParentPipes)>,
    /// The number of launchers that init has before these, and that no step
    /// will use.
    skipped: usize,
}

impl Launchers {
    pub(crate) fn add(&mut self, spec: StepSpec, pipes: ParentPipes) {
        self.waiting.push((spec, pipes));
    }

    /// Takes the launcher that waits for this step. Returns the number of
    /// launchers before it, which init must kill, and its streams.
    pub(crate) fn take(
        &mut self,
        spec: &StepSpec,
    ) -> (usize, Option<ParentPipes>) {
        let found =
            self.waiting.iter().position(|(other, _)| other.starts_as(spec));
        let before = found.unwrap_or(0);
        let mut taken = self.waiting.drain(..found.map_or(0, |at| at + 1));
        let pipes = taken.next_back().map(|(_, pipes)| pipes);
        drop(taken);
        (std::mem::take(&mut self.skipped) + before, pipes)
    }

    /// Drops the launcher of a step that will not be run.
    pub(crate) fn skip(&mut self, spec: &StepSpec) {
        let (before, found) = self.take(spec);
        self.skipped = before + usize::from(found.is_some());
    }

    /// Notes that no launcher waits any more.
    pub(crate) fn forget(&mut self) {
        *self = Self::default();
    }
}
