//! Programs of every language over HTTP, compared with the toolchain of the same
//! image without a sandbox.

use std::process::{Command, id};
use std::time::Instant;

use crate::Context;
use crate::boxes::Boxes;
use crate::client::Target;
use crate::row::{Asked, Row, Series, since};
use crate::sample::Sample;
use crate::stock::Stock;

/// Compares the sample with its stock command or with cold boxes. If it asks for
/// that, also measures the same source a second time.
pub(crate) fn measure(sample: &Sample, context: &Context) -> Vec<Row> {
    let server = context.server.expect("the shared server is there");
    let what = match sample.cold_boxes {
        Some(count) => format!("{count} cold boxes"),
        None => "bare".to_owned(),
    };
    let mut run_other = other(sample, context);
    let mut theirs = Vec::new();
    let mut ours = Vec::new();
    let mut again = Vec::new();
    // The first round, which is not counted, fills the host's caches.
    for number in 0..=sample.rounds {
        let round = |kind: u32| format!("{}{number}{kind}", id());
        server.wait_for_box(&sample.language);
        theirs.push(run_other(&round(1)));
        ours.push(run(sample, &round(2), server));
        if sample.again_times.is_some() {
            again.push(run(sample, &round(2), server));
        }
    }
    let row = Row {
        name: sample.name.clone(),
        unit: "ms",
        other: Series::new(what, &theirs[1..]),
        ours: Series::new("over HTTP", &ours[1..]),
        asked: match (sample.times, sample.more_ms) {
            (Some(times), _) => Asked::Times(times),
            (_, Some(more)) => Asked::More(more),
            _ => Asked::Nothing,
        },
    };
    let second = sample.again_times.map(|times| Row {
        name: format!("{}, same source again", sample.name),
        ours: Series::new("over HTTP", &again[1..]),
        asked: Asked::Times(times),
        ..row.clone()
    });
    [row].into_iter().chain(second).collect()
}

/// Returns a function that runs a round of the sample the other way, and returns
/// the time in milliseconds.
fn other(sample: &Sample, context: &Context) -> Box<dyn FnMut(&str) -> f64> {
    if let Some(count) = sample.cold_boxes {
        let boxes = Boxes::new(&context.folder);
        return Box::new(move |_| (0..count).map(|_| boxes.one()).sum());
    }
    let stock = Stock::of(sample);
    let script = sample.stock.clone().expect("a script");
    let sample = sample.clone();
    if let Some(program) = &sample.program {
        stock.write(&sample, "");
        stock.run(&script);
        let mut command = Command::new(stock.folder().join(program));
        return Box::new(move |_| {
            let begun = Instant::now();
            let output = command.output().unwrap();
            let time = since(begun);
            assert!(output.status.success(), "{output:?}");
            time
        });
    }
    Box::new(move |round| {
        stock.write(&sample, round);
        let begun = Instant::now();
        let stdout = stock.run(&script);
        let time = since(begun);
        sample.check(round, &stdout);
        time
    })
}

fn run(sample: &Sample, round: &str, server: Target) -> f64 {
    server.wait_for_box(&sample.language);
    let (stdout, time) = server.run(1, &sample.request(round));
    sample.check(round, &stdout);
    time
}
