//! Clients that send programs one after the other while parts of a fleet die.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread::Scope;
use std::time::{Duration, Instant};

use sandpiper_testkit::{Reply, eventually};

use crate::client::{Client, JSON, printed, prints, word};

/// A request whose connection was cut or refused, or that was answered that the
/// catalogue cannot be reached.
#[derive(Clone, Debug)]
pub(crate) struct Failure {
    /// The balancer.
    pub(crate) to: SocketAddr,
    pub(crate) begun: Instant,
    pub(crate) ended: Instant,
    /// The error (see [`CUT_BODY`](crate::client::CUT_BODY)), or the answer's
    /// message.
    pub(crate) reason: String,
}

/// The failed requests of many clients.
#[derive(Debug, Default)]
pub(crate) struct Failures(Mutex<Vec<Failure>>);

impl Failures {
    /// Sends a request. Returns no answer if its connection is cut or refused.
    pub(crate) fn send(
        &self,
        client: Client,
        to: SocketAddr,
        head: &str,
        body: &str,
    ) -> Option<Reply> {
        let begun = Instant::now();
        let reason = match client.try_send(to, head, &[JSON], body) {
            Ok(reply) => return Some(reply),
            Err(reason) => reason.to_string(),
        };
        self.add(to, begun, &reason);
        // The client would try as fast as it can.
        std::thread::sleep(Duration::from_millis(20));
        None
    }

    /// Adds a request that began then, and has ended for this reason.
    pub(crate) fn add(&self, to: SocketAddr, begun: Instant, reason: &str) {
        let reason = reason.to_owned();
        let failure = Failure { to, begun, ended: Instant::now(), reason };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(failure);
    }

    pub(crate) fn all(&self) -> Vec<Failure> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// The programs of all clients, while they send.
#[derive(Debug)]
pub(crate) struct Load {
    stops: AtomicBool,
    /// The requests of each client that have ended.
    ended: Vec<AtomicUsize>,
    /// Answers that are right.
    right: AtomicUsize,
    /// Answers that are not.
    wrong: Mutex<Vec<String>>,
}

impl Load {
    pub(crate) fn of(clients: usize) -> Self {
        let ended = (0..clients).map(|_| AtomicUsize::new(0)).collect();
        let (stops, right, wrong) = Default::default();
        Self { stops, ended, right, wrong }
    }

    /// Starts the clients, which use these balancers in turns.
    pub(crate) fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        balancers: &[SocketAddr],
        failures: &'scope Failures,
    ) {
        for number in 0..self.ended.len() {
            let to = balancers[number % balancers.len()];
            scope.spawn(move || self.send(number, to, failures));
        }
    }

    /// Sends programs until the end.
    fn send(&self, number: usize, to: SocketAddr, failures: &Failures) {
        let client = Client::new();
        while !self.stops.load(Ordering::Relaxed) {
            let count = self.ended[number].load(Ordering::Relaxed);
            let word = word();
            let body = prints(&word, number + count).to_string();
            match failures.send(client, to, "POST /api/compile", &body) {
                Some(reply) if printed(&reply, &word) => {
                    self.right.fetch_add(1, Ordering::Relaxed);
                }
                Some(reply) => {
                    let wrong = format!("{}{}", reply.head, reply.text());
                    self.wrong.lock().unwrap().push(wrong);
                }
                None => {}
            }
            self.ended[number].fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Waits until each client has had another two requests. The second one began
    /// after this call.
    pub(crate) fn advances(&self) {
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

    /// Fails if an answer was wrong.
    pub(crate) fn check(self) {
        let wrong = self.wrong.into_inner().unwrap();
        assert!(wrong.is_empty(), "{wrong:?}");
        println!("{} programs answered", self.right.into_inner());
    }
}
