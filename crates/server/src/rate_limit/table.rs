//! The bounded table of the times at which requests were admitted.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

use lru::LruCache;

use crate::limits::{RATE_LIMIT_CLIENTS, RATE_LIMIT_REQUESTS};

/// A key that requests are counted by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Key {
    /// One client.
    Address(IpAddr),
    /// All clients of one IPv6 /64.
    Prefix(IpAddr),
}

/// The times of requests that were admitted, counted from a common start.
#[derive(Debug)]
pub(super) struct Table {
    window: Duration,
    /// The oldest time first. Times older than the window may linger until
    /// their client is looked at.
    logs: LruCache<Key, VecDeque<Duration>>,
    requests: usize,
}

impl Table {
    pub(super) fn new(window: Duration) -> Self {
        Self { window, logs: LruCache::unbounded(), requests: 0 }
    }

    /// Returns the number of requests of `key` in the window that ends `now`.
    pub(super) fn count(&mut self, key: Key, now: Duration) -> u32 {
        let Some(times) = self.logs.get_mut(&key) else { return 0 };
        while times.front().is_some_and(|time| *time + self.window <= now) {
            times.pop_front();
            self.requests -= 1;
        }
        u32::try_from(times.len()).unwrap_or(u32::MAX)
    }

    /// Returns the time of the oldest request in the window.
    pub(super) fn oldest(
        &mut self,
        key: Key,
        now: Duration,
    ) -> Option<Duration> {
        self.count(key, now);
        self.logs.get(&key)?.front().copied()
    }

    /// Adds a request.
    pub(super) fn record(&mut self, key: Key, now: Duration) {
        let times = self.logs.get_or_insert_mut(key, VecDeque::new);
        // Threads read their clocks before they take the lock.
        let now = times.back().map_or(now, |last| now.max(*last));
        times.push_back(now);
        self.requests += 1;
        while self.logs.len() > RATE_LIMIT_CLIENTS
            || self.requests > RATE_LIMIT_REQUESTS
        {
            let Some((_, times)) = self.logs.pop_lru() else { break };
            self.requests -= times.len();
        }
    }

    /// Removes a request that was added at this time, or as if it had been later.
    pub(super) fn take_back(&mut self, key: Key, time: Duration) {
        let Some(times) = self.logs.get_mut(&key) else { return };
        let place = times.partition_point(|other| *other < time);
        if times.remove(place).is_some() {
            self.requests -= 1;
        }
    }

    /// Returns the numbers of clients and requests held.
    #[cfg(test)]
    pub(super) fn size(&self) -> (usize, usize) {
        (self.logs.len(), self.requests)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn key(index: usize) -> Key {
        let address = u32::try_from(index).unwrap();
        Key::Address(IpAddr::V4(address.into()))
    }

    #[test]
    fn beyond_the_most_clients_the_one_idle_longest_goes() {
        let mut table = Table::new(60 * SECOND);
        let most = RATE_LIMIT_CLIENTS;
        for index in 0..most {
            table.record(key(index), Duration::ZERO);
        }
        assert_eq!(table.size(), (most, most));
        // The first has come again since.
        table.record(key(0), SECOND);
        table.record(key(most), SECOND);
        assert_eq!(table.size(), (most, most + 1));
        let counts = [0, 1, 2, most].map(|own| table.count(key(own), SECOND));
        assert_eq!(counts, [2, 0, 1, 1]);
    }

    #[test]
    fn beyond_the_most_requests_the_client_idle_longest_goes() {
        const OWN: usize = RATE_LIMIT_REQUESTS / 4;
        let mut table = Table::new(60 * SECOND);
        for index in 0..4 {
            for _ in 0..OWN {
                table.record(key(index), SECOND);
            }
        }
        assert_eq!(table.size(), (4, RATE_LIMIT_REQUESTS));
        table.record(key(4), SECOND);
        assert_eq!(table.size(), (4, RATE_LIMIT_REQUESTS - OWN + 1));
        assert_eq!(table.count(key(0), SECOND), 0);
    }
}
