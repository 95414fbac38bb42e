//! Clients that send programs one after the other while parts of a fleet die.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{Scope, ScopedJoinHandle};

use sandpiper_testkit::eventually;

use crate::client::{Client, printed, prints, word};

/// The requests of all clients, while they send.
pub(crate) struct Load {
    stops: AtomicBool,
    /// The requests of each client that have ended.
    ended: Vec<AtomicUsize>,
}

/// The requests of one client.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Answers that are right.
    pub(crate) right: usize,
    /// Requests whose connection was cut or refused.
    pub(crate) cut: usize,
    /// Answers that are not right.
    pub(crate) wrong: Vec<String>,
}

impl Load {
    pub(crate) fn of(clients: usize) -> Self {
        let ended = (0..clients).map(|_| AtomicUsize::new(0)).collect();
        Self { stops: AtomicBool::new(false), ended }
    }

    /// Starts the clients, which use these balancers in turns.
    pub(crate) fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        balancers: &[SocketAddr],
    ) -> Vec<ScopedJoinHandle<'scope, Seen>> {
        let numbers = 0..self.ended.len();
        let clients = numbers.map(|number| {
            let to = balancers[number % balancers.len()];
            scope.spawn(move || self.send(number, to))
        });
        clients.collect()
    }

    /// Sends programs until the end.
    fn send(&self, number: usize, to: SocketAddr) -> Seen {
        let client = Client::new();
        let mut seen = Seen::default();
        while !self.stops.load(Ordering::Relaxed) {
            let count = self.ended[number].load(Ordering::Relaxed);
            let word = word();
            let body = prints(&word, number + count).to_string();
            let json = ["Content-Type: application/json"];
            match client.try_send(to, "POST /api/compile", &json, &body) {
                Ok(reply) if printed(&reply, &word) => seen.right += 1,
                Ok(reply) => {
                    seen.wrong.push(format!("{}{}", reply.head, reply.text()));
                }
                Err(_) => {
                    seen.cut += 1;
                    // It would try as fast as it can.
                    std::thread::sleep(std::time::Duration::from_millis(20));
                }
            }
            self.ended[number].fetch_add(1, Ordering::Relaxed);
        }
        seen
    }

    /// Waits until each client has had another two requests. The second one began
    /// after this call.
    pub(crate) fn goes_on(&self) {
        let counts = || {
            let all = self.ended.iter();
            all.map(|it| it.load(Ordering::Relaxed)).collect::<Vec<_>>()
        };
        let before = counts();
        eventually("each client has another two answers", || {
            before.iter().zip(counts()).all(|(old, new)| new >= old + 2)
        });
    }

    pub(crate) fn end(&self) {
        self.stops.store(true, Ordering::Relaxed);
    }
}
