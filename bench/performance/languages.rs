//! Programs of every language over HTTP, beside the stock toolchain of the
//! same image without a sandbox.

use std::process::Command;
use std::time::{Duration, Instant};

use crate::client::Asked;
use crate::row::{Bound, Row, Series, Unit};
use crate::sample::Sample;
use crate::stock::Stock;

/// Of a program that does nothing.
const ROUNDS: usize = 100;

/// Measures the sample, beside boxes that are not ready where it has no stock
/// command.
pub(crate) fn measure(
    sample: &Sample,
    server: Asked,
    cold_box: Option<&Series>,
) -> Vec<Row> {
    let stock = sample.stock.is_some().then(|| Stock::of(sample));
    let mut bare = Vec::new();
    let mut ours = Vec::new();
    let mut again = Vec::new();
    // The first of each fills the host's caches.
    for number in 0..=sample.rounds {
        let round = |kind: u32| format!("{}{number}{kind}", std::process::id());
        if let (Some(stock), Some(script)) = (&stock, &sample.stock) {
            let round = round(1);
            stock.write(sample, &round);
            let begun = Instant::now();
            let stdout = stock.run(script);
            bare.push(begun.elapsed());
            sample.check(&round, &stdout);
        }
        let round = round(2);
        ours.push(run(sample, &round, server));
        if sample.again_times.is_some() {
            again.push(run(sample, &round, server));
        }
    }
    rows(sample, &bare[bare.len().min(1)..], &ours[1..], &again, cold_box)
}

fn run(sample: &Sample, round: &str, server: Asked) -> Duration {
    server.wait_for_box(&sample.language);
    let (stdout, time) = server.run(&sample.request(round), || ());
    sample.check(round, &stdout);
    time
}

fn rows(
    sample: &Sample,
    bare: &[Duration],
    ours: &[Duration],
    again: &[Duration],
    cold_box: Option<&Series>,
) -> Vec<Row> {
    let ours = Series::of_times("over HTTP", ours);
    let mut first = Row {
        name: sample.name.clone(),
        unit: Unit::Milliseconds,
        ours,
        other: None,
        bound: Bound::Nothing,
    };
    if let Some(boxes) = sample.cold_boxes {
        first.other = cold_box.map(|one| one.times("cold boxes", boxes));
        first.bound = match &first.other {
            None => Bound::Nothing,
            Some(_) if sample.more_ms > 0.0 => Bound::More(sample.more_ms),
            Some(_) => Bound::Times(1.0),
        };
        return vec![first];
    }
    first.other = Some(Series::of_times("bare", bare));
    first.bound = sample.times.map_or(Bound::Nothing, Bound::Times);
    let Some(times) = sample.again_times else { return vec![first] };
    let second = Row {
        name: format!("{}, same source again", sample.name),
        ours: Series::of_times("over HTTP", &again[1..]),
        bound: Bound::Times(times),
        ..first.clone()
    };
    vec![first, second]
}

/// A C program that does nothing, compiled before, in a box that is ready;
/// beside starting what the image's compiler makes of it, which the dynamic
/// loader has to load in both.
pub(crate) fn nothing(server: Asked) -> Row {
    let sample = Sample {
        name: "a C program that does nothing, box ready".to_owned(),
        language: "c".to_owned(),
        image: "native".to_owned(),
        rounds: ROUNDS,
        entry: "f.c".to_owned(),
        files: [("f.c".to_owned(), "int main(void) {}\n".to_owned())].into(),
        stdout: Some(String::new()),
        contains: Vec::new(),
        stock: None,
        packages: None,
        times: None,
        again_times: None,
        cold_boxes: None,
        more_ms: 0.0,
    };
    let stock = Stock::of(&sample);
    stock.write(&sample, "");
    stock.run("gcc -O1 f.c -o f");
    let program = stock.folder().join("f");
    let mut bare = Vec::new();
    let mut ours = Vec::new();
    for _ in 0..=ROUNDS {
        server.wait_for_box(&sample.language);
        let begun = Instant::now();
        let output = Command::new(&program).output().unwrap();
        bare.push(begun.elapsed());
        assert!(output.status.success());
        ours.push(run(&sample, "", server));
    }
    Row {
        name: sample.name,
        unit: Unit::Milliseconds,
        ours: Series::of_times("over HTTP", &ours[1..]),
        other: Some(Series::of_times("fork and exec", &bare[1..])),
        bound: Bound::Nothing,
    }
}
