//! The proxies that the operator named, and how their requests differ.

use std::io;
use std::net::IpAddr;
use std::str::FromStr;
use std::time::Duration;

use futures_util::future::join_all;
use http::{HeaderMap, StatusCode};
use ipnet::IpNet;
use tokio::net::lookup_host;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, timeout};

use super::IdempotencyKey;

/// Time between two lookups of the addresses of a host.
const LOOKUP_INTERVAL: Duration = Duration::from_secs(2);
/// Time after which a lookup counts as failed.
const LOOKUP_TIMEOUT: Duration = Duration::from_secs(5);
/// The longest time for which a server that starts waits for lookups. Until a
/// later one succeeds, clients of that proxy share its limit.
const FIRST_LOOKUP_TIMEOUT: Duration = Duration::from_millis(500);
/// Time for which the last addresses of a host count while lookups fail. Another
/// machine may get them later.
const FORGET_AFTER: Duration = Duration::from_mins(5);

/// A proxy that is believed about who its clients are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum TrustedProxy {
    /// Each address of a network, which may be a single one.
    Network(IpNet),
    /// Each address that a host name has. They are looked up every 2 s. While that
    /// fails, the last ones count for 5 minutes.
    Host(String),
}

/// The text is no network and no host name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "write an address, a network such as 10.0.0.0/8, or a host name such as \
     proxy.example"
)]
pub struct InvalidTrustedProxy;

impl FromStr for TrustedProxy {
    type Err = InvalidTrustedProxy;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let address = text.parse::<IpAddr>().map(IpNet::from);
        if let Ok(network) = address.or_else(|_| text.parse::<IpNet>()) {
            return Ok(Self::Network(network));
        }
        let fits =
            |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        // Nobody means a host by 10.0.0.256, and the C library reads 0x7f000001 as
        // an address.
        let last = text.trim_end_matches('.').rsplit('.').next();
        let is_name = last.is_some_and(|it| {
            it.bytes().next().is_some_and(|byte| byte.is_ascii_alphabetic())
        });
        if is_name && text.bytes().all(fits) {
            Ok(Self::Host(text.to_owned()))
        } else {
            Err(InvalidTrustedProxy)
        }
    }
}

/// The proxies that the operator named.
#[derive(Debug, Default)]
pub(crate) struct Proxies {
    networks: Vec<IpNet>,
    hosts: Vec<ProxyHost>,
    /// Whether they send the ids of their clients' requests.
    has_request_ids: bool,
    elsewhere_status: StatusCode,
}

/// A host of which each address is a proxy's.
#[derive(Debug)]
struct ProxyHost {
    name: String,
    addresses: watch::Sender<Addresses>,
}

#[derive(Debug, Default)]
struct Addresses {
    found: Vec<IpAddr>,
    /// Since when lookups fail.
    failing_since: Option<Instant>,
}

impl Proxies {
    pub(crate) fn new(
        proxies: Vec<TrustedProxy>,
        has_request_ids: bool,
        elsewhere_status: StatusCode,
    ) -> Self {
        let (mut networks, mut hosts) = (Vec::new(), Vec::new());
        for proxy in proxies {
            match proxy {
                TrustedProxy::Network(network) => networks.push(network),
                TrustedProxy::Host(name) => hosts.push(ProxyHost::new(name)),
            }
        }
        Self { networks, hosts, has_request_ids, elsewhere_status }
    }

    /// Looks up the addresses of hosts for the first time. Does not wait for a
    /// name server that does not answer.
    pub(crate) async fn begin_looking_up(&self) {
        let all = join_all(self.hosts.iter().map(ProxyHost::look_up));
        let _ = timeout(FIRST_LOOKUP_TIMEOUT, all).await;
    }

    /// Looks up the addresses of hosts again and again. Never ends.
    pub(crate) async fn keep_looking_up(&self) {
        let hosts = self.hosts.iter().map(ProxyHost::keep_looking_up);
        join_all(hosts).await;
        std::future::pending().await
    }

    /// Returns whether no proxy has an address.
    pub(super) fn is_empty(&self) -> bool {
        self.networks.is_empty() && self.hosts.iter().all(ProxyHost::is_empty)
    }

