//! Ten times as many clients as there are boxes, beside a hostile one. Each answer
//! is right, or says when to ask again; and each client has one in the end.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use crate::Test;
use crate::client::{Client, printed, prints, python, word};
use crate::fleet::{Fleet, Setup};

pub(crate) const TESTS: &[(&str, Test)] =
    &[("overload/nobody-starves", nobody_starves)];

const CLIENTS: usize = 60;
/// The requests that the hostile client has open at once.
const HOSTILE: usize = 24;

fn nobody_starves() {
    let flags = ["--compile-rate-limit=0", "--queue=4"];
    let fleet = Fleet::start(Setup { flags: &flags, ..Setup::default() });
    let to = fleet.address();
    let refused = AtomicUsize::new(0);
    let hostile = Client::new();
    let endless: Vec<_> = (0..HOSTILE)
        .map(|_| hostile.begin_run(to, &python("while True: pass")))
        .collect();
    std::thread::scope(|scope| {
        for number in 0..CLIENTS {
            let refused = &refused;
            scope.spawn(move || {
                refused.fetch_add(ask(to, number), Ordering::Relaxed);
            });
        }
    });
    drop(endless);
    let refused = refused.into_inner();
    println!("{CLIENTS} answers, {refused} refusals");
    assert!(refused > CLIENTS / 2, "{refused}: this was no overload");
    fleet.wait_for_boxes(0);
}

/// Asks until there is a right answer. Returns the number of refusals.
fn ask(to: SocketAddr, number: usize) -> usize {
    let client = Client::new();
    let mut refused = 0;
    loop {
        let word = word();
        let reply = client.run(to, &prints(&word, number));
        if reply.status != 503 {
            assert!(printed(&reply, &word), "{reply:?}");
            return refused;
        }
        reply.assert_failure_about(503, &[]);
        let wait = reply.header("retry-after").expect("a time to ask again");
        let wait: u64 = wait.parse().unwrap();
        assert!((1..=120).contains(&wait), "{wait}");
        refused += 1;
        std::thread::sleep(Duration::from_secs(wait));
    }
}
