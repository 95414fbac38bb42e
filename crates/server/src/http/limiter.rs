//! The limits on connections and on the memory of their bodies: of all together,
//! and of one client. While others wait for a permit, connections whose clients
//! keep the server waiting are evicted.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use sandpiper_engine::client_prefix;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, sleep_until, timeout};

use super::Proxies;
use super::body::BodyMemory;
use super::state::ConnectionState;
use crate::limits::{CLIENT_CONNECTIONS_WAITING, HEAD_TIME};

/// Time between two looks for connections to evict.
const LOOK_AGAIN: Duration = Duration::from_millis(10);

/// Limits the connections of one or more listeners. Clones share the limits.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionLimiter(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Sockets, with a permit or waiting for one.
    sockets: Arc<Semaphore>,
    connections: Arc<Limit>,
    /// Maximum number of connections of one client.
    share: usize,
    /// These speak for many clients, so they have no share.
    proxies: Arc<Proxies>,
    clients: Mutex<HashMap<IpAddr, ClientConnections>>,
    body_memory: BodyMemory,
}

/// The permits of all connections or of one client, and who waits for them.
#[derive(Debug)]
struct Limit {
    permits: Arc<Semaphore>,
    waiting: AtomicUsize,
    /// One of those that wait has this lock. It looks for connections to evict
    /// for all of them, from this time on: a look locks every state.
    next_look: tokio::sync::Mutex<Instant>,
}

/// Counts one that waits.
struct Waiting<'a>(&'a Limit);

#[derive(Debug)]
struct ClientConnections {
    sockets: usize,
    share: Arc<Limit>,
    body_memory: BodyMemory,
    /// Its connections that have a permit.
    permitted: Vec<Arc<ConnectionState>>,
}

/// The right of a socket to wait for its turn, and then to be a connection.
#[derive(Debug)]
pub(crate) struct ConnectionPermit {
    limiter: ConnectionLimiter,
    /// `None` for a proxy.
    client: Option<IpAddr>,
    state: Arc<ConnectionState>,
    held: Vec<OwnedSemaphorePermit>,
}

impl ConnectionLimiter {
    /// Returns a limiter of `total` connections, of which one client has at
    /// most `share`.
    pub(crate) fn new(
        total: usize,
        share: usize,
        proxies: Arc<Proxies>,
    ) -> Self {
        Self(Arc::new(Inner {
            sockets: Arc::new(Semaphore::new(total.saturating_mul(2))),
            connections: Arc::new(Limit::new(total)),
            share,
            proxies,
            clients: Mutex::default(),
            body_memory: BodyMemory::of_all(),
        }))
    }

    /// Waits until one more socket may be accepted.
    pub(crate) async fn socket(&self) -> Option<OwnedSemaphorePermit> {
        // The semaphore is never closed, so that there is always a permit.
        Arc::clone(&self.0.sockets).acquire_owned().await.ok()
    }

    /// Waits for a permit for a connection of `peer`. Returns `None` if the
    /// client has too many sockets, or has waited for too long.
    pub(crate) async fn acquire(
        &self,
        peer: IpAddr,
        socket: Option<OwnedSemaphorePermit>,
    ) -> Option<ConnectionPermit> {
        let mut permit = self.admit(peer, socket)?;
        let acquired = timeout(HEAD_TIME, permit.acquire_all()).await;
        acquired.is_ok().then_some(permit)
    }

    /// Lets a socket of `peer` wait. Returns `None` if the client has too many.
    fn admit(
        &self,
        peer: IpAddr,
        socket: Option<OwnedSemaphorePermit>,
    ) -> Option<ConnectionPermit> {
        let is_proxy = self.0.proxies.contains(peer);
        let client = (!is_proxy).then(|| client_prefix(peer.to_canonical()));
        let mut body_memory = Vec::new();
        if let Some(client) = client {
            let share = self.0.share;
            let mut clients = self.clients();
            let own =
                clients.entry(client).or_insert_with(|| ClientConnections {
                    sockets: 0,
                    share: Arc::new(Limit::new(share)),
                    body_memory: BodyMemory::of_client(),
                    permitted: Vec::new(),
                });
            if own.sockets >= share.saturating_add(CLIENT_CONNECTIONS_WAITING) {
                return None;
            }
            own.sockets += 1;
            body_memory.push(own.body_memory.clone());
        }
        body_memory.push(self.0.body_memory.clone());
        let state = Arc::new(ConnectionState::new(body_memory));
        let held = socket.into_iter().collect();
        Some(ConnectionPermit { limiter: self.clone(), client, state, held })
    }

    /// Evicts so many connections for which the server has waited longest: of
    /// `client`, or each of the client that has most connections then.
    fn evict(&self, client: Option<IpAddr>, count: usize) {
        let clients = self.clients();
        let now = Instant::now();
        let mut evictable: Vec<_> = clients
            .iter()
            .filter(|(other, _)| client.is_none_or(|own| own == **other))
            .flat_map(|(_, own)| own.evictable(now))
            .collect();
        evictable.sort_by_key(|(left, since, _)| (Reverse(*left), *since));
        for (_, _, state) in evictable.into_iter().take(count) {
            state.evict();
        }
    }

