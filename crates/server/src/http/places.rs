//! The places for connections: shared out among clients, and taken back from
//! those who only wait where others need them.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ipnet::IpNet;
use tokio::sync::{Notify, OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout};

use crate::limits::HEAD_TIME;

/// Connections of one client that may wait for a place of its share. Further
/// ones are closed at once: who opens so many reads no answer.
const WAITING: usize = 64;
/// How long a connection has its place for sure, so that newcomers do not
/// drive each other out before their requests have come.
const SETTLED: Duration = Duration::from_secs(1);
/// How soon to look again for a connection that only waits.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// All places of one or more listeners.
#[derive(Clone, Debug)]
pub(crate) struct Places(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Sockets, with a place or waiting for one.
    sockets: Arc<Semaphore>,
    places: Arc<Semaphore>,
    /// Most places of one client.
    share: usize,
    /// Whoever speaks for many clients has no share.
    proxies: Vec<IpNet>,
    clients: Mutex<HashMap<IpAddr, Client>>,
}

#[derive(Debug)]
struct Client {
    sockets: usize,
    share: Arc<Semaphore>,
    /// Its connections that have a place.
    seated: Vec<Arc<Patience>>,
}

/// Since when a connection waits for a request, and its end where its place
/// is needed.
#[derive(Debug)]
pub(crate) struct Patience {
    /// In nanoseconds from `made`, but 1 at the least; 0 where it does not.
    since: AtomicU64,
    made: Instant,
    end: Notify,
}

/// A socket's claim on a place, and then the place.
#[derive(Debug)]
pub(crate) struct Seat {
    places: Places,
    /// None for a proxy.
    client: Option<IpAddr>,
    patience: Arc<Patience>,
    held: Vec<OwnedSemaphorePermit>,
}

impl Places {
    /// `total` places, of which one client has at most `share`.
    pub(crate) fn new(total: usize, share: usize, proxies: Vec<IpNet>) -> Self {
        Self(Arc::new(Inner {
            sockets: Arc::new(Semaphore::new(total.saturating_mul(2))),
            places: Arc::new(Semaphore::new(total)),
            share,
            proxies,
            clients: Mutex::default(),
        }))
    }

    /// Resolves when one more socket may be accepted.
    pub(crate) async fn socket(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed, so that there is always a permit.
        Arc::clone(&self.0.sockets).acquire_owned().await.ok()
    }

    /// A place for `peer`, in its turn. `None` where it has too many sockets,
    /// and where there was no place for too long.
    pub(crate) async fn take(
        &self,
        peer: IpAddr,
        socket: Option<OwnedSemaphorePermit>,
    ) -> Option<Seat> {
        let mut seat = self.claim(peer, socket)?;
        let taken = timeout(HEAD_TIME, seat.take_in_turn()).await;
        taken.is_ok().then_some(seat)
    }

    /// A claim of `peer`; `None` where it has too many.
    fn claim(
        &self,
        peer: IpAddr,
        socket: Option<OwnedSemaphorePermit>,
    ) -> Option<Seat> {
        let peer = peer.to_canonical();
        let is_proxy = self.0.proxies.iter().any(|net| net.contains(&peer));
        let client = (!is_proxy).then(|| subscriber(peer));
        if let Some(client) = client {
            let share = self.0.share;
            let mut clients = self.clients();
            let own = clients.entry(client).or_insert_with(|| Client {
                sockets: 0,
                share: Arc::new(Semaphore::new(share)),
                seated: Vec::new(),
            });
            if own.sockets >= share.saturating_add(WAITING) {
                return None;
            }
            own.sockets += 1;
        }
        let patience = Arc::new(Patience::new());
        let held = socket.into_iter().collect();
        Some(Seat { places: self.clone(), client, patience, held })
    }

    /// Ends the connection that waits longest for a request, of `client` or of
    /// whoever has most.
    fn make_room(&self, client: Option<IpAddr>) {
        let clients = self.clients();
        let now = Instant::now();
        let longest = match client {
            Some(client) => clients.get(&client).and_then(|own| own.idle(now)),
            None => {
                let idle = clients
                    .values()
                    .filter_map(|own| Some((own.seated.len(), own.idle(now)?)));
                idle.max_by_key(|(seated, _)| *seated).map(|(_, idle)| idle)
            }
        };
        if let Some(patience) = longest {
            patience.end.notify_one();
        }
    }

