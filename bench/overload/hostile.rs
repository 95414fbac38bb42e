//! One client that wants all of the machine, beside some who want little.

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::crowd::client;
use crate::request::{Exchange, HOSTILE, ORDINARY, send};

const HOSTILE_CLIENT: u8 = 5;
const HONEST_CLIENTS: u8 = 6;
/// Honest clients, and how long each reads its answer before the next run.
const HONEST: usize = 4;
const READS: Duration = Duration::from_secs(1);
/// Requests that the hostile client has open at once: twice its share of the
/// queue.
const AT_ONCE: usize = 64;
/// Between an answer and the next request of these.
const PAUSE: Duration = Duration::from_millis(100);

/// What the honest clients saw.
pub(crate) async fn honest(
    server: SocketAddr,
    lasts: Duration,
) -> Vec<Exchange> {
    let begun = Instant::now();
    let mut set = JoinSet::new();
    for number in 0..HONEST {
        set.spawn(async move {
            let mut seen = Vec::new();
            // Not all at the same moment.
            sleep(READS * u32::try_from(number).unwrap_or(0) / 4).await;
            while begun.elapsed() < lasts {
                let program = &ORDINARY[(number + seen.len()) % 3];
                let from = client(HONEST_CLIENTS, number);
                let word = (number * 1_000_000 + seen.len()) as u64;
                seen.push(send(server, from, program, word).await);
                sleep(READS).await;
            }
            seen
        });
    }
    set.join_all().await.into_iter().flatten().collect()
}

/// The same beside the hostile client, and how many requests that one sent.
pub(crate) async fn beside_hostile(
    server: SocketAddr,
    lasts: Duration,
) -> (Vec<Exchange>, usize) {
    let sent = Arc::new(AtomicUsize::new(0));
    let mut set = JoinSet::new();
    for _ in 0..AT_ONCE {
        let sent = Arc::clone(&sent);
        set.spawn(async move {
            loop {
                let number = sent.fetch_add(1, Ordering::Relaxed);
                let program = &HOSTILE[number % HOSTILE.len()];
                let from = client(HOSTILE_CLIENT, 0);
                send(server, from, program, number as u64).await;
                sleep(PAUSE).await;
            }
        });
    }
    // Until it has all that it can have.
    sleep(READS).await;
    let seen = honest(server, lasts).await;
    // What it still has there is killed with its connections.
    set.shutdown().await;
    (seen, sent.load(Ordering::Relaxed))
}
