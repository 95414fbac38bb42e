//! Programs per second with all cores busy, compared with xargs and the stock
//! toolchain, and with more clients.

use std::thread::{available_parallelism, scope};
use std::time::{Duration, Instant};

use crate::Context;
use crate::client::Target;
use crate::row::{Asked, Row, Series};
use crate::sample::Sample;
use crate::stock::Stock;

/// The number of measurements of each way, and the approximate time of one.
const ROUNDS: usize = 3;
const TIME: Duration = Duration::from_secs(3);
/// The number of clients in the comparison with xargs: more than boxes, so that no
/// box is ever free.
const CLIENTS: usize = 8;
/// The numbers of clients among which the throughput must not differ much.
const CLIENT_COUNTS: [usize; 6] = [2, 4, 8, 16, 32, 64];

/// A program that is run again and again.
pub(crate) struct Work {
    pub(crate) sample: &'static str,
    /// The command that xargs starts once for each argument.
    stock: &'static str,
    at_least_times: f64,
}

pub(crate) const WORK: [Work; 2] = [
    Work {
        sample: "python hello",
        stock: "python3 f.py >&2 # {}",
        at_least_times: 0.65,
    },
    // The service compiles once, too.
    Work {
        sample: "c hello",
        stock: "gcc -O1 f.c -o f{} && ./f{} >&2",
        at_least_times: 6.0,
    },
];
pub(crate) fn measure(work: &Work, context: &Context) -> Vec<Row> {
    let server = context.server.expect("the shared server is there");
    let sample = Sample::named(work.sample);
    let stock = Stock::of(&sample);
    stock.write(&sample, "0");
    let [mut bare, mut ours] = [const { Vec::new() }; 2];
    for _ in 0..=ROUNDS {
        bare.push(xargs(&stock, work.stock));
        ours.push(rate(&sample, server, CLIENTS));
    }
    vec![Row {
        name: format!("{} on all cores", sample.name),
        unit: "1/s",
        other: Series::new("xargs", &bare[1..]),
        ours: Series::new("over HTTP", &ours[1..]),
        asked: Asked::AtLeastTimes(work.at_least_times),
    }]
}

/// Compares the worst number of clients with the best. They are measured in turns,
/// since a machine has slower moments.
pub(crate) fn many_clients(context: &Context) -> Vec<Row> {
    let server = context.server.expect("the shared server is there");
    let sample = Sample::named("python hello");
    let mut rates = CLIENT_COUNTS.map(|clients| (clients, Vec::new()));
    for _ in 0..ROUNDS {
        for (clients, rates) in &mut rates {
            rates.push(rate(&sample, server, *clients));
        }
    }
    let mut series = rates.map(|(clients, rates)| {
        Series::new(format!("{clients} clients"), &rates)
    });
    series.sort_by(|one, other| one.median().total_cmp(&other.median()));
    let [worst, .., best] = series;
    vec![Row {
        name: format!("{}, 2 to 64 clients", sample.name),
        unit: "1/s",
        other: best,
        ours: worst,
        asked: Asked::AtLeastTimes(0.9),
    }]
}

/// Runs a stock command for about a second, one per core at once.
fn xargs(stock: &Stock, command: &str) -> f64 {
    let cores = available_parallelism().unwrap();
    let mut count = 32_u32;
    loop {
        let begun = Instant::now();
        stock.run(&format!(
            "seq {count} | xargs -P{cores} -I{{}} sh -c '{command}' 2>lines\n\
             [ $(wc -l <lines) = {count} ]"
        ));
        let time = begun.elapsed();
        if time * 2 >= TIME {
            return f64::from(count) / time.as_secs_f64();
        }
        count *= 2;
    }
}

/// Runs the service for about a second. Each client sends its next request when it
/// has the answer to the last.
fn rate(sample: &Sample, server: Target, clients: usize) -> f64 {
    let begun = Instant::now();
    let request = &sample.request("0");
    let run_all = |client: usize| {
        let mut count = 0_u32;
        while begun.elapsed() < TIME {
            let (stdout, _) = server.run(client, request);
            sample.check("0", &stdout);
            count += 1;
        }
        count
    };
    let count: u32 = scope(|scope| {
        let threads = (1..=clients).map(|it| scope.spawn(move || run_all(it)));
        let threads: Vec<_> = threads.collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).sum()
    });
    f64::from(count) / begun.elapsed().as_secs_f64()
}