    fn clients(&self) -> MutexGuard<'_, HashMap<IpAddr, Client>> {
        self.0.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Client {
    /// The connection that waits longest, where that is long enough.
    fn idle(&self, now: Instant) -> Option<&Patience> {
        let waiting = self.seated.iter().filter_map(|patience| {
            let since = patience.since()?;
            (since + SETTLED <= now).then_some((since, &**patience))
        });
        let longest = waiting.min_by_key(|(since, _)| *since);
        longest.map(|(_, patience)| patience)
    }
}

impl Seat {
    pub(crate) fn patience(&self) -> Arc<Patience> {
        Arc::clone(&self.patience)
    }

    async fn take_in_turn(&mut self) {
        if let Some(client) = self.client {
            let own = self
                .places
                .clients()
                .get(&client)
                .map(|own| Arc::clone(&own.share));
            if let Some(share) = own {
                self.acquire(share, Some(client)).await;
            }
        }
        self.acquire(Arc::clone(&self.places.0.places), None).await;
        self.patience.begin();
        if let Some(client) = self.client {
            let mut clients = self.places.clients();
            if let Some(own) = clients.get_mut(&client) {
                own.seated.push(Arc::clone(&self.patience));
            }
        }
    }

    async fn acquire(&mut self, from: Arc<Semaphore>, whose: Option<IpAddr>) {
        let mut permit = std::pin::pin!(from.acquire_owned());
        loop {
            if let Ok(permit) = timeout(Duration::ZERO, &mut permit).await {
                self.held.extend(permit.ok());
                return;
            }
            self.places.make_room(whose);
            if let Ok(permit) = timeout(LOOK_AGAIN, &mut permit).await {
                self.held.extend(permit.ok());
                return;
            }
        }
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        let Some(client) = self.client else { return };
        let mut clients = self.places.clients();
        let Some(own) = clients.get_mut(&client) else { return };
        own.sockets -= 1;
        own.seated.retain(|other| !Arc::ptr_eq(other, &self.patience));
        if own.sockets == 0 {
            clients.remove(&client);
        }
    }
}

impl Patience {
    fn new() -> Self {
        let (since, made) = (AtomicU64::new(0), Instant::now());
        Self { since, made, end: Notify::new() }
    }

    /// The connection waits for a request, from now on or already.
    pub(crate) fn begin(&self) {
        if self.since.load(Ordering::Relaxed) == 0 {
            let since = u64::try_from(self.made.elapsed().as_nanos());
            let since = since.unwrap_or(u64::MAX).max(1);
            self.since.store(since, Ordering::Relaxed);
        }
    }

    /// A request has come, or an answer is being sent.
    pub(crate) fn pause(&self) {
        self.since.store(0, Ordering::Relaxed);
    }

    /// Resolves when the connection is to end: it only waits and its place is
    /// needed, or it has waited for too long.
    pub(crate) async fn ended(&self) {
        loop {
            let end = self.since().unwrap_or_else(Instant::now) + HEAD_TIME;
            // A request may have come meanwhile, and another wait begun.
            tokio::select! {
                biased;
                () = self.end.notified() => {
                    if self.since().is_some() {
                        return;
                    }
                }
                () = sleep_until(end) => {
                    let now = Instant::now();
                    let is_over = |since| since + HEAD_TIME <= now;
                    if self.since().is_some_and(is_over) {
                        return;
                    }
                }
            }
        }
    }

    fn since(&self) -> Option<Instant> {
        let since = self.since.load(Ordering::Relaxed);
        (since > 0).then(|| self.made + Duration::from_nanos(since))
    }
}

/// What a client is counted by: a single subscriber has a whole IPv6 /64.
fn subscriber(address: IpAddr) -> IpAddr {
    match address {
        IpAddr::V4(_) => address,
        IpAddr::V6(v6) => Ipv6Addr::from_bits(v6.to_bits() >> 64 << 64).into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_told_apart_by_address_or_by_64_bits() {
        let check = |address: &str, expected: &str| {
            let client = subscriber(address.parse().unwrap());
            assert_eq!(client.to_string(), expected);
        };
        check("192.0.2.7", "192.0.2.7");
        check("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::");
        check("::1", "::");
    }

    #[test]
    fn a_client_that_is_gone_is_forgotten() {
        let places = Places::new(4, 2, Vec::new());
        let claim = |_| places.claim("::ffff:192.0.2.7".parse().unwrap(), None);
        let seats: Vec<Option<Seat>> = (0..=2 + WAITING).map(claim).collect();
        assert!(seats[1 + WAITING].is_some());
        assert!(seats[2 + WAITING].is_none());
        assert_eq!(places.clients().len(), 1);
        drop(seats);
        assert_eq!(places.clients().len(), 0);
    }
}
