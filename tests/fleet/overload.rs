//! Ten times as many clients as there are boxes, which all want several answers,
//! beside a hostile one that does not wait as it is asked to. Each answer is right, or
//! says when to ask again; and each client has all of its own in the end.

use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use sandpiper_testkit::is_full;

use crate::Test;
use crate::client::{Client, printed, prints_after, python, word};
use crate::dispatch::RUNS;
use crate::fleet::{Fleet, Setup};

pub(crate) const TESTS: &[(&str, Test)] =
    &[("overload/nobody-starves", nobody_starves)];

const CLIENTS: usize = 60;
/// How long each program takes at least, however quick the machine is. It leaves the
/// CPU to the tests beside this one.
const RUN_MS: u32 = 200;
/// The requests that the hostile client has open at once.
const HOSTILE: usize = 24;
/// A client that is refused so often, one time after the other, starves. Of 600
/// answers none took more than 39.
const MAX_REFUSALS: usize = 2 * CLIENTS;
/// Reached only by a failure: an answer takes seconds.
const PATIENCE: Duration = Duration::from_secs(600);
/// The words in which a node refuses a run for now. A balancer that says that no node
/// can answer is wrong: all are well.
const REFUSALS: [&str; 4] = [
    "too many runs are waiting already",
    "too many runs of this client are waiting already",
    "no box became free within 120 s",
    "temporarily out of resources; try again later",
];

fn nobody_starves() {
    let flags = ["--compile-rate-limit=0", "--queue=4"];
    let fleet = Fleet::start(Setup { flags: &flags, ..Setup::default() });
    let to = fleet.address();
    let rounds = if is_full() { 10 } else { 3 };
    let hostile = Hostile::start(to);
    let refused = AtomicUsize::new(0);
    let most = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let (hostile, refused, most) = (&hostile, &refused, &most);
            scope.spawn(move || {
                let client = Client::new();
                for round in 0..rounds {
                    let count = ask(client, to, number + round, hostile);
                    refused.fetch_add(count, Ordering::Relaxed);
                    most.fetch_max(count, Ordering::Relaxed);
                }
            });
        }
    });
    drop(hostile);
    let [refused, most] = [refused, most].map(AtomicUsize::into_inner);
    let answers = CLIENTS * rounds;
    println!("{answers} answers, {refused} refusals, {most} in a row at most");
    assert!(refused > answers / 2, "{refused}: this was no overload");
    fleet.wait_for_boxes(0);
    for node in &fleet.nodes {
        assert!(node.count(RUNS) > 0, "{}: {:?}", node.tag, node.metrics());
    }
}

/// Asks until there is a right answer. Returns the number of refusals.
fn ask(
    client: Client,
    to: SocketAddr,
    number: usize,
    hostile: &Hostile,
) -> usize {
    let begun = Instant::now();
    let mut refused = 0;
    loop {
        let word = word();
        let program = prints_after(&word, number, RUN_MS);
        let reply = client.run(to, &program);
        hostile.insist();
        if reply.status != 503 {
            assert!(printed(&reply, &word), "{reply:?}");
            return refused;
        }
        reply.assert_failure_about(503, &[]);
        let reason = &reply.json()["error"];
        assert!(REFUSALS.iter().any(|it| reason == it), "{reply:?}");
        let wait = reply.header("retry-after").expect("a time to ask again");
        let wait: u64 = wait.parse().unwrap();
        assert!((1..=120).contains(&wait), "{wait}");
        refused += 1;
        let is_soon = begun.elapsed() < PATIENCE;
        assert!(is_soon && refused < MAX_REFUSALS, "{number} starves");
        std::thread::sleep(Duration::from_secs(wait));
    }
}

/// A client that always has many long runs open.
struct Hostile {
    client: Client,
    to: SocketAddr,
    open: Mutex<Vec<TcpStream>>,
}

impl Hostile {
    fn start(to: SocketAddr) -> Self {
        let client = Client::new();
        let open = (0..HOSTILE).map(|_| Self::begin(client, to)).collect();
        Self { client, to, open: Mutex::new(open) }
    }

    fn begin(client: Client, to: SocketAddr) -> TcpStream {
        let long = python("import time; time.sleep(1000)");
        let stream = client.begin_run(to, &long);
        stream.set_nonblocking(true).unwrap();
        stream
    }

    /// Sends a run again, at once, if any was answered.
    fn insist(&self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        let is_answered = |it: &&mut TcpStream| it.peek(&mut [0]).is_ok();
        if let Some(answered) = open.iter_mut().find(is_answered) {
            *answered = Self::begin(self.client, self.to);
        }
    }
}
