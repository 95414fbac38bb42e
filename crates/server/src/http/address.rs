//! Who the client is: the peer, or the hop that a named proxy vouches for.

use std::net::{IpAddr, SocketAddr};
use std::sync::Once;

use http::header::FORWARDED;
use http::{HeaderMap, HeaderName};
use ipnet::IpNet;

const X_FORWARDED_FOR: HeaderName = HeaderName::from_static("x-forwarded-for");

/// Tells clients' addresses from those of proxies.
#[derive(Debug)]
pub(crate) struct ClientAddresses {
    proxies: Vec<IpNet>,
    warned: Once,
}

impl ClientAddresses {
    pub(crate) fn new(proxies: Vec<IpNet>) -> Self {
        Self { proxies, warned: Once::new() }
    }

    /// The address of the client behind `peer`; an IPv4-mapped address as the
    /// IPv4 one. Headers count only when the peer is a named proxy.
    pub(crate) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let peer = peer.to_canonical();
        if !self.is_proxy(peer) {
            self.warn_of_unnamed_proxy(peer, headers);
            return peer;
        }
        let by_list = headers.contains_key(X_FORWARDED_FOR);
        let by_standard = headers.contains_key(FORWARDED);
        match (by_list, by_standard) {
            (false, false) => peer,
            (true, false) => self.nearest_client(peer, &list_hops(headers)),
            (false, true) => self.nearest_client(peer, &standard_hops(headers)),
            (true, true) => {
                // A proxy writes one of the two and may pass the other on as
                // the client forged it. Where they disagree neither counts.
                let client = self.nearest_client(peer, &list_hops(headers));
                let other = self.nearest_client(peer, &standard_hops(headers));
                if client == other { client } else { peer }
            }
        }
    }

    fn is_proxy(&self, address: IpAddr) -> bool {
        self.proxies.iter().any(|network| network.contains(&address))
    }

    /// Walks from the peer towards the client, as long as each hop is a proxy
    /// that may be believed about the next.
    fn nearest_client(&self, peer: IpAddr, hops: &[Option<IpAddr>]) -> IpAddr {
        let mut client = peer;
        for hop in hops.iter().rev() {
            // An unknown or hidden hop ends what is known.
            let Some(hop) = hop else { break };
            client = *hop;
            if !self.is_proxy(client) {
                break;
            }
        }
        client
    }

    fn warn_of_unnamed_proxy(&self, peer: IpAddr, headers: &HeaderMap) {
        let forwarded = headers.contains_key(X_FORWARDED_FOR)
            || headers.contains_key(FORWARDED);
        if forwarded && self.proxies.is_empty() && is_near(peer) {
            self.warned.call_once(|| {
                tracing::warn!(
                    "{peer} sends X-Forwarded-For or Forwarded but is no named \
                     proxy, so that all clients behind it share one rate \
                     limit; name it with --trusted-proxy {peer}"
                );
            });
        }
    }
}

/// A loopback, private or link-local address, where a reverse proxy lives.
fn is_near(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            v4.is_loopback() || v4.is_private() || v4.is_link_local()
        }
        IpAddr::V6(v6) => {
            v6.is_loopback()
                || v6.is_unique_local()
                || v6.is_unicast_link_local()
        }
    }
}

/// The hops of every `X-Forwarded-For` line, the nearest last.
fn list_hops(headers: &HeaderMap) -> Vec<Option<IpAddr>> {
    let mut hops = Vec::new();
    for line in headers.get_all(X_FORWARDED_FOR) {
        match line.to_str() {
            Ok(line) => hops.extend(line.split(',').map(address)),
            Err(_) => hops.push(None),
        }
    }
    hops
}

/// The `for` of every element of every `Forwarded` line (RFC 7239).
fn standard_hops(headers: &HeaderMap) -> Vec<Option<IpAddr>> {
    let mut hops = Vec::new();
    for line in headers.get_all(FORWARDED) {
        let Ok(line) = line.to_str() else {
            hops.push(None);
            continue;
        };
        for element in split_unquoted(line, ',') {
            let node = split_unquoted(element, ';').find_map(|pair| {
                let (name, value) = pair.split_once('=')?;
                name.trim().eq_ignore_ascii_case("for").then_some(value)
            });
            hops.push(node.and_then(address));
        }
    }
    hops
}

/// Splits at `separator` where it stands outside of a quoted string.
fn split_unquoted(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    let mut escaped = false;
    text.split(move |character| {
        let splits = character == separator && !quoted;
        match character {
            _ if escaped => escaped = false,
            '\\' if quoted => escaped = true,
            '"' => quoted = !quoted,
            _ => {}
        }
        splits
    })
}

