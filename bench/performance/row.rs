//! A row of the table: two series that were measured in turns, their target, and
//! whether it was reached.

use std::fmt;
use std::time::Instant;

/// The head of the table.
pub(crate) const HEAD: &str = "Each figure is min / p50 / p99.\n\n\
    | | the other way | ours | measured | asked | |\n|---|---|---|---|---|---|";
/// A row fails if it is worse than its target by this factor.
const WORSE: f64 = 1.5;

/// Two measurements and their target.
#[derive(Clone)]
pub(crate) struct Row {
    pub(crate) name: String,
    /// The unit of all figures.
    pub(crate) unit: &'static str,
    /// The other way.
    pub(crate) other: Series,
    pub(crate) ours: Series,
    pub(crate) asked: Asked,
}

/// The figures of one way.
#[derive(Clone)]
pub(crate) struct Series {
    what: String,
    sorted: Vec<f64>,
}

/// The target for the medians.
#[derive(Clone, Copy)]
pub(crate) enum Asked {
    /// At most this many times the other.
    Times(f64),
    /// At most this much more than the other.
    More(f64),
    /// The same on a quick machine. On others it may fall short by any factor.
    MoreIfQuick(f64),
    /// At least this many times the other.
    AtLeastTimes(f64),
    /// No target.
    Nothing,
}

impl Row {
    pub(crate) fn has_failed(&self) -> bool {
        !matches!(self.asked, Asked::MoreIfQuick(_)) && self.excess() > WORSE
    }

    /// Returns a difference if the target is one, otherwise a ratio.
    fn measured(&self) -> f64 {
        let [ours, other] = [&self.ours, &self.other].map(Series::median);
        match self.asked {
            Asked::More(_) | Asked::MoreIfQuick(_) => ours - other,
            _ => ours / other,
        }
    }

    /// Returns the ratio to the target.
    fn excess(&self) -> f64 {
        match self.asked {
            Asked::Times(most)
            | Asked::More(most)
            | Asked::MoreIfQuick(most) => self.measured() / most,
            Asked::AtLeastTimes(least) => least / self.measured(),
            Asked::Nothing => 0.0,
        }
    }

    fn verdict(&self) -> &'static str {
        match self.asked {
            Asked::Nothing => "",
            _ if self.has_failed() => "**failed**",
            _ if self.excess() > 1.0 => "**short**",
            _ => "reached",
        }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let figure = short(self.measured());
        let (measured, asked) = match self.asked {
            Asked::Times(most) => (" x", format!("≤ {most} x")),
            Asked::AtLeastTimes(least) => (" x", format!("≥ {least} x")),
            Asked::More(most) | Asked::MoreIfQuick(most) => {
                (" more", format!("≤ {most} more"))
            }
            Asked::Nothing => (" x", String::new()),
        };
        let [name, unit, verdict] = [&self.name, self.unit, self.verdict()];
        let [other, ours] =
            [&self.other, &self.ours].map(|series| series.in_words(unit));
        write!(
            formatter,
            "| {name} | {other} | {ours} | {figure}{measured} | {asked} \
             | {verdict} |"
        )
    }
}

impl Series {
    pub(crate) fn new(what: impl Into<String>, figures: &[f64]) -> Self {
        let mut sorted = figures.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        Self { what: what.into(), sorted }
    }

    pub(crate) fn median(&self) -> f64 {
        self.at(50)
    }

    fn at(&self, percent: usize) -> f64 {
        self.sorted[((self.sorted.len() - 1) * percent).div_ceil(100)]
    }

    fn in_words(&self, unit: &str) -> String {
        let places: &[usize] =
            if self.sorted.len() == 1 { &[50] } else { &[0, 50, 99] };
        let figures = places.iter().map(|percent| short(self.at(*percent)));
        let figures = figures.collect::<Vec<_>>().join(" / ");
        format!("{}: {figures} {unit}", self.what)
    }
}

/// Returns the milliseconds since `begun`.
pub(crate) fn since(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e3
}

/// Formats three significant digits.
fn short(figure: f64) -> String {
    match figure.abs() {
        size if size < 10.0 => format!("{figure:.2}"),
        size if size < 100.0 => format!("{figure:.1}"),
        _ => format!("{figure:.0}"),
    }
}
