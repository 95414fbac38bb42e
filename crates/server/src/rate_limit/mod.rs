//! How often one client may compile: an exact log of the last minute, of this
//! server alone or of several that share it.

mod shared;
mod table;

use std::cmp::Reverse;
use std::net::IpAddr;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use ipnet::IpNet;
use sandpiper_engine::client_prefix;
use sandpiper_shared::{LinkState, ServerUrl};
use tokio::time::Instant;

use crate::http::IdempotencyKey;
use crate::metrics::Shared;
use shared::SharedLimiter;
use table::{Key, Table};

/// The limit of all clients of one IPv6 /64 together, in limits of one client:
/// a single person can have the whole /64.
const CLIENTS_PER_PREFIX: u32 = 10;

/// The longest time for the answer of a Valkey. A run that takes milliseconds
/// shall not wait long for its permission.
const VALKEY_TIMEOUT: Duration = Duration::from_millis(50);

/// Counts the requests of this server, or of several.
#[derive(Debug)]
pub(crate) enum RequestLimiter {
    Own(LocalLimiter),
    Shared(SharedLimiter),
}

impl RequestLimiter {
    /// Shares the counts if any Valkey is named. Tasks of the present runtime
    /// then connect to them.
    pub(crate) fn new(
        own: LocalLimiter,
        valkeys: Vec<ServerUrl>,
        metrics: Shared,
    ) -> Self {
        if valkeys.is_empty() {
            Self::Own(own)
        } else {
            let within = VALKEY_TIMEOUT;
            Self::Shared(SharedLimiter::start(own, valkeys, within, metrics))
        }
    }

    /// Counts a request of `client` if it may pass. Returns `None` if the client
    /// has no limit.
    pub(crate) async fn admit(
        &self,
        client: IpAddr,
        id: &IdempotencyKey,
    ) -> Option<Verdict> {
        match self {
            Self::Own(own) => own.admit(client, Instant::now()),
            Self::Shared(shared) => shared.admit(client, id).await,
        }
    }

    /// Returns the quota of `client`, and counts nothing.
    pub(crate) async fn quota(&self, client: IpAddr) -> Option<Quota> {
        match self {
            Self::Own(own) => own.quota(client, Instant::now()),
            Self::Shared(shared) => shared.quota(client).await,
        }
    }

    /// Returns the state of the Valkeys, if there are any.
    pub(crate) fn shared_state(&self) -> Option<LinkState> {
        match self {
            Self::Own(_) => None,
            Self::Shared(shared) => Some(shared.limits.state()),
        }
    }
}

/// Counts admitted requests by client.
#[derive(Debug)]
pub(crate) struct LocalLimiter {
    /// Requests of one client in a window; 0 is no limit.
    limit: u32,
    /// Networks with another limit, the longest prefix first.
    exceptions: Vec<(IpNet, u32)>,
    /// The span in which requests are counted.
    window: Duration,
    /// The table counts its times from here.
    start: Instant,
    table: Mutex<Table>,
}

/// The quota of a client after its request was counted or refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Quota {
    pub(crate) limit: u32,
    /// The span in which so many are admitted.
    pub(crate) window: Duration,
    /// Requests that would be admitted now.
    pub(crate) remaining: u32,
    /// Time until one more is admitted than now; zero if nothing is counted.
    pub(crate) reset: Duration,
}

/// Whether a request may pass.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    Admitted(Quota),
    /// [`Quota::reset`] is the time until a request of the client is admitted.
    Refused(Quota),
}

impl Verdict {
    pub(crate) fn quota(self) -> Quota {
        match self {
            Self::Admitted(quota) | Self::Refused(quota) => quota,
        }
    }
}

impl LocalLimiter {
    pub(crate) fn new(
        limit: u32,
        mut exceptions: Vec<(IpNet, u32)>,
        window: Duration,
    ) -> Self {
        exceptions.sort_by_key(|(network, _)| Reverse(network.prefix_len()));
        let table = Mutex::new(Table::new(window));
        Self { limit, exceptions, window, start: Instant::now(), table }
    }

    /// Counts a request of `client` if it may pass. Returns `None` if the client
    /// has no limit.
    pub(crate) fn admit(
        &self,
        client: IpAddr,
        now: Instant,
    ) -> Option<Verdict> {
        self.check(client, now, true)
    }

    /// Returns the quota of `client`, and counts nothing.
    pub(crate) fn quota(&self, client: IpAddr, now: Instant) -> Option<Quota> {
        self.check(client, now, false).map(Verdict::quota)
    }

    /// Counts a request of `client` that was admitted elsewhere.
    fn record(&self, client: IpAddr, now: Instant) {
        self.change(client, now, Table::record);
    }

    /// Undoes the admission of a request of `client` at that time.
    fn take_back(&self, client: IpAddr, time: Instant) {
        self.change(client, time, Table::take_back);
    }

    fn change(
        &self,
        client: IpAddr,
        time: Instant,
        change: fn(&mut Table, Key, Duration),
    ) {
        let Some(limit) = self.limit_of(client) else { return };
        let time = time.saturating_duration_since(self.start);
        let mut table =
            self.table.lock().unwrap_or_else(PoisonError::into_inner);
        for (key, _) in keys(client, limit).into_iter().flatten() {
            change(&mut table, key, time);
        }
    }

    fn check(
        &self,
        client: IpAddr,
        now: Instant,
        counts: bool,
    ) -> Option<Verdict> {
        let limit = self.limit_of(client)?;
        let now = now.saturating_duration_since(self.start);
        let mut table =
            self.table.lock().unwrap_or_else(PoisonError::into_inner);
        let keys = keys(client, limit);
        let passes = keys
            .iter()
            .flatten()
            .all(|(key, limit)| table.count(*key, now) < *limit);
        if passes && counts {
            for (key, _) in keys.iter().flatten() {
                table.record(*key, now);
            }
        }
        // The tighter of the two limits counts. If both are equally tight, the
        // one that takes longer to have room again does.
        let tightest = keys.iter().flatten().map(|(key, limit)| {
            let left = limit.saturating_sub(table.count(*key, now));
            let reset = table
                .oldest(*key, now)
                .map_or(now, |oldest| oldest + self.window);
            (left, Reverse(reset.saturating_sub(now)))
        });
        let (remaining, Reverse(reset)) = tightest.min().unwrap_or_default();
        let quota = Quota { limit, window: self.window, remaining, reset };
        Some(if passes || !counts {
            Verdict::Admitted(quota)
        } else {
            Verdict::Refused(quota)
        })
    }

    /// Returns the limit of one client, or `None` if it has none.
    fn limit_of(&self, client: IpAddr) -> Option<u32> {
        let exception = self
            .exceptions
            .iter()
            .find(|(network, _)| network.contains(&client));
        let limit = exception.map_or(self.limit, |(_, limit)| *limit);
        (limit > 0).then_some(limit)
    }
}

/// Returns the keys that a request of `client` is counted by, each with its
/// limit.
fn keys(client: IpAddr, limit: u32) -> [Option<(Key, u32)>; 2] {
    let prefix = match client {
        IpAddr::V4(_) => None,
        IpAddr::V6(_) => {
            let shared = limit.saturating_mul(CLIENTS_PER_PREFIX);
            Some((Key::Prefix(client_prefix(client)), shared))
        }
    };
    [Some((Key::Address(client), limit)), prefix]
}

#[cfg(test)]
mod tests;
