//! More runs than there are ready boxes, and a run while boxes are made for
//! others.

use std::time::{Duration, Instant};

use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinSet;

use crate::client::Asked;
use crate::row::{Bound, Row, Series, Unit};
use crate::sample::Sample;
use crate::throughput;
use sandpiper_testkit::Server;

/// How often a burst comes.
const BURSTS: usize = 10;
/// Runs of a burst, for each box that is ready.
const TIMES: usize = 3;
/// Runs beside a refill.
const ROUNDS: usize = 20;

pub(crate) fn measure(server: Asked) -> Vec<Row> {
    let mut rows = burst(server);
    rows.push(refill(server));
    rows
}

/// A burst beyond the ready boxes, beside as many runs one after the other on
/// a server that makes no box ahead.
fn burst(server: Asked) -> Vec<Row> {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let sample = Sample::named("python hello");
    let only = format!("--languages={}", sample.language);
    let flags = [&only, "--compile-rate-limit=0", "--warm-memory=0"];
    let without = Server::spawn(&flags, None);
    without.wait_until_ready();
    let cold = Asked::of(&without);
    server.wait_for_box(&sample.language);
    let ready = server.ready(&sample.language);
    let count = TIMES * usize::try_from(ready).unwrap();
    let mut single = (Vec::new(), Vec::new());
    let mut together = (Vec::new(), Vec::new());
    for _ in 0..BURSTS {
        server.wait_for_box(&sample.language);
        let before = server.cold_runs(&sample.language);
        let (whole, times) = at_once(&runtime, &sample, server, count);
        together.0.push(whole);
        together.1.extend(times);
        let were_cold = server.cold_runs(&sample.language) - before;
        assert!(were_cold > 0, "{ready} ready boxes were enough for {count}");

        let begun = Instant::now();
        for client in 0..count {
            let run = timed(&sample, cold, client);
            single.1.push(runtime.block_on(run));
        }
        single.0.push(begun.elapsed());
    }
    let row = |name: String, ours: &[Duration], other: &[Duration]| Row {
        name,
        unit: Unit::Milliseconds,
        ours: Series::of_times("at once", ours),
        other: Some(Series::of_times("one by one, cold", other)),
        bound: Bound::Nothing,
    };
    let name = format!("python hello, a burst of {count}");
    let all = format!("{name}, all of it");
    vec![row(name, &together.1, &single.1), row(all, &together.0, &single.0)]
}

/// So many runs of clients that all come at once: until the last was answered,
/// and each.
fn at_once(
    runtime: &Runtime,
    sample: &Sample,
    server: Asked,
    count: usize,
) -> (Duration, Vec<Duration>) {
    runtime.block_on(async {
        let begun = Instant::now();
        let mut set = JoinSet::new();
        for client in 0..count {
            set.spawn(timed(sample, server, client));
        }
        let times = set.join_all().await;
        (begun.elapsed(), times)
    })
}

/// One run of this client, with a connection of its own.
fn timed(
    sample: &Sample,
    server: Asked,
    client: usize,
) -> impl Future<Output = Duration> + 'static {
    let request = sample.request("0");
    let expected = sample.stdout.clone().unwrap();
    async move {
        let begun = Instant::now();
        let stdout = throughput::run(server.address, client, &request).await;
        assert_eq!(stdout, expected);
        begun.elapsed()
    }
}

/// A run of C, whose artifact is kept, while the box that a run of Java took
/// is replaced; beside one while nothing is made.
fn refill(server: Asked) -> Row {
    let c = Sample::named("c hello");
    let java = Sample::named("java hello");
    let run = |sample: &Sample, round: &str| {
        let (stdout, time) = server.run(&sample.request(round), || ());
        sample.check(round, &stdout);
        time
    };
    let mut quiet = Vec::new();
    let mut beside = Vec::new();
    for number in 0..=ROUNDS {
        server.wait_for_box(&c.language);
        quiet.push(run(&c, "0"));
        server.wait_for_box(&java.language);
        let full = server.ready(&java.language);
        run(&java, &format!("{}{number}", std::process::id()));
        // It begins when that run is over.
        std::thread::sleep(Duration::from_millis(20));
        beside.push(run(&c, "0"));
        let now = server.ready(&java.language);
        assert!(now < full, "Java's boxes were refilled before: {now}");
    }
    Row {
        name: "c hello, same source again, beside a refill".to_owned(),
        unit: Unit::Milliseconds,
        ours: Series::of_times("Java is refilled", &beside[1..]),
        other: Some(Series::of_times("nothing is made", &quiet[1..])),
        bound: Bound::Nothing,
    }
}
