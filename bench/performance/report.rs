//! The rows as lines, as JSON, as the table of the document, and as a plot.

use std::fs;

use serde_json::json;

use crate::row::{Bound, Row, Series, Verdict};
use crate::{bars, figures};

/// The file of the figures in docs/.
const FIGURES: &str = "performance.json";

/// Prints a row as soon as it is there.
pub(crate) fn print(row: &Row) {
    let unit = row.unit.name();
    println!(
        "{:<46} {:<40} {:<40} {:>8} {:>9}  {}",
        row.name,
        row.other
            .as_ref()
            .map(|other| in_words(other, unit))
            .unwrap_or_default(),
        in_words(&row.ours, unit),
        measured(row),
        bound(row),
        verdict(row),
    );
}

/// Writes all of it to docs/.
pub(crate) fn write(origin: &str, rows: &[Row]) {
    let folder = figures::documents();
    let with_verdict = |row: &Row| {
        let mut value = serde_json::to_value(row).unwrap();
        value["measured"] = json!(round(row.measured()));
        value["verdict"] = json!(row.verdict());
        value
    };
    let all: Vec<_> = rows.iter().map(with_verdict).collect();
    let result = json!({ "origin": origin, "rows": all });
    let text = format!("{result:#}\n");
    fs::write(folder.join(FIGURES), text).unwrap();
    let document = folder.join("performance.md");
    figures::replace(&document, "figures", &table(origin, rows)).unwrap();
    draw(rows);
}

/// The rows that were written last.
pub(crate) fn read() -> Vec<Row> {
    let text = fs::read_to_string(figures::documents().join(FIGURES)).unwrap();
    let mut result: serde_json::Value = serde_json::from_str(&text).unwrap();
    serde_json::from_value(result["rows"].take()).unwrap()
}

/// Writes the plot to docs/.
pub(crate) fn draw(rows: &[Row]) {
    let path = figures::documents().join("performance.svg");
    bars::write(&path, rows).unwrap();
}

fn table(origin: &str, rows: &[Row]) -> String {
    let mut text = format!(
        "{origin}. Each figure is min / p50 / p99.\n\n\
         | | the other way | ours | measured | asked | |\n\
         |---|---|---|---|---|---|\n"
    );
    for row in rows {
        let unit = row.unit.name();
        let other = row.other.as_ref();
        text += &format!(
            "| {} | {} | {} | {} | {} | {} |\n",
            row.name,
            other.map(|other| in_words(other, unit)).unwrap_or_default(),
            in_words(&row.ours, unit),
            measured(row),
            bound(row),
            verdict(row),
        );
    }
    text
}

fn in_words(series: &Series, unit: &str) -> String {
    let Series { what, min, p50, p99, .. } = series;
    let [min, p50, p99] = [min, p50, p99].map(|figure| short(*figure));
    if series.count == 1 {
        return format!("{what}: {p50} {unit}");
    }
    format!("{what}: {min} / {p50} / {p99} {unit}")
}

fn measured(row: &Row) -> String {
    let figure = short(row.measured());
    match (row.bound, &row.other) {
        (Bound::More(_), _) => format!("{figure} more"),
        (Bound::Most(_), _) | (Bound::Nothing, None) => figure,
        _ => format!("{figure} x"),
    }
}

fn bound(row: &Row) -> String {
    match row.bound {
        Bound::Times(times) => format!("≤ {times} x"),
        Bound::AtLeastTimes(times) => format!("≥ {times} x"),
        Bound::More(more) => format!("≤ {more} more"),
        Bound::Most(most) => format!("≤ {most}"),
        Bound::Nothing => String::new(),
    }
}

fn verdict(row: &Row) -> &'static str {
    match (row.bound, row.verdict()) {
        (Bound::Nothing, _) => "",
        (_, Verdict::Reached) => "reached",
        (_, Verdict::Short) => "**short**",
        (_, Verdict::Failed) => "**failed**",
    }
}

/// Three digits that count.
fn short(figure: f64) -> String {
    match figure.abs() {
        size if size < 10.0 => format!("{figure:.2}"),
        size if size < 100.0 => format!("{figure:.1}"),
        _ => format!("{figure:.0}"),
    }
}

fn round(figure: f64) -> f64 {
    (figure * 1e3).round() / 1e3
}
