//! Crowds of clients: one after the other, as many as there are boxes, and
//! ten times more than the machine can do.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::request::{Answer, Exchange, ORDINARY, send};

/// Which clients these are: the second number of their addresses.
const ALONE: u8 = 1;
const ENOUGH: u8 = 2;
const CROWD: u8 = 3;
const PATIENT: u8 = 4;
/// A patient client comes so often, beside the crowd.
const PATIENT_EVERY: Duration = Duration::from_millis(500);
/// And comes back so often at most.
const RETURNS: usize = 4;

/// One of the clients of a kind.
pub(crate) fn client(kind: u8, number: usize) -> Ipv4Addr {
    let [.., high, low] = number.to_be_bytes();
    Ipv4Addr::new(127, kind, high, low)
}

/// A patient client from its first request on.
pub(crate) struct Patient {
    /// What it asked, each time after the wait it was told.
    pub(crate) asked: Vec<Exchange>,
}

/// What came of an overload.
pub(crate) struct Overload {
    pub(crate) begun: Instant,
    pub(crate) lasted: Duration,
    /// Those who never wait.
    pub(crate) crowd: Vec<Exchange>,
    pub(crate) patient: Vec<Patient>,
}

/// Programs one after the other.
pub(crate) async fn one_by_one(
    server: SocketAddr,
    rounds: usize,
) -> Vec<Exchange> {
    let mut seen = Vec::new();
    for number in 0..rounds * ORDINARY.len() {
        let program = &ORDINARY[number % ORDINARY.len()];
        let from = client(ALONE, number);
        seen.push(send(server, from, program, number as u64).await);
    }
    seen
}

/// What the machine can do, in runs a second, and these: `clients` who send the next
/// program when they have the answer to the last.
pub(crate) async fn capacity(
    server: SocketAddr,
    clients: usize,
    lasts: Duration,
) -> (f64, Vec<Exchange>) {
    let begun = Instant::now();
    let mut set = JoinSet::new();
    for number in 0..clients {
        set.spawn(async move {
            let mut seen = Vec::new();
            while begun.elapsed() < lasts {
                let next = number + seen.len();
                let program = &ORDINARY[next % ORDINARY.len()];
                let from = client(ENOUGH, number);
                seen.push(send(server, from, program, next as u64).await);
            }
            seen
        });
    }
    let seen = set.join_all().await.into_iter().flatten();
    let seen: Vec<Exchange> =
        seen.filter(|exchange| exchange.without_queue().is_some()).collect();
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let rate = seen.len() as f64 / begun.elapsed().as_secs_f64();
    (rate, seen)
}

/// `rate` requests a second from `addresses` clients, whatever becomes of
/// them; and beside these, clients who wait as they are told.
pub(crate) async fn overload(
    server: SocketAddr,
    rate: f64,
    addresses: usize,
    lasts: Duration,
) -> Overload {
    let begun = Instant::now();
    let patient = tokio::spawn(all_patient(server, begun, lasts));
    let mut ticks = interval(Duration::from_secs_f64(1.0 / rate));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut set = JoinSet::new();
    let mut crowd = Vec::new();
    for number in 0.. {
        ticks.tick().await;
        if begun.elapsed() >= lasts {
            break;
        }
        let program = &ORDINARY[number % ORDINARY.len()];
        let from = client(CROWD, number % addresses);
        set.spawn(send(server, from, program, number as u64));
        while let Some(ended) = set.try_join_next() {
            crowd.extend(ended);
        }
    }
    let lasted = begun.elapsed();
    crowd.extend(set.join_all().await);
    let patient = patient.await.unwrap_or_default();
    Overload { begun, lasted, crowd, patient }
}

async fn all_patient(
    server: SocketAddr,
    begun: Instant,
    lasts: Duration,
) -> Vec<Patient> {
    let mut ticks = interval(PATIENT_EVERY);
    let mut set = JoinSet::new();
    for number in 0.. {
        ticks.tick().await;
        if begun.elapsed() >= lasts {
            break;
        }
        set.spawn(one_patient(server, number, begun + lasts));
    }
    set.join_all().await
}

async fn one_patient(
    server: SocketAddr,
    number: usize,
    end: Instant,
) -> Patient {
    let mut asked = Vec::new();
    for time in 0..=RETURNS {
        let program = &ORDINARY[number % ORDINARY.len()];
        let word = number * (RETURNS + 1) + time;
        let from = client(PATIENT, number);
        let seen = send(server, from, program, word as u64).await;
        asked.push(seen);
        let Answer::Refused { retry_after } = seen.answer else { break };
        // Without the crowd everyone is admitted.
        if Instant::now() + retry_after >= end {
            break;
        }
        sleep(retry_after).await;
    }
    Patient { asked }
}
