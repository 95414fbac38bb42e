//! The way of a program's output to a reader while the program goes on.

use std::thread::sleep;
use std::time::Duration;

use rustix::time::{ClockId, clock_gettime};
use sandpiper_testkit::{Events, begin};
use serde_json::json;

use crate::Context;
use crate::row::{Asked, Row, Series};

const ROUNDS: usize = 100;
/// Later writes are gathered for 20 ms. Each of these is the first.
const PAUSE: Duration = Duration::from_millis(30);
/// Answers each line with the time of its write. Boxes have the host's wall clock.
const PROGRAM: &str = "import sys, time\nfor _ in sys.stdin:\n \
                       print(time.time_ns(), flush=True)";

pub(crate) fn measure(context: &Context) -> Vec<Row> {
    let address = context.server.expect("the shared server is there").address;
    let live = json!({
        "language": "python", "entryFile": "m", "interactive": true,
        "files": [{"path": "m", "content": PROGRAM}],
    });
    let post = |path: &str, body: &str| {
        let json = "Content-Type: application/json";
        begin(address, "POST", path, &[json, "Accept: text/event-stream"], body)
    };
    let mut events = Events::read(post("/api/run", &live.to_string())).unwrap();
    events.next().unwrap();
    let input = format!("/api/run/{}/input", events.run.clone().unwrap());
    let mut times = Vec::new();
    for _ in 0..=ROUNDS {
        sleep(PAUSE);
        let _sent = post(&input, r#"{"text":"\n"}"#);
        let before = events.stdout.len();
        while events.stdout.len() == before {
            events.next().expect("an answer");
        }
        let now = clock_gettime(ClockId::Realtime);
        let then: i64 = events.stdout[before..].trim().parse().unwrap();
        let past = now.tv_sec * 1_000_000_000 + now.tv_nsec - then;
        let past = Duration::from_nanos(past.unsigned_abs());
        times.push(past.as_secs_f64() * 1e3);
    }
    vec![Row {
        name: "live output, first byte".to_owned(),
        unit: "ms",
        other: Series::new("the write", &[0.0]),
        ours: Series::new("over HTTP", &times[1..]),
        asked: Asked::More(2.0),
    }]
}