/// An address with or without port, brackets and quotes.
fn address(text: &str) -> Option<IpAddr> {
    let text = text.trim().trim_matches('"');
    let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']'));
    let address = match text.parse::<SocketAddr>() {
        Ok(with_port) => with_port.ip(),
        Err(_) => bare.unwrap_or(text).parse().ok()?,
    };
    Some(address.to_canonical())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    /// `lines` are headers, as `name: value`.
    fn check(peer: &str, lines: &[&str], expected: &str) {
        let proxies = vec![
            "10.0.0.0/8".parse().unwrap(),
            "2001:db8:1::/48".parse().unwrap(),
        ];
        let mut headers = HeaderMap::new();
        for line in lines {
            let (name, value) = line.split_once(": ").unwrap();
            let name: HeaderName = name.parse().unwrap();
            headers.append(name, HeaderValue::from_str(value).unwrap());
        }
        let addresses = ClientAddresses::new(proxies);
        let client = addresses.client(peer.parse().unwrap(), &headers);
        assert_eq!(client.to_string(), expected, "{peer} {lines:?}");
    }

    #[test]
    fn the_peer_counts_without_headers() {
        check("192.0.2.1", &[], "192.0.2.1");
        check("10.0.0.1", &[], "10.0.0.1");
        check("::ffff:192.0.2.1", &[], "192.0.2.1");
        check("2001:db8::1", &[], "2001:db8::1");
    }

    #[test]
    fn nobody_else_is_believed() {
        check("192.0.2.1", &["x-forwarded-for: 1.2.3.4"], "192.0.2.1");
        check("192.0.2.1", &["forwarded: for=1.2.3.4"], "192.0.2.1");
        check("127.0.0.1", &["x-forwarded-for: 1.2.3.4"], "127.0.0.1");
    }

    #[test]
    fn the_rightmost_hop_that_is_no_proxy_counts() {
        let from = |value: &str, expected: &str| {
            check(
                "10.0.0.1",
                &[&format!("x-forwarded-for: {value}")],
                expected,
            );
        };
        from("1.2.3.4", "1.2.3.4");
        from("6.6.6.6, 1.2.3.4", "1.2.3.4");
        from("6.6.6.6, 1.2.3.4,10.9.9.9", "1.2.3.4");
        from("10.1.1.1, 10.2.2.2", "10.1.1.1");
        from("1.2.3.4:5678", "1.2.3.4");
        from("2001:db8::7", "2001:db8::7");
        from("[2001:db8::7]", "2001:db8::7");
        from("[2001:db8::7]:80", "2001:db8::7");
        from("::ffff:1.2.3.4", "1.2.3.4");
        from("unknown", "10.0.0.1");
        from("1.2.3.4, unknown, 10.2.2.2", "10.2.2.2");
        from("", "10.0.0.1");
        check(
            "10.0.0.1",
            &["x-forwarded-for: 6.6.6.6", "x-forwarded-for: 1.2.3.4"],
            "1.2.3.4",
        );
        check("2001:db8:1::5", &["x-forwarded-for: 1.2.3.4"], "1.2.3.4");
        check("::ffff:10.0.0.1", &["x-forwarded-for: 1.2.3.4"], "1.2.3.4");
    }

    #[test]
    fn forwarded_is_read_as_its_standard_says() {
        let from = |value: &str, expected: &str| {
            check("10.0.0.1", &[&format!("forwarded: {value}")], expected);
        };
        from("for=1.2.3.4", "1.2.3.4");
        from("For=1.2.3.4;proto=http;by=10.0.0.1", "1.2.3.4");
        from("proto=http; for=1.2.3.4", "1.2.3.4");
        from("for=6.6.6.6, for=1.2.3.4", "1.2.3.4");
        from("for=\"[2001:db8::7]:4711\"", "2001:db8::7");
        from("for=\"1.2.3.4:80\", for=10.2.2.2", "1.2.3.4");
        from("for=1.2.3.4;x=\"a, for=6.6.6.6\"", "1.2.3.4");
        from("for=1.2.3.4;x=\"a\\\", for=6.6.6.6\"", "1.2.3.4");
        from("for=_hidden", "10.0.0.1");
        from("proto=http", "10.0.0.1");
    }

    #[test]
    fn headers_that_disagree_do_not_count() {
        let agreeing = ["x-forwarded-for: 1.2.3.4", "forwarded: for=1.2.3.4"];
        check("10.0.0.1", &agreeing, "1.2.3.4");
        let forged = ["x-forwarded-for: 1.2.3.4", "forwarded: for=6.6.6.6"];
        check("10.0.0.1", &forged, "10.0.0.1");
    }
}
