//! Another client, whose small program must be right and fast whatever
//! others do.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::servers::{Server, client};

/// How much slower it may be than without an attack.
const SLOWER: u32 = 20;
/// The unloaded time counts as this at least: beside an attack there may be no
/// ready box, and a run that has to make one takes so long.
const MIN_UNLOADED: Duration = Duration::from_millis(25);
/// Runs that are measured without one, and of which one must be fast enough
/// when an attack has ended.
const TRIES: usize = 5;

pub(crate) struct Bystander {
    /// The median without an attack, whatever else the machine does.
    unloaded: Duration,
}

impl Bystander {
    pub(crate) fn now(server: &Server) -> Result<Self, String> {
        let times: Result<Vec<_>, _> =
            (0..TRIES).map(|_| hello(server)).collect();
        Ok(Self { unloaded: median(&mut times?) })
    }

    /// Right each time, and fast once: other tests may run beside this one.
    pub(crate) fn comes_after(&self, server: &Server) -> Result<(), String> {
        let mut times = Vec::new();
        for _ in 0..TRIES {
            times.push(hello(server)?);
            if times.iter().min().is_some_and(|time| self.is_fast(*time)) {
                return Ok(());
            }
        }
        Err(self.report("after it, hello takes", &times))
    }

    /// Right each time and mostly fast, as long as the attack goes on.
    pub(crate) fn lives_beside(
        &self,
        server: &Server,
        is_over: impl Fn() -> bool,
    ) -> Result<(), String> {
        let mut times = vec![hello(server)?];
        while !is_over() {
            times.push(hello(server)?);
        }
        if self.is_fast(median(&mut times)) {
            return Ok(());
        }
        Err(self.report("beside it, hello takes", &times))
    }

    fn is_fast(&self, time: Duration) -> bool {
        time <= self.unloaded.max(MIN_UNLOADED) * SLOWER
    }

    fn report(&self, what: &str, times: &[Duration]) -> String {
        format!("{what} {times:?}, and {:?} unloaded", self.unloaded)
    }
}

fn median(times: &mut [Duration]) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// One run of it, from the first byte to the last.
fn hello(server: &Server) -> Result<Duration, String> {
    let request = json!({
        "language": "python",
        "entryFile": "hello.py",
        "files": [{"path": "hello.py", "content": "print('hello')"}],
    });
    let headers = ["Content-Type: application/json", &client(200)];
    let body = request.to_string();
    let start = Instant::now();
    let reply = server.send("POST", "/api/compile", &headers, body);
    let time = start.elapsed();
    if reply.text() == r#"{"stdout":"hello\n","stderr":""}"# {
        Ok(time)
    } else {
        Err(format!("hello gives {}: {}", reply.status, reply.text()))
    }
}
