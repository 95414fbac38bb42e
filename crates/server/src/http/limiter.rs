//! The limits on connections and on the memory of their bodies: of all together,
//! and of one client. While others wait for a permit, connections that have long
//! been idle are closed.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use ipnet::IpNet;
use sandpiper_engine::client_prefix;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{Instant, timeout};

use super::body::BodyMemory;
use super::state::ConnectionState;
use crate::limits::HEAD_TIME;

/// Connections of one client that may wait for a permit of its share. Further
/// ones are closed at once: a client that opens so many reads no answer.
const MAX_WAITING: usize = 64;
/// Time for which no idle connection is evicted, so that new connections do not
/// drive each other out before their requests have come.
const MIN_IDLE_TIME: Duration = Duration::from_secs(1);
/// Time between two looks for a connection to evict.
const LOOK_AGAIN: Duration = Duration::from_millis(100);

/// Limits the connections of one or more listeners. Clones share the limits.
#[derive(Clone, Debug)]
pub(crate) struct ConnectionLimiter(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    /// Sockets, with a permit or waiting for one.
    sockets: Arc<Semaphore>,
    connections: Arc<Semaphore>,
    /// Most connections of one client.
    share: usize,
    /// These speak for many clients, so they have no share.
    proxies: Vec<IpNet>,
    clients: Mutex<HashMap<IpAddr, Client>>,
    body_memory: BodyMemory,
}

#[derive(Debug)]
struct Client {
    sockets: usize,
    share: Arc<Semaphore>,
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
    pub(crate) fn new(total: usize, share: usize, proxies: Vec<IpNet>) -> Self {
        Self(Arc::new(Inner {
            sockets: Arc::new(Semaphore::new(total.saturating_mul(2))),
            connections: Arc::new(Semaphore::new(total)),
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
        let peer = peer.to_canonical();
        let is_proxy = self.0.proxies.iter().any(|net| net.contains(&peer));
        let client = (!is_proxy).then(|| client_prefix(peer));
        let mut body_memory = Vec::new();
        if let Some(client) = client {
            let share = self.0.share;
            let mut clients = self.clients();
            let own = clients.entry(client).or_insert_with(|| Client {
                sockets: 0,
                share: Arc::new(Semaphore::new(share)),
                body_memory: BodyMemory::of_client(),
                permitted: Vec::new(),
            });
            if own.sockets >= share.saturating_add(MAX_WAITING) {
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

    /// Evicts the connection that has been idle longest: of `client`, or of
    /// the client that has most connections.
    fn evict_idle(&self, client: Option<IpAddr>) {
        let clients = self.clients();
        let now = Instant::now();
        let longest = match client {
            Some(client) => clients.get(&client).and_then(|own| own.idle(now)),
            None => {
                let idle = clients.values().filter_map(|own| {
                    Some((own.permitted.len(), own.idle(now)?))
                });
                idle.max_by_key(|(count, _)| *count).map(|(_, idle)| idle)
            }
        };
        if let Some(state) = longest {
            state.evict();
        }
    }

    fn clients(&self) -> MutexGuard<'_, HashMap<IpAddr, Client>> {
        self.0.clients.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Client {
    /// Returns the connection that has been idle longest, if that is long
    /// enough for it to be evicted.
    fn idle(&self, now: Instant) -> Option<&ConnectionState> {
        let idle = self.permitted.iter().filter_map(|state| {
            let since = state.idle_since()?;
            (since + MIN_IDLE_TIME <= now).then_some((since, &**state))
        });
        let longest = idle.min_by_key(|(since, _)| *since);
        longest.map(|(_, state)| state)
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
                self.acquire(share, Some(client)).await;
            }
        }
        let connections = Arc::clone(&self.limiter.0.connections);
        self.acquire(connections, None).await;
        self.state.restart();
        if let Some(client) = self.client {
            let mut clients = self.limiter.clients();
            if let Some(own) = clients.get_mut(&client) {
                own.permitted.push(Arc::clone(&self.state));
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
            self.limiter.evict_idle(whose);
            if let Ok(permit) = timeout(LOOK_AGAIN, &mut permit).await {
                self.held.extend(permit.ok());
                return;
            }
        }
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
    use super::*;

    #[test]
    fn a_client_that_is_gone_is_forgotten() {
        let limiter = ConnectionLimiter::new(4, 2, Vec::new());
        let client = "::ffff:192.0.2.7".parse().unwrap();
        let permits =
            (0..=2 + MAX_WAITING).map(|_| limiter.admit(client, None));
        let permits: Vec<Option<ConnectionPermit>> = permits.collect();
        assert!(permits[1 + MAX_WAITING].is_some());
        assert!(permits[2 + MAX_WAITING].is_none());
        assert_eq!(limiter.clients().len(), 1);
        drop(permits);
        assert_eq!(limiter.clients().len(), 0);
    }
}
