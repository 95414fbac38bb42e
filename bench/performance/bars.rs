//! The plot: how much of the other way's time ours takes, and what is asked.

use std::error::Error;
use std::path::Path;

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use crate::plot::{COLOURS, Drawn, GRID, INK, Place, WIDTH, save};
use crate::row::{Bound, Row, Verdict};

const ROW_HEIGHT: i32 = 22;
const TOP: i32 = 36;
const BOTTOM: i32 = 44;
/// Where bars begin and end; names stand before, figures behind.
const LEFT: i32 = 300;
const RIGHT: i32 = 660;
/// Shares from the left to the right, by their logarithm.
const LEAST: f64 = 0.002;
const MOST: f64 = 2.0;
const MARKS: [f64; 10] =
    [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0];

/// One bar.
struct Bar<'a> {
    row: &'a Row,
    /// Of the other way's time.
    share: f64,
    asked: f64,
}

pub(crate) fn write(path: &Path, rows: &[Row]) -> Result<(), Box<dyn Error>> {
    let bars: Vec<Bar<'_>> = rows.iter().filter_map(Bar::of).collect();
    let count = i32::try_from(bars.len())?;
    let height = TOP + count * ROW_HEIGHT + BOTTOM;
    save(path, (WIDTH, u32::try_from(height)?), |area| {
        draw(area, &bars, height)
    })
}

impl<'a> Bar<'a> {
    fn of(row: &'a Row) -> Option<Self> {
        row.other.as_ref()?;
        let (share, asked) = match row.bound {
            Bound::Times(bound) => (row.measured(), bound),
            // Of rates: more is less time.
            Bound::AtLeastTimes(bound) => (1.0 / row.measured(), 1.0 / bound),
            Bound::More(_) | Bound::Most(_) | Bound::Nothing => return None,
        };
        Some(Self { row, share, asked })
    }
}

fn draw(area: &Place<'_>, bars: &[Bar<'_>], height: i32) -> Drawn {
    let text = |size: i32, side: HPos| {
        let font = ("sans-serif", size).into_font().color(&INK);
        font.pos(Pos::new(side, VPos::Center))
    };
    let title = "Time for the same job: ours as a share of the other way's";
    area.draw_text(title, &text(16, HPos::Center), (middle(), TOP / 2))?;
    let end = height - BOTTOM + 4;
    for mark in MARKS {
        let weight = if mark.to_bits() == 1_f64.to_bits() { 1.0 } else { 0.35 };
        let line = [(across(mark), TOP), (across(mark), end)];
        area.draw(&PathElement::new(line, GRID.mix(weight)))?;
        let place = (across(mark), end + 12);
        area.draw_text(&mark.to_string(), &text(12, HPos::Center), place)?;
    }
    let asked = "| what is asked; 1: as long as the other way";
    area.draw_text(asked, &text(12, HPos::Center), (middle(), end + 30))?;
    for (number, bar) in (0..).zip(bars) {
        let y = TOP + number * ROW_HEIGHT + ROW_HEIGHT / 2;
        let is_reached = bar.row.verdict() == Verdict::Reached;
        let colour = COLOURS[usize::from(!is_reached)];
        let ends = [(LEFT, y - 6), (across(bar.share), y + 6)];
        area.draw(&Rectangle::new(ends, colour.filled()))?;
        let x = across(bar.asked);
        let tick = [(x, y - 9), (x, y + 9)];
        area.draw(&PathElement::new(tick, INK.stroke_width(2)))?;
        area.draw_text(&bar.row.name, &text(12, HPos::Right), (LEFT - 8, y))?;
        let figures = figures(bar);
        area.draw_text(&figures, &text(12, HPos::Left), (RIGHT + 8, y))?;
    }
    Ok(())
}

fn middle() -> i32 {
    i32::try_from(WIDTH).unwrap_or_default() / 2
}

/// Where a share is.
#[expect(clippy::cast_possible_truncation, reason = "a pixel")]
fn across(share: f64) -> i32 {
    let part = (share.clamp(LEAST, MOST) / LEAST).ln() / (MOST / LEAST).ln();
    LEFT + (f64::from(RIGHT - LEFT) * part).round() as i32
}

fn figures(bar: &Bar<'_>) -> String {
    let unit = bar.row.unit.name();
    let other = bar.row.other.as_ref().map_or(f64::NAN, |other| other.p50);
    let digits = |figure: f64| usize::from(figure < 100.0);
    let ours = bar.row.ours.p50;
    format!("{ours:.0$} : {other:.1$} {unit}", digits(ours), digits(other))
}
