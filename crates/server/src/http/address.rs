//! The address of a client: the peer's, or the one that a named proxy reports.

use std::net::{IpAddr, SocketAddr};
use std::sync::{Arc, Once};

use http::header::FORWARDED;
use http::{HeaderMap, HeaderName};

use super::Proxies;

/// Finds the addresses of clients behind proxies.
#[derive(Debug)]
pub(crate) struct ClientAddresses {
    proxies: Arc<Proxies>,
    /// The one header in which proxies name clients.
    header: HeaderName,
    warned: Once,
}

impl ClientAddresses {
    pub(crate) fn new(proxies: Arc<Proxies>, header: HeaderName) -> Self {
        Self { proxies, header, warned: Once::new() }
    }

    /// Returns the proxies that are believed.
    pub(crate) fn proxies(&self) -> &Proxies {
        &self.proxies
    }

    /// Returns the address of the client behind `peer`; an IPv4-mapped address
    /// as the IPv4 one. The header counts only when the peer is a named proxy.
    pub(crate) fn client(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut client = peer.to_canonical();
        if !self.proxies.contains(client) {
            self.warn_of_unnamed_proxy(client, headers);
            return client;
        }
        // From the peer towards the client, as long as each hop is a proxy
        // that may be believed about the next. An unknown or hidden one ends
        // what is known.
        for hop in self.hops(headers).into_iter().map_while(|hop| hop) {
            client = hop;
            if !self.proxies.contains(hop) {
                break;
            }
        }
        client
    }

    /// Returns the hops of every line of the header, the nearest first.
    fn hops(&self, headers: &HeaderMap) -> Vec<Option<IpAddr>> {
        let is_standard = self.header == FORWARDED;
        let mut hops = Vec::new();
        for line in headers.get_all(&self.header).iter().rev() {
            // The client's part of it can be anything.
            let line = String::from_utf8_lossy(line.as_bytes());
            if is_standard {
                hops.extend(split_unquoted(&line, ',').map(node));
            } else {
                hops.extend(line.rsplit(',').map(address));
            }
        }
        hops
    }

    fn warn_of_unnamed_proxy(&self, peer: IpAddr, headers: &HeaderMap) {
        let Self { proxies, header, warned } = self;
        if headers.contains_key(header) && proxies.is_empty() && is_near(peer) {
            warned.call_once(|| {
                tracing::warn!(
                    "{peer} sends {header}, but is no trusted proxy, so that all \
                     clients behind {peer} share one rate limit; name it \
                     with --trusted-proxy {peer}"
                );
            });
        }
    }
}

/// Returns whether an address is loopback, private or link-local, as those of
/// reverse proxies are.
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

/// Returns the `for` of an element of `Forwarded` (RFC 7239).
fn node(element: &str) -> Option<IpAddr> {
    let mut pairs = split_unquoted(element, ';');
    let node = pairs.find_map(|pair| {
        let (name, value) = pair.split_once('=')?;
        name.trim().eq_ignore_ascii_case("for").then_some(value)
    });
    node.and_then(address)
}

/// Splits at each `separator` outside of a quoted string. Begins at the end,
/// which a proxy wrote: a client may have left a quotation open before it.
fn split_unquoted(text: &str, separator: char) -> impl Iterator<Item = &str> {
    let mut quoted = false;
    let mut at_quote = false;
    text.rsplit(move |character| {
        let splits = character == separator && !quoted;
        // A backslash before a quote takes it back, and one before that takes
        // the backslash back.
        at_quote = character == '"' || (at_quote && character == '\\');
        quoted ^= at_quote;
        splits
    })
}