    /// Returns whether the address is one of a named proxy.
    pub(super) fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.networks.iter().any(|network| network.contains(&address))
            || self.hosts.iter().any(|host| host.has(address))
    }

    /// Returns the id of the request that `peer` sends: its own if it may name
    /// one, otherwise a new one.
    pub(crate) fn request_id(
        &self,
        peer: IpAddr,
        headers: &HeaderMap,
    ) -> IdempotencyKey {
        let is_taken = self.has_request_ids && self.contains(peer);
        let sent = is_taken.then(|| IdempotencyKey::of(headers)).flatten();
        sent.unwrap_or_else(IdempotencyKey::random)
    }

    /// Returns the status for `peer` if this server cannot run what another one
    /// may.
    pub(crate) fn elsewhere_status(&self, peer: IpAddr) -> StatusCode {
        if self.contains(peer) {
            self.elsewhere_status
        } else {
            StatusCode::SERVICE_UNAVAILABLE
        }
    }
}

impl ProxyHost {
    fn new(name: String) -> Self {
        Self { name, addresses: watch::Sender::default() }
    }

    fn has(&self, address: IpAddr) -> bool {
        self.addresses.borrow().found.contains(&address)
    }

    fn is_empty(&self) -> bool {
        self.addresses.borrow().found.is_empty()
    }

    async fn keep_looking_up(&self) {
        loop {
            self.look_up().await;
            sleep(LOOKUP_INTERVAL).await;
        }
    }

    /// Looks up the addresses. Logs each change, and the first of several failures.
    async fn look_up(&self) {
        let lookup = lookup_host((self.name.as_str(), 0));
        let found = timeout(LOOKUP_TIMEOUT, lookup).await;
        let found = found.unwrap_or_else(|elapsed| Err(elapsed.into()));
        let found = found.map(|found| {
            let addresses = found.map(|it| it.ip().to_canonical());
            let mut addresses: Vec<IpAddr> = addresses.collect();
            addresses.sort_unstable();
            addresses.dedup();
            addresses
        });
        self.addresses.send_modify(|last| last.update(&self.name, found));
    }
}

impl Addresses {
    fn update(&mut self, name: &str, found: io::Result<Vec<IpAddr>>) {
        match found {
            Ok(found) => {
                let has_failed = self.failing_since.take().is_some();
                if has_failed || self.found != found {
                    tracing::info!("proxy {name} has the addresses {found:?}");
                    self.found = found;
                }
            }
            Err(error) => {
                let is_first = self.failing_since.is_none();
                let since =
                    *self.failing_since.get_or_insert_with(Instant::now);
                if is_first {
                    tracing::warn!(
                        "proxy {name} cannot be looked up: {error}; addresses \
                         that still count: {:?}",
                        self.found
                    );
                }
                if since.elapsed() >= FORGET_AFTER && !self.found.is_empty() {
                    tracing::warn!("proxy {name} has no address any more");
                    self.found.clear();
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[test]
    fn a_proxy_is_a_network_or_a_host() {
        use TrustedProxy::{Host, Network};
        let check = |text: &str, expected: Option<TrustedProxy>| {
            assert_eq!(text.parse().ok(), expected, "{text}");
        };
        let network = |text: &str| Some(Network(text.parse().unwrap()));
        check("10.0.0.0/8", network("10.0.0.0/8"));
        check("192.0.2.7", network("192.0.2.7/32"));
        check("2001:db8::7", network("2001:db8::7/128"));
        for name in ["proxy", "a-b.c_d.example", "proxy.example.", "10.0.0.a1"]
        {
            check(name, Some(Host(name.to_owned())));
        }
        for text in [
            "",
            ".",
            "10.0.0.256",
            "10.0.0",
            "1",
            "10.0.0.0/33",
            "a:80",
            "a b",
            "é",
            "@a",
        ] {
            check(text, None);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn addresses_are_forgotten_if_nobody_finds_them() {
        // No label of a name is so long, so nobody is asked for it.
        let host = ProxyHost::new("a".repeat(64));
        let address = [192, 0, 2, 7].into();
        host.addresses.send_modify(|it| it.found.push(address));
        let check = async |after: Duration, expected: bool| {
            advance(after).await;
            host.look_up().await;
            assert_eq!(host.has(address), expected, "{after:?}");
        };
        check(FORGET_AFTER, true).await;
        check(FORGET_AFTER - LOOKUP_INTERVAL, true).await;
        check(LOOKUP_INTERVAL, false).await;
    }
}
