//! A limit that several servers share, with the server's own beside it for when
//! its Valkey cannot be reached.

use std::cmp::Reverse;
use std::net::IpAddr;
use std::time::Duration;

use sandpiper_shared::{
    self as shared, LimitDecisionKind, RateLimits, ServerUrl,
};
use tokio::time::Instant;

use super::{Key, LocalLimiter, Quota, Verdict, keys};
use crate::http::IdempotencyKey;
use crate::metrics::Shared;

/// Counts the requests of several servers.
#[derive(Debug)]
pub(crate) struct SharedLimiter {
    pub(super) limits: RateLimits,
    /// Every admission of this server.
    pub(super) own: LocalLimiter,
    metrics: Shared,
}

impl SharedLimiter {
    /// Starts to connect to the Valkeys, in tasks of the present runtime. They
    /// are given so long for each answer.
    pub(super) fn start(
        own: LocalLimiter,
        valkeys: Vec<ServerUrl>,
        within: Duration,
        metrics: Shared,
    ) -> Self {
        let observe = metrics.observe(&RateLimits::CALLS);
        let limits = RateLimits::start(valkeys, within, &observe);
        Self { limits, own, metrics }
    }

    /// Counts a request of `client` if it may pass. Returns `None` if the client
    /// has no limit.
    ///
    /// If its Valkey gives no answer, the server's own limit decides. As long as
    /// Valkey may lack requests of the last window, both have to agree.
    pub(super) async fn admit(
        &self,
        client: IpAddr,
        id: &IdempotencyKey,
    ) -> Option<Verdict> {
        let asked = self.shared_client(client)?;
        let now = Instant::now();
        let own = if self.limits.has_whole_window(asked) {
            None
        } else {
            let own = self.own.admit(client, now)?;
            if let Verdict::Refused(_) = own {
                self.metrics.limited_locally();
                return Some(own);
            }
            Some(own)
        };
        let Ok(answer) = self.limits.admit(asked, &id.to_string()).await else {
            self.metrics.limited_locally();
            return own.or_else(|| self.own.admit(client, now));
        };
        let quota = quota_of(asked, answer);
        let is_counted = answer.kind == LimitDecisionKind::Admitted;
        match own {
            None if is_counted => self.own.record(client, now),
            Some(_) if !is_counted => self.own.take_back(client, now),
            _ => {}
        }
        Some(match answer.kind {
            LimitDecisionKind::Refused => Verdict::Refused(quota),
            LimitDecisionKind::Repeated => {
                self.metrics.repeated();
                Verdict::Admitted(quota)
            }
            LimitDecisionKind::Admitted => {
                Verdict::Admitted(tighter(quota, own.map(Verdict::quota)))
            }
        })
    }

    /// Returns the quota of `client`, and counts nothing.
    pub(super) async fn quota(&self, client: IpAddr) -> Option<Quota> {
        let asked = self.shared_client(client)?;
        let is_whole = self.limits.has_whole_window(asked);
        let own = || self.own.quota(client, Instant::now());
        match self.limits.quota(asked).await {
            Err(_) => own(),
            Ok(answer) => {
                let own = if is_whole { None } else { own() };
                Some(tighter(quota_of(asked, answer), own))
            }
        }
    }

    /// Returns the client as a Valkey knows it, if it has a limit.
    pub(super) fn shared_client(
        &self,
        client: IpAddr,
    ) -> Option<shared::ClientLimit> {
        let limit = self.own.limit_of(client)?;
        let [_, prefix] = keys(client, limit);
        let prefix = prefix.and_then(|(key, limit)| match key {
            Key::Prefix(prefix) => Some((prefix, limit)),
            Key::Address(_) => None,
        });
        let window = self.own.window;
        Some(shared::ClientLimit { address: client, limit, prefix, window })
    }
}

fn quota_of(
    client: shared::ClientLimit,
    answer: shared::LimitDecision,
) -> Quota {
    let shared::ClientLimit { limit, window, .. } = client;
    let shared::LimitDecision { remaining, reset, .. } = answer;
    Quota { limit, window, remaining, reset }
}

/// Returns the quota with less left, or the one that takes longer to have more.
fn tighter(quota: Quota, other: Option<Quota>) -> Quota {
    let tightness = |quota: &Quota| (quota.remaining, Reverse(quota.reset));
    other.into_iter().chain([quota]).min_by_key(tightness).unwrap_or(quota)
}