    fn clients(&self) -> MutexGuard<'_, HashMap<IpAddr, ClientConnections>> {
        self.0.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ClientConnections {
    /// Returns the connections that can be evicted, longest waited for first:
    /// how many connections are left before each, since when the server waits
    /// for it, and its state.
    fn evictable(
        &self,
        now: Instant,
    ) -> impl Iterator<Item = (usize, Instant, &ConnectionState)> {
        let evictable = self.permitted.iter().filter_map(|state| {
            state.evictable_since(now).map(|since| (since, &**state))
        });
        let mut evictable: Vec<_> = evictable.collect();
        evictable.sort_by_key(|(since, _)| *since);
        let left = (0..=self.permitted.len()).rev();
        left.zip(evictable).map(|(left, (since, state))| (left, since, state))
    }
}

impl Limit {
    fn new(permits: usize) -> Self {
        Self {
            permits: Arc::new(Semaphore::new(permits)),
            waiting: AtomicUsize::new(0),
            next_look: tokio::sync::Mutex::new(Instant::now()),
        }
    }

    fn wait(&self) -> Waiting<'_> {
        self.waiting.fetch_add(1, Ordering::Relaxed);
        Waiting(self)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

impl ConnectionPermit {
    pub(super) fn state(&self) -> &Arc<ConnectionState> {
        &self.state
    }

    async fn acquire_all(&mut self) {
        if let Some(client) = self.client {
            let share = self
                .limiter
                .clients()
                .get(&client)
                .map(|own| Arc::clone(&own.share));
            if let Some(share) = share {
                self.acquire(&share, Some(client)).await;
            }
        }
        let connections = Arc::clone(&self.limiter.0.connections);
        self.acquire(&connections, None).await;
        self.state.restart();
        if let Some(client) = self.client {
            let mut clients = self.limiter.clients();
            if let Some(own) = clients.get_mut(&client) {
                own.permitted.push(Arc::clone(&self.state));
            }
        }
    }

    async fn acquire(&mut self, limit: &Limit, whose: Option<IpAddr>) {
        let _waiting = limit.wait();
        let permit = Arc::clone(&limit.permits).acquire_owned();
        let evict = async {
            let mut next_look = limit.next_look.lock().await;
            loop {
                sleep_until(*next_look).await;
                *next_look = Instant::now() + LOOK_AGAIN;
                let waiting = limit.waiting.load(Ordering::Relaxed);
                self.limiter.evict(whose, waiting);
            }
        };
        let permit = tokio::select! {
            biased;
            permit = permit => permit,
            never = evict => never,
        };
        self.held.extend(permit.ok());
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let Some(client) = self.client else { return };
        let mut clients = self.limiter.clients();
        let Some(own) = clients.get_mut(&client) else { return };
        own.sockets -= 1;
        own.permitted.retain(|other| !Arc::ptr_eq(other, &self.state));
        if own.sockets == 0 {
            clients.remove(&client);
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;
    use crate::http::state::MIN_WAIT;

    #[test]
    fn a_client_that_is_gone_is_forgotten() {
        let limiter = ConnectionLimiter::new(4, 2, Arc::default());
        let client = "::ffff:192.0.2.7".parse().unwrap();
        let permits = (0..=2 + CLIENT_CONNECTIONS_WAITING)
            .map(|_| limiter.admit(client, None));
        let permits: Vec<Option<ConnectionPermit>> = permits.collect();
        assert!(permits[1 + CLIENT_CONNECTIONS_WAITING].is_some());
        assert!(permits[2 + CLIENT_CONNECTIONS_WAITING].is_none());
        assert_eq!(limiter.clients().len(), 1);
        drop(permits);
        assert_eq!(limiter.clients().len(), 0);
    }

    #[tokio::test(start_paused = true)]
    async fn as_many_are_evicted_as_wait() {
        let limiter = ConnectionLimiter::new(9, 9, Arc::default());
        let mut permits = Vec::new();
        for client in [1, 2, 2, 2, 3, 3] {
            let client = [192, 0, 2, client].into();
            permits.push(limiter.acquire(client, None).await.unwrap());
            advance(MIN_WAIT).await;
        }
        let check = async |count: usize, expected: &[usize]| {
            limiter.evict(None, count);
            let mut evicted = Vec::new();
            for (index, permit) in permits.iter().enumerate() {
                let expired = permit.state.expired();
                if timeout(Duration::ZERO, expired).await.is_ok() {
                    evicted.push(index);
                }
            }
            assert_eq!(evicted, expected, "{count}");
        };
        check(0, &[]).await;
        check(1, &[1]).await;
        // The second client has as many as the third then, and came first.
        check(3, &[1, 2, 4]).await;
        check(4, &[0, 1, 2, 4]).await;
        permits.iter().for_each(|permit| permit.state.begin_request());
        check(9, &[]).await;
    }
}
