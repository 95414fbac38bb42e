//! A server that has nothing to do: how soon it listens, and its memory
//! without boxes that are made ahead.

use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::row::{Bound, Row, Series, Unit};
use crate::usage::Usage;
use sandpiper_testkit::Server;

const STARTS: usize = 5;
/// Until the languages are looked at, and the server rests.
const REST: Duration = Duration::from_secs(12);

pub(crate) fn measure() -> Vec<Row> {
    let mut starts = Vec::new();
    let mut last = None;
    for _ in 0..STARTS {
        drop(last.take());
        let begun = Instant::now();
        // It has said where it listens when this returns.
        last = Some(Server::spawn(&["--warm-memory=0"], None));
        starts.push(begun.elapsed());
    }
    let server = last.expect("a server");
    server.wait_until_ready();
    sleep(REST);
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let megabytes = Usage::of(server.pid()).rss_bytes as f64 / 1e6;
    vec![
        Row {
            name: "start to listening".to_owned(),
            unit: Unit::Milliseconds,
            ours: Series::of_times("sandpiper", &starts),
            other: None,
            bound: Bound::Most(150.0),
        },
        Row {
            name: "memory of an idle server".to_owned(),
            unit: Unit::Megabytes,
            ours: Series::new("sandpiper", &[megabytes]),
            other: None,
            bound: Bound::Most(40.0),
        },
    ]
}
