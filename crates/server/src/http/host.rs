//! The host that a request is for, and whether a page of another site has sent
//! it, as browsers report them.

use std::net::IpAddr;

use http::header::{HOST, ORIGIN};
use http::request::Parts;
use http::uri::{Authority, Uri};
use http::{HeaderName, StatusCode};

use super::{Answer, failure};

const SEC_FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

/// The hosts that an operator has named. A page that lets its own name lead to
/// our address is taken for ours by the browser, but its requests are for that
/// name.
#[derive(Debug)]
pub(crate) struct AllowedHosts(Vec<String>);

impl AllowedHosts {
    /// Returns these hosts. `names` are without port, and addresses without
    /// brackets.
    pub(crate) fn new(names: Vec<String>) -> Self {
        Self(names)
    }

    /// Returns whether the request is for one of them; all are, if there is
    /// none.
    pub(crate) fn contains(&self, head: &Parts) -> bool {
        self.0.is_empty() || host(head).is_some_and(|host| self.has(&host))
    }

    /// Returns whether the request is for one of them, for an address, or for a
    /// name that means this machine to everybody.
    pub(crate) fn contains_or_is_near(&self, head: &Parts) -> bool {
        host(head).is_some_and(|host| {
            self.has(&host)
                || host.parse::<IpAddr>().is_ok()
                || host == "localhost"
                || host.ends_with(".localhost")
        })
    }

    fn has(&self, host: &str) -> bool {
        self.0.iter().any(|name| name.eq_ignore_ascii_case(host))
    }
}

/// Returns 421: the request is for a host that the operator has not named.
pub(crate) fn misdirected() -> Answer {
    failure(StatusCode::MISDIRECTED_REQUEST, "this host is not served here")
}

/// Returns whether a page of another site has sent a request, as the browser
/// reports. Older browsers, and all of them over plain HTTP except on loopback,
/// report only the page's origin.
pub(crate) fn is_cross_site(head: &Parts) -> bool {
    if let Some(site) = head.headers.get(SEC_FETCH_SITE) {
        return site == "cross-site";
    }
    let Some(origin) = head.headers.get(ORIGIN) else { return false };
    let origin = Uri::try_from(origin.as_bytes()).ok();
    // An origin without a scheme is `null`, which is no site's.
    let origin = origin.filter(|origin| origin.scheme().is_some());
    let origin = origin.as_ref().and_then(Uri::authority).map(name);
    origin.is_none() || origin != host(head)
}

/// Returns the host that the request is for, in small letters.
fn host(head: &Parts) -> Option<String> {
    // A host in the target counts before the header (RFC 9112, 3.2.2).
    if let Some(authority) = head.uri.authority() {
        return Some(name(authority));
    }
    let host = head.headers.get(HOST)?;
    Authority::try_from(host.as_bytes()).ok().as_ref().map(name)
}

/// Returns the host without port, and an address without brackets.
fn name(authority: &Authority) -> String {
    authority.host().trim_matches(['[', ']']).to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    /// `lines` are headers, as `name: value`.
    fn head(target: &str, lines: &[&str]) -> Parts {
        let mut request = Request::builder().uri(target);
        for line in lines {
            let (name, value) = line.split_once(": ").unwrap();
            request = request.header(name, value);
        }
        request.body(()).unwrap().into_parts().0
    }

    #[test]
    fn hosts_differ_by_name() {
        let named = ["code.example", "192.0.2.7", "2001:db8::7"];
        let named = AllowedHosts::new(named.map(str::to_owned).to_vec());
        let none = AllowedHosts::new(Vec::new());
        // Whether it is one of the named, and whether the admin listener takes
        // it whatever is named.
        let check = |lines: &[&str], is_named: bool, is_near: bool| {
            let head = head("/", lines);
            assert_eq!(named.contains(&head), is_named, "{lines:?}");
            let either = is_named || is_near;
            assert_eq!(named.contains_or_is_near(&head), either, "{lines:?}");
            assert!(none.contains(&head), "{lines:?}");
            assert_eq!(none.contains_or_is_near(&head), is_near, "{lines:?}");
        };
        check(&["host: code.example"], true, false);
        check(&["host: CODE.example:8080"], true, false);
        check(&["host: 192.0.2.7:80"], true, true);
        check(&["host: [2001:db8::7]:80"], true, true);
        check(&["host: 192.0.2.8"], false, true);
        check(&["host: [::1]:9464"], false, true);
        check(&["host: localhost:9464"], false, true);
        check(&["host: LocalHost"], false, true);
        check(&["host: sandpiper.localhost"], false, true);
        for host in [
            "evil.example",
            "code.example.evil.example",
            "xcode.example",
            "localhost.evil.example",
            "127.0.0.1.evil.example",
            "notlocalhost",
            "::1",
            "a b",
            "",
        ] {
            check(&[&format!("host: {host}")], false, false);
        }
        check(&[], false, false);
    }

    #[test]
    fn the_target_goes_before_the_header() {
        let named = AllowedHosts::new(vec!["code.example".to_owned()]);
        let check = |target: &str, host: &str, expected: bool| {
            let head = head(target, &[&format!("host: {host}")]);
            assert_eq!(named.contains(&head), expected, "{target} {host}");
        };
        check("http://evil.example/", "code.example", false);
        check("http://code.example/", "evil.example", true);
    }

    #[test]
    fn pages_of_other_sites_are_recognized() {
        let check = |lines: &[&str], expected: bool| {
            let lines = [&["host: a.example:8080"], lines].concat();
            let head = head("/products", &lines);
            assert_eq!(is_cross_site(&head), expected, "{lines:?}");
        };
        check(&[], false);
        check(&["sec-fetch-site: same-origin"], false);
        check(&["sec-fetch-site: same-site"], false);
        check(&["sec-fetch-site: none"], false);
        check(&["sec-fetch-site: cross-site"], true);
        // It knows more than the origin beside a host that a proxy changed.
        let same = "sec-fetch-site: same-origin";
        check(&[same, "origin: https://b.example"], false);
        let cross = "sec-fetch-site: cross-site";
        check(&[cross, "origin: http://a.example:8080"], true);
        check(&["origin: http://a.example:8080"], false);
        check(&["origin: https://A.example"], false);
        check(&["origin: http://b.example"], true);
        check(&["origin: http://b.a.example"], true);
        check(&["origin: http://a.example.b.example"], true);
        check(&["origin: null"], true);
        check(&["origin: a.example"], true);
        check(&["origin: "], true);
        check(&["origin: http://[::1]:8080"], true);
        let head = head("/", &["host: [::1]:1", "origin: http://[::1]:2"]);
        assert!(!is_cross_site(&head));
    }
}
