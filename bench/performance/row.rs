//! One line of the table: two series that were measured in turns, what is
//! asked of them, and whether it was reached.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// What is measured, and what is asked of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// Of the figures of both series.
    pub(crate) unit: Unit,
    pub(crate) ours: Series,
    /// What ours is compared with.
    pub(crate) other: Option<Series>,
    pub(crate) bound: Bound,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Unit {
    #[serde(rename = "ms")]
    Milliseconds,
    /// Of the server's CPU time for one request.
    #[serde(rename = "µs CPU")]
    CpuMicroseconds,
    #[serde(rename = "1/s")]
    PerSecond,
    #[serde(rename = "MB")]
    Megabytes,
}

/// Figures of one way to do the job.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Series {
    pub(crate) what: String,
    pub(crate) min: f64,
    pub(crate) p50: f64,
    pub(crate) p99: f64,
    pub(crate) count: usize,
}

/// What is asked of the medians.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Bound {
    /// At most this many times the other.
    Times(f64),
    /// At most this much more than the other.
    More(f64),
    /// At least this many times the other.
    AtLeastTimes(f64),
    /// At most this, whatever others do.
    Most(f64),
    /// Nothing: the row is there to be seen.
    Nothing,
}

/// How a row stands to its bound.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Verdict {
    Reached,
    Short,
    /// Worse than what is asked by half of it: the benchmark fails.
    Failed,
}

impl Row {
    /// What the bound is about: a ratio, a difference, or the figure itself.
    pub(crate) fn measured(&self) -> f64 {
        let ours = self.ours.p50;
        let other = self.other.as_ref().map_or(f64::NAN, |other| other.p50);
        match self.bound {
            Bound::Times(_) | Bound::AtLeastTimes(_) => ours / other,
            Bound::More(_) => ours - other,
            Bound::Most(_) => ours,
            Bound::Nothing => match self.other {
                Some(_) => ours / other,
                None => ours,
            },
        }
    }

    pub(crate) fn verdict(&self) -> Verdict {
        const WORSE: f64 = 1.5;
        let excess = match self.bound {
            Bound::Times(bound) | Bound::More(bound) | Bound::Most(bound) => {
                self.measured() / bound
            }
            Bound::AtLeastTimes(bound) => bound / self.measured(),
            Bound::Nothing => 0.0,
        };
        // What is no number, as of a series without figures, has failed.
        if excess <= 1.0 {
            Verdict::Reached
        } else if excess <= WORSE {
            Verdict::Short
        } else {
            Verdict::Failed
        }
    }
}

impl Unit {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Milliseconds => "ms",
            Self::CpuMicroseconds => "µs CPU",
            Self::PerSecond => "1/s",
            Self::Megabytes => "MB",
        }
    }
}

impl Series {
    pub(crate) fn new(what: &str, figures: &[f64]) -> Self {
        let mut sorted = figures.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let at = |percent: usize| {
            let last = sorted.len().saturating_sub(1);
            let place = (last * percent).div_ceil(100);
            sorted.get(place).copied().unwrap_or(f64::NAN)
        };
        Self {
            what: what.to_owned(),
            min: at(0),
            p50: at(50),
            p99: at(99),
            count: sorted.len(),
        }
    }

    /// The same job done so many times.
    pub(crate) fn times(&self, what: &str, times: f64) -> Self {
        Self {
            what: format!("{times} {what}"),
            min: self.min * times,
            p50: self.p50 * times,
            p99: self.p99 * times,
            count: self.count,
        }
    }

    /// Of times, in milliseconds.
    pub(crate) fn of_times(what: &str, times: &[Duration]) -> Self {
        let milliseconds: Vec<f64> =
            times.iter().map(|time| time.as_secs_f64() * 1e3).collect();
        Self::new(what, &milliseconds)
    }
}
