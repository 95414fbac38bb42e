//! The clients of a soak: they send a starter program and an attack in turns,
//! look at the answers, and now and then go away before there is one.

use std::fmt;
use std::io::Write;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};
use std::thread::{scope, sleep};
use std::time::Duration;

use serde::Serialize;

use crate::programs::Program;
use sandpiper_testkit::Server;

/// One in so many is sent by a client that goes away.
const LEFT: usize = 9;
/// After so long.
const LEFT_AFTER: Duration = Duration::from_millis(300);
/// Wrong answers beyond so many are counted only.
const TOLD: usize = 20;

/// Everyone who sends, and what they saw.
pub(crate) struct Clients<'a> {
    server: &'a Server,
    /// What no answer may hold.
    secret: String,
    starters: Vec<Program>,
    attacks: Vec<Program>,
    pause: Duration,
    /// Programs sent.
    count: AtomicUsize,
    /// Held for each program; by one alone, nothing is sent.
    gate: RwLock<()>,
    is_over: AtomicBool,
    tally: Mutex<Tally>,
}

/// What came of the programs.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Tally {
    pub(crate) starters: u64,
    pub(crate) attacks: u64,
    /// Those whose client went away.
    pub(crate) left: u64,
    /// Wrong answers; the first of them are told.
    pub(crate) wrong: u64,
    pub(crate) faults: Vec<String>,
}

impl<'a> Clients<'a> {
    pub(crate) fn new(
        server: &'a Server,
        secret: String,
        starters: Vec<Program>,
        attacks: Vec<Program>,
        pause: Duration,
    ) -> Self {
        Self {
            server,
            secret,
            starters,
            attacks,
            pause,
            count: AtomicUsize::new(0),
            gate: RwLock::new(()),
            is_over: AtomicBool::new(false),
            tally: Mutex::default(),
        }
    }

    /// That many clients send until `what` is done.
    pub(crate) fn beside<T>(&self, clients: u8, what: impl FnOnce() -> T) -> T {
        scope(|scope| {
            for number in 1..=clients {
                scope.spawn(move || self.send_all(number));
            }
            let result = what();
            self.is_over.store(true, Ordering::Relaxed);
            result
        })
    }

    /// Does `what` while nothing is sent, and nobody waits for an answer.
    pub(crate) fn held<T>(&self, what: impl FnOnce() -> T) -> T {
        let _alone = self.gate.write().unwrap_or_else(PoisonError::into_inner);
        what()
    }

    /// Whether every program was sent.
    pub(crate) fn has_sent_all(&self) -> bool {
        let most = self.starters.len().max(self.attacks.len());
        self.count.load(Ordering::Relaxed) >= 2 * most
    }

    pub(crate) fn summary(&self) -> String {
        self.tally.lock().unwrap().to_string()
    }

    pub(crate) fn into_tally(self) -> Tally {
        self.tally.into_inner().unwrap()
    }

    fn send_all(&self, client: u8) {
        while !self.is_over.load(Ordering::Relaxed) {
            {
                let gate = self.gate.read();
                let _gate = gate.unwrap_or_else(PoisonError::into_inner);
                self.send_next(client);
            }
            sleep(self.pause);
        }
    }

    fn send_next(&self, client: u8) {
        let count = self.count.fetch_add(1, Ordering::Relaxed);
        let of = if count.is_multiple_of(2) {
            &self.starters
        } else {
            &self.attacks
        };
        let program = &of[count / 2 % of.len()];
        if count % LEFT == LEFT - 1 {
            self.send_and_leave(program, client);
            self.tally.lock().unwrap().left += 1;
            return;
        }
        let headers = ["Content-Type: application/json", &header(client)];
        let reply = self.server.send(
            "POST",
            "/api/compile",
            &headers,
            &program.request,
        );
        let fault = if reply.status != 200 {
            Some(format!("{}: {}", reply.status, reply.text()))
        } else if reply.text().contains(&self.secret) {
            Some("it read what it may not".to_owned())
        } else {
            wrong(program, &reply)
        };
        let mut tally = self.tally.lock().unwrap();
        match program.expected {
            Some(_) => tally.starters += 1,
            None => tally.attacks += 1,
        }
        let Some(fault) = fault else { return };
        tally.wrong += 1;
        if tally.faults.len() < TOLD {
            tally.faults.push(format!("{}: {fault}", program.name));
        }
    }

    fn send_and_leave(&self, program: &Program, client: u8) {
        let mut stream = self.server.connect();
        let head = format!(
            "POST /api/compile HTTP/1.1\r\nHost: x\r\n\
             Content-Type: application/json\r\n{}\r\n\
             Content-Length: {}\r\n\r\n",
            header(client),
            program.request.len()
        );
        let request = head + &program.request;
        stream.write_all(request.as_bytes()).expect("the server reads");
        sleep(LEFT_AFTER);
    }
}

/// Each client has an address of its own.
fn header(client: u8) -> String {
    format!("X-Forwarded-For: 192.0.2.{client}")
}

/// What is wrong with the answer to a program whose output is known.
fn wrong(
    program: &Program,
    reply: &sandpiper_testkit::Reply,
) -> Option<String> {
    let expected = program.expected.as_ref()?;
    let answer = reply.json();
    let stdout = answer["stdout"].as_str().unwrap_or_default();
    let exit = reply.header("sandpiper-exit").unwrap_or_default();
    let is_right = expected.is(stdout) && exit == "stage=run; code=0";
    (!is_right).then(|| {
        let text: String = reply.text().chars().take(500).collect();
        format!("{exit}: {text}")
    })
}

impl fmt::Display for Tally {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { starters, attacks, left, wrong, .. } = self;
        write!(
            formatter,
            "{starters} starters, {attacks} attacks, {left} left by their \
             client, {wrong} wrong"
        )
    }
}