/// Parses an address with or without port, brackets and quotes.
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
    use http::{HeaderValue, StatusCode};

    use super::*;

    /// `header` counts, and `lines` come, as `name: value`.
    fn check(header: &str, peer: &str, lines: &[&str], expected: &str) {
        let proxies = vec![
            "10.0.0.0/8".parse().unwrap(),
            "2001:db8:1::/48".parse().unwrap(),
        ];
        let mut headers = HeaderMap::new();
        for line in lines {
            let (name, value) = line.split_once(": ").unwrap();
            let name: HeaderName = name.parse().unwrap();
            let value = HeaderValue::from_bytes(value.as_bytes());
            headers.append(name, value.unwrap());
        }
        let proxies = Proxies::new(proxies, false, StatusCode::OK);
        let name = header.parse().unwrap();
        let addresses = ClientAddresses::new(Arc::new(proxies), name);
        let client = addresses.client(peer.parse().unwrap(), &headers);
        assert_eq!(client.to_string(), expected, "{header} {peer} {lines:?}");
    }

    const LIST: &str = "X-Forwarded-For";
    const STANDARD: &str = "Forwarded";

    #[test]
    fn the_peer_counts_without_the_header() {
        check(LIST, "192.0.2.1", &[], "192.0.2.1");
        check(LIST, "10.0.0.1", &[], "10.0.0.1");
        check(LIST, "::ffff:192.0.2.1", &[], "192.0.2.1");
        check(LIST, "2001:db8::1", &[], "2001:db8::1");
    }

    #[test]
    fn nobody_else_is_believed() {
        check(LIST, "192.0.2.1", &["x-forwarded-for: 1.2.3.4"], "192.0.2.1");
        check(STANDARD, "192.0.2.1", &["forwarded: for=1.2.3.4"], "192.0.2.1");
        check(LIST, "127.0.0.1", &["x-forwarded-for: 1.2.3.4"], "127.0.0.1");
    }

    #[test]
    fn one_header_counts_whatever_others_say() {
        let lines = [
            "forwarded: for=9.9.9.9",
            "x-forwarded-for: 1.2.3.4",
            "x-real-ip: 5.6.7.8",
        ];
        check(LIST, "10.0.0.1", &lines, "1.2.3.4");
        check(STANDARD, "10.0.0.1", &lines, "9.9.9.9");
        check("x-real-ip", "10.0.0.1", &lines, "5.6.7.8");
        check("CF-Connecting-IP", "10.0.0.1", &lines, "10.0.0.1");
    }

    #[test]
    fn the_rightmost_hop_that_is_no_proxy_counts() {
        let from = |value: &str, expected: &str| {
            let line = format!("x-forwarded-for: {value}");
            check(LIST, "10.0.0.1", &[&line], expected);
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
        from("\u{ff}, 1.2.3.4", "1.2.3.4");
        from("", "10.0.0.1");
        let two = ["x-forwarded-for: 6.6.6.6", "x-forwarded-for: 1.2.3.4"];
        check(LIST, "10.0.0.1", &two, "1.2.3.4");
        check(LIST, "2001:db8:1::5", &two, "1.2.3.4");
        check(LIST, "::ffff:10.0.0.1", &two, "1.2.3.4");
    }

    #[test]
    fn forwarded_is_read_as_its_standard_says() {
        let from = |value: &str, expected: &str| {
            let line = format!("forwarded: {value}");
            check(STANDARD, "10.0.0.1", &[&line], expected);
        };
        from("for=1.2.3.4", "1.2.3.4");
        from("For=1.2.3.4;proto=http;by=10.0.0.1", "1.2.3.4");
        from("proto=http; for=1.2.3.4", "1.2.3.4");
        from("for=6.6.6.6, for=1.2.3.4", "1.2.3.4");
        from("for=\"[2001:db8::7]:4711\"", "2001:db8::7");
        from("for=\"1.2.3.4:80\", for=10.2.2.2", "1.2.3.4");
        from("for=1.2.3.4;x=\"a, for=6.6.6.6\"", "1.2.3.4");
        from("for=1.2.3.4;x=\"a\\\", for=6.6.6.6\"", "1.2.3.4");
        from("for=1.2.3.4;x=\"a\\\\\", for=10.2.2.2", "1.2.3.4");
        from("for=\", for=1.2.3.4", "1.2.3.4");
        from("for=\"\\, for=\"[2001:db8::7]\"", "2001:db8::7");
        from("\u{ff}, for=1.2.3.4", "1.2.3.4");
        from("for=_hidden", "10.0.0.1");
        from("proto=http", "10.0.0.1");
    }
}
