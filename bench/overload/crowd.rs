//! Clients: those who wait for their answers, ten times more than the machine
//! can do, and a hostile one.

use std::net::{Ipv4Addr, SocketAddr};
use std::time::{Duration, Instant};

use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval, sleep};

use crate::request::{Exchange, HOSTILE, ORDINARY, send};

/// A patient client comes so often, beside the crowd.
const PATIENT_EVERY: Duration = Duration::from_millis(500);
/// And comes back so often at most.
const RETURNS: usize = 4;
/// Requests that the hostile client has open at once: twice its share of the
/// queue.
const AT_ONCE: usize = 64;
/// Between an answer and the next request of these.
const PAUSE: Duration = Duration::from_millis(100);

/// What so many clients saw, each of which sends the next program when it has
/// the answer to the last and has read it.
pub(crate) async fn clients(
    server: SocketAddr,
    count: u8,
    lasts: Duration,
    reads: Duration,
) -> Vec<Exchange> {
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

/// What came of an overload.
pub(crate) struct Overload {
    /// Of those who never wait.
    pub(crate) crowd: Vec<Exchange>,
    /// Of each client who waits as it is told: all that it asked.
    pub(crate) patient: Vec<Vec<Exchange>>,
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
    let patient = tokio::spawn(async move {
        let mut ticks = interval(PATIENT_EVERY);
        let mut set = JoinSet::new();
        while begun.elapsed() < lasts {
            ticks.tick().await;
            set.spawn(patient(server, set.len(), begun + lasts));
        }
        set.join_all().await
    });
    let mut ticks = interval(Duration::from_secs_f64(1.0 / rate));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    let mut set = JoinSet::new();
    while begun.elapsed() < lasts {
        ticks.tick().await;
        let number = set.len();
        let from = client(2, number % addresses);
        set.spawn(ordinary(server, from, number));
    }
    let crowd = set.join_all().await;
    Overload { crowd, patient: patient.await.unwrap() }
}

/// What `what` gives beside one client that wants all of the machine.
pub(crate) async fn beside_hostile<T>(
    server: SocketAddr,
    what: impl Future<Output = T>,
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
    let result = what.await;
    // What it still has there is killed with its connections.
    set.shutdown().await;
    result
}

/// One of the clients of a kind, which is a number: an address of its own.
fn client(kind: u8, number: usize) -> Ipv4Addr {
    let [.., high, low] = number.to_be_bytes();
    Ipv4Addr::new(127, kind, high, low)
}

async fn ordinary(
    server: SocketAddr,
    from: Ipv4Addr,
    number: usize,
) -> Exchange {
    send(server, from, &ORDINARY[number % ORDINARY.len()]).await
}

/// A client that comes back after each wait that it is told, but no more when
/// the crowd is gone, for then everyone is admitted.
async fn patient(
    server: SocketAddr,
    number: usize,
    end: Instant,
) -> Vec<Exchange> {
    let mut asked = Vec::new();
    while asked.len() <= RETURNS {
        let seen = ordinary(server, client(3, number), number).await;
        asked.push(seen);
        match seen.retry_after() {
            Some(wait) if Instant::now() + wait < end => sleep(wait).await,
            _ => break,
        }
    }
    asked
}
