//! The bounded table of who was admitted when.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

use lru::LruCache;

use sandpiper_engine::limits::RATE_LIMIT_CLIENTS;

use super::WINDOW;

/// Most admitted requests of all clients; they too are bounded, for a limit
/// may be in the thousands. Beyond it the client that is idle longest goes.
const MOST_REQUESTS: usize = 2_000_000;

/// What requests are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// One client.
    Address(IpAddr),
    /// All clients of an IPv6 /64: the upper 64 bits.
    Prefix(u128),
}

/// Turns promised ahead, in limits of the client: who polls moves the turns of
/// others behind the same address no further than that.
const MOST_TURNS: usize = 3;

/// The times of requests that were admitted, counted from a common start.
#[derive(Debug)]
pub(super) struct Table {
    logs: LruCache<Key, Log>,
    requests: usize,
}

#[derive(Debug, Default)]
struct Log {
    /// The oldest first. Times older than a [`WINDOW`] may linger until their
    /// client is looked at.
    times: VecDeque<Duration>,
    /// How many of the places that become free next somebody was told of.
    promised: usize,
}

impl Default for Table {
    fn default() -> Self {
        Self { logs: LruCache::unbounded(), requests: 0 }
    }
}

impl Table {
    /// Requests of `key` in the window that ends `now`.
    pub(super) fn count(&mut self, key: Key, now: Duration) -> u32 {
        let Some(log) = self.logs.get_mut(&key) else { return 0 };
        let before = log.times.len();
        while log.times.front().is_some_and(|time| *time + WINDOW <= now) {
            log.times.pop_front();
        }
        let gone = before - log.times.len();
        self.requests -= gone;
        log.promised = log.promised.saturating_sub(gone);
        u32::try_from(log.times.len()).unwrap_or(u32::MAX)
    }

    /// When the oldest request in the window was.
    pub(super) fn oldest(
        &mut self,
        key: Key,
        now: Duration,
    ) -> Option<Duration> {
        self.count(key, now);
        self.logs.get(&key)?.times.front().copied()
    }

    /// When the place becomes free that nobody was told of yet, who comes when
    /// told taking theirs; the next one is told of the one after it.
    pub(super) fn promise(
        &mut self,
        key: Key,
        now: Duration,
    ) -> Option<Duration> {
        self.count(key, now);
        let log = self.logs.get_mut(&key)?;
        let places = log.times.len();
        let rounds = u32::try_from(log.promised.checked_div(places)?).ok()?;
        let place = log.times.get(log.promised % places)?;
        log.promised = (log.promised + 1).min(places * MOST_TURNS);
        Some(*place + WINDOW * (rounds + 1))
    }

    /// Adds a request.
    pub(super) fn record(&mut self, key: Key, now: Duration) {
        let log = self.logs.get_or_insert_mut(key, Log::default);
        // Threads read their clocks before they take the lock.
        let now = log.times.back().map_or(now, |last| now.max(*last));
        log.times.push_back(now);
        self.requests += 1;
        while self.logs.len() > RATE_LIMIT_CLIENTS
            || self.requests > MOST_REQUESTS
        {
            let Some((_, log)) = self.logs.pop_lru() else { break };
            self.requests -= log.times.len();
        }
    }

    /// Clients and requests held.
    #[cfg(test)]
    pub(super) fn size(&self) -> (usize, usize) {
        (self.logs.len(), self.requests)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_clients_and_many_requests_are_bounded() {
        let mut table = Table::default();
        let key = |index: u32| Key::Address(IpAddr::V4(index.into()));
        for index in 0..1_000_000 {
            table.record(key(index), Duration::from_nanos(index.into()));
        }
        assert_eq!(table.size(), (RATE_LIMIT_CLIENTS, RATE_LIMIT_CLIENTS));
        let now = Duration::from_secs(1);
        assert_eq!(table.count(key(0), now), 0);
        assert_eq!(table.count(key(999_999), now), 1);
        for index in 0..40 {
            for _ in 0..200_000 {
                table.record(key(index), now);
            }
        }
        let (clients, requests) = table.size();
        assert!(requests <= MOST_REQUESTS, "{requests}");
        assert!(clients <= MOST_REQUESTS / 200_000, "{clients}");
    }
}
