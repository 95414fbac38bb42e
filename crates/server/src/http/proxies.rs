//! The proxies that the operator named, and how their requests differ.

use std::net::IpAddr;

use http::{HeaderMap, StatusCode};
use ipnet::IpNet;

use super::ClientRequestId;

/// The proxies that the operator named.
#[derive(Debug)]
pub(crate) struct Proxies {
    networks: Vec<IpNet>,
    /// Whether they send the ids of their clients' requests.
    has_request_ids: bool,
    elsewhere_status: StatusCode,
}

impl Proxies {
    pub(crate) fn new(
        networks: Vec<IpNet>,
        has_request_ids: bool,
        elsewhere_status: StatusCode,
    ) -> Self {
        Self { networks, has_request_ids, elsewhere_status }
    }

    /// Returns whether any proxy is named.
    pub(super) fn is_empty(&self) -> bool {
        self.networks.is_empty()
    }

    /// Returns whether the address is one of a named proxy.
    pub(super) fn contains(&self, address: IpAddr) -> bool {
        let address = address.to_canonical();
        self.networks.iter().any(|network| network.contains(&address))
    }

    /// Returns the id of the request that `peer` sends: its own if it may name
    /// one, otherwise a new one.
    pub(crate) fn request_id(
        &self,
        peer: IpAddr,
        headers: &HeaderMap,
    ) -> ClientRequestId {
        let is_taken = self.has_request_ids && self.contains(peer);
        let sent = is_taken.then(|| ClientRequestId::of(headers)).flatten();
        sent.unwrap_or_else(ClientRequestId::random)
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
