//! The load: clients that ask together for ten times more than the machine can do,
//! clients that read their answers, a hostile one, and a class.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::request::{HOSTILE, ORDINARY, TimedRequest, send};

/// Requests that the hostile client has open at once: twice its share of the
/// queue.
const AT_ONCE: usize = 64;
/// The time between an answer and the next request of the hostile client.
const PAUSE: Duration = Duration::from_millis(100);
/// Clients of the class. They have one address.
const CLASS: usize = 30;
/// A client of the class asks at most this often.
const MAX_ATTEMPTS: usize = 5;

/// Sends the requests of `count` clients, each of which waits for its answer
/// and reads it before it sends the next program.
pub(crate) async fn clients(
    server: SocketAddr,
    count: u8,
    lasts: Duration,
    reads: Duration,
) -> Vec<TimedRequest> {
    let begun = Instant::now();
    let clients = (0..count).map(|number| async move {
        // Neither all at the same moment nor all with the same program.
        sleep(reads * number.into() / count.into()).await;
        let mut seen = Vec::new();
        while begun.elapsed() < lasts {
            let next = usize::from(number) + seen.len();
            let from = client(1, number.into());
            seen.push(ordinary(server, from, next).await);
            sleep(reads).await;
        }
        seen
    });
    let seen = clients.collect::<JoinSet<_>>().join_all().await;
    seen.into_iter().flatten().collect()
}

/// Sends `rate` requests a second from `addresses` clients, whatever they are
/// answered.
pub(crate) async fn overload(
    server: SocketAddr,
    rate: f64,
    addresses: usize,
    lasts: Duration,
) -> Vec<TimedRequest> {
    let begun = Instant::now();
    let mut ticks = interval(Duration::from_secs_f64(1.0 / rate));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut set = JoinSet::new();
    while begun.elapsed() < lasts {
        ticks.tick().await;
        let number = set.len();
        let from = client(2, number % addresses);
        set.spawn(ordinary(server, from, number));
    }
    set.join_all().await
}

/// Sends a program of each client of a class at once, and again after each
/// refusal, as the editor does. Returns the last exchange of each client.
pub(crate) async fn class(server: SocketAddr) -> Vec<TimedRequest> {
    let clients = (0..CLASS).map(|number| async move {
        let mut last = ordinary(server, client(3, 0), number).await;
        for attempt in 1..MAX_ATTEMPTS {
            let Some(wait) = last.retry_after() else { break };
            // Clients with the same `Retry-After` spread themselves.
            let spread = Duration::from_millis((number * attempt % 10) as u64);
            sleep(wait + spread * 100).await;
            last = ordinary(server, client(3, 0), number).await;
        }
        last
    });
    clients.collect::<JoinSet<_>>().join_all().await
}

/// Awaits `other` beside one client that wants all of the machine.
pub(crate) async fn beside_hostile<T>(
    server: SocketAddr,
    other: impl Future<Output = T>,
) -> T {
    let mut set = JoinSet::new();
    for number in 0..AT_ONCE {
        set.spawn(async move {
            for program in HOSTILE.iter().cycle().skip(number % 2) {
                send(server, client(4, 0), program).await;
                sleep(PAUSE).await;
            }
        });
    }
    // Until it has all that it can have.
    sleep(PAUSE * 10).await;
    let result = other.await;
    // Its runs are killed when its connections are closed.
    set.shutdown().await;
    result
}

/// Returns the address of a client, by a number for each group of clients.
fn client(group: u8, number: usize) -> Ipv4Addr {
    let [.., high, low] = number.to_be_bytes();
    Ipv4Addr::new(127, group, high, low)
}

async fn ordinary(
    server: SocketAddr,
    from: Ipv4Addr,
    number: usize,
) -> TimedRequest {
    send(server, from, &ORDINARY[number % ORDINARY.len()]).await
}
