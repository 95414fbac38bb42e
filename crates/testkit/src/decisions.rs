//! The decisions of a Valkey about the requests of a client, by its own clock. It
//! reports every command, and the time of a decision is in one of them.

use std::io::{BufRead, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use crate::valkey::Valkey;

/// The last command that is read.
const LAST: &str = "no-more-decisions";

/// Reads the decisions about a client until [`Self::end`].
#[derive(Debug)]
pub struct Watch {
    reader: JoinHandle<Vec<Decision>>,
    admitted: Arc<AtomicUsize>,
}

/// Whether a request passed.
#[derive(Clone, Copy, Debug)]
pub struct Decision {
    /// The Valkey's time in µs.
    pub time: u64,
    /// Whether it passed.
    pub is_admitted: bool,
}

impl Watch {
    /// Begins to read what this Valkey decides about a client, whose requests are
    /// counted at `key` for so long. `login` are commands that go before others.
    #[must_use]
    pub fn begin(
        valkey: &Valkey,
        login: &str,
        key: &str,
        window: Duration,
    ) -> Self {
        let mut connection = valkey.connect(login);
        connection.get_mut().write_all(b"MONITOR\r\n").unwrap();
        let mut answer = String::new();
        connection.read_line(&mut answer).unwrap();
        assert_eq!(answer, "+OK\r\n");
        let (forgets, counts) = (
            format!(r#""ZREMRANGEBYSCORE" "{key}" "-inf" "#),
            format!(r#""ZADD" "{key}" "#),
        );
        let window = u64::try_from(window.as_micros()).unwrap();
        let admitted = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&admitted);
        let reader = std::thread::spawn(move || {
            let mut found: Vec<Decision> = Vec::new();
            for line in connection.lines() {
                let line = line.unwrap();
                // Each decision first forgets the requests before its window.
                if let Some((_, before)) = line.split_once(&forgets) {
                    let time = number(before) + window;
                    found.push(Decision { time, is_admitted: false });
                } else if let Some((_, counted)) = line.split_once(&counts) {
                    let last = found.last_mut().unwrap();
                    assert_eq!(number(counted), last.time, "{line}");
                    last.is_admitted = true;
                    count.fetch_add(1, Ordering::Relaxed);
                } else if line.contains(LAST) {
                    break;
                }
            }
            found
        });
        Self { reader, admitted }
    }

    /// Returns the number of requests that have passed.
    #[must_use]
    pub fn admitted(&self) -> usize {
        self.admitted.load(Ordering::Relaxed)
    }

    /// Returns all decisions until now.
    #[must_use]
    pub fn end(self, valkey: &Valkey, login: &str) -> Vec<Decision> {
        let mut connection = valkey.connect(login);
        let last = format!("ECHO {LAST}\r\n");
        connection.get_mut().write_all(last.as_bytes()).unwrap();
        self.reader.join().unwrap()
    }
}

/// Returns the number in quotes at the beginning of a text.
fn number(text: &str) -> u64 {
    let number = text.split('"').nth(1).unwrap();
    number.parse().unwrap()
}

/// Fails unless so many requests passed in any window, and no others: each one that
/// was refused had as many before it. Returns the shortest time in µs in which one
/// more than these passed.
#[expect(clippy::must_use_candidate, reason = "some only want the check")]
pub fn assert_exact(
    decisions: &[Decision],
    limit: usize,
    window: Duration,
) -> u64 {
    let window = u64::try_from(window.as_micros()).unwrap();
    let mut passed: Vec<u64> = Vec::new();
    let mut shortest = u64::MAX;
    for Decision { time, is_admitted } in decisions {
        let counts = |it: &&u64| **it + window > *time;
        let before = passed.iter().rev().take_while(counts).count();
        assert_eq!(
            *is_admitted,
            before < limit,
            "{time}: {before}, {passed:?}"
        );
        if !is_admitted {
            continue;
        }
        if let Some(place) = passed.len().checked_sub(limit) {
            shortest = shortest.min(time - passed[place]);
        }
        passed.push(*time);
    }
    assert!(shortest >= window, "{shortest}: {passed:?}");
    shortest
}
