//! The settings of HTTP.

use std::str::FromStr;
use std::sync::Arc;

use http::{HeaderName, HeaderValue, StatusCode, Uri};
use ipnet::IpNet;
use sandpiper_shared::ServerUrl;

use crate::http::{AllowedHosts, ConnectionLimiter, Proxies, TrustedProxy};
use crate::limits;

/// Settings of the server. The default is what the service promises.
#[derive(Clone, Debug)]
pub struct ServerSettings {
    /// Compile requests of one client in any 60 seconds; 0 lifts the limit.
    /// Default 20. Reached: 429 with Retry-After.
    pub compile_rate_limit: u32,
    /// Networks with another limit, such as a class behind one address; 0
    /// lifts it. The longest prefix that holds a client counts.
    pub rate_limit_for: Vec<(IpNet, u32)>,
    /// Each Valkey that counts the compile requests of several servers. Default:
    /// none; this server counts its own.
    pub shared_limits: Vec<ServerUrl>,
    /// Proxies that are believed about who their clients are.
    pub trusted_proxies: Vec<TrustedProxy>,
    /// The one header in which they name a client: `Forwarded`, or a list of
    /// addresses. Default `X-Forwarded-For`.
    pub client_header: HeaderName,
    /// Whether they name each request of a client in `Sandpiper-Request`, with
    /// the same id at each server that they try. Default: no.
    pub proxy_request_ids: bool,
    /// The status that they get if this server cannot run what another one may.
    /// Default 503, which everybody else gets.
    pub elsewhere_status: StatusCode,
    /// The name of this server in the ids of its runs, so that a balancer knows
    /// where their input and their stop belong. Default: none.
    pub node_tag: Option<NodeTag>,
    /// Hosts that requests are for, without port, and addresses without
    /// brackets. Default: none, which is all. Another: 421. On the admin
    /// listener addresses and `localhost` besides, and nothing else.
    pub allowed_hosts: Vec<String>,
    /// Memory of all products in bytes. Default 256 MiB. Reached: 507.
    pub products_bytes: u64,
    /// The Valkey that holds the products of several servers. Default: none;
    /// this process holds its own. Not reached: 503.
    pub shared_products: Option<ServerUrl>,
    /// Sites that may frame the editor page. Default: any.
    pub frame_ancestors: FrameAncestors,
    /// Another address of this server, for the documents that programs make.
    /// Default: none; they are shown from the editor's own.
    pub preview_origin: Option<PreviewOrigin>,
    /// Connections at once. Default 2,048. Reached: those that keep the server
    /// waiting are closed to make room; the others wait until then.
    pub connections: usize,
    /// Connections of one client at once, an IPv6 /64 being one; trusted
    /// proxies have no such limit. Default 1,024. Reached: the same.
    pub client_connections: usize,
    /// Memory of large answers that clients have not taken yet, in bytes. Those of
    /// products have it besides `products_bytes`, as large products that are
    /// stored count among them; a text below 4 KiB does not count. All others
    /// have as much again. Default 256 MiB. Reached: 503, and slow clients are
    /// closed.
    pub answers_bytes: u64,
    /// Files that a run returns, in bytes. Default 4 MiB. Beyond it: the rest is
    /// listed as skipped. With 0, no run returns files.
    pub artifact_bytes: u64,
}

impl ServerSettings {
    /// Returns the parts of the service that several servers share, as metrics
    /// name them.
    pub(crate) fn shared_parts(&self) -> Vec<&'static str> {
        let limits = (!self.shared_limits.is_empty()).then_some("limits");
        let products = self.shared_products.as_ref().map(|_| "products");
        limits.into_iter().chain(products).collect()
    }

    /// Returns the limiter of connections.
    pub(crate) fn connection_limiter(
        &self,
        proxies: Arc<Proxies>,
    ) -> ConnectionLimiter {
        ConnectionLimiter::new(
            self.connections,
            self.client_connections,
            proxies,
        )
    }

    /// Returns the named proxies.
    pub(crate) fn proxies(&self) -> Proxies {
        Proxies::new(
            self.trusted_proxies.clone(),
            self.proxy_request_ids,
            self.elsewhere_status,
        )
    }

    /// Returns the hosts that requests may be for: that of previews with the
    /// others.
    pub(crate) fn hosts(&self) -> AllowedHosts {
        let mut names = self.allowed_hosts.clone();
        if !names.is_empty() {
            let preview = self.preview_origin.as_ref();
            names.extend(preview.and_then(PreviewOrigin::host));
        }
        AllowedHosts::new(names)
    }
}

impl Default for ServerSettings {
    fn default() -> Self {
        Self {
            compile_rate_limit: limits::COMPILE_REQUESTS_PER_MINUTE,
            rate_limit_for: Vec::new(),
            shared_limits: Vec::new(),
            trusted_proxies: Vec::new(),
            client_header: HeaderName::from_static("x-forwarded-for"),
            proxy_request_ids: false,
            elsewhere_status: StatusCode::SERVICE_UNAVAILABLE,
            node_tag: None,
            allowed_hosts: Vec::new(),
            products_bytes: limits::PRODUCTS_BYTES,
            shared_products: None,
            frame_ancestors: FrameAncestors::default(),
            preview_origin: None,
            connections: limits::CONNECTIONS,
            client_connections: limits::CLIENT_CONNECTIONS,
            answers_bytes: limits::ANSWERS_BYTES,
            artifact_bytes: sandpiper_engine::limits::FILES_BYTES,
        }
    }
}

/// The name of a server among others: 1 to 16 lower case letters and digits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NodeTag(String);

/// The text is no tag.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a node tag has 1 to 16 lower case letters and digits, such as n1")]
pub struct InvalidNodeTag;

impl NodeTag {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for NodeTag {
    type Err = InvalidNodeTag;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let fits =
            |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        if (1..=16).contains(&text.len()) && text.bytes().all(fits) {
            Ok(Self(text.to_owned()))
        } else {
            Err(InvalidNodeTag)
        }
    }
}

/// The sources of the `frame-ancestors` directive, separated by spaces, such
/// as `'self' https://school.example`. Default `*`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FrameAncestors(String);

/// The text cannot stand in a `frame-ancestors` directive.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("frame ancestors are sources separated by spaces, without `;` or `,`")]
pub struct InvalidFrameAncestors;

impl FrameAncestors {
    pub(crate) fn as_str(&self) -> &str {
        &self.0
    }
}

impl Default for FrameAncestors {
    fn default() -> Self {
        Self("*".to_owned())
    }
}

impl FromStr for FrameAncestors {
    type Err = InvalidFrameAncestors;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        // `;` would begin another directive, `,` another policy.
        let fits = !text.trim().is_empty()
            && text.is_ascii()
            && !text.contains([';', ','])
            && HeaderValue::from_str(text).is_ok();
        if fits {
            Ok(Self(text.trim().to_owned()))
        } else {
            Err(InvalidFrameAncestors)
        }
    }
}

/// The http or https address of this server for previews, with the path prefix
/// if there is one, such as `https://preview.example` or
/// `https://preview.example/code`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PreviewOrigin {
    /// Without a slash at the end.
    address: String,
    /// How much of it is the origin.
    origin_length: usize,
}

/// The text is no address of a preview.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a preview origin is like https://preview.example or http://host:8081")]
pub struct InvalidPreviewOrigin;

impl PreviewOrigin {
    pub(crate) fn as_str(&self) -> &str {
        &self.address
    }

    /// Returns the host without port, and an address without brackets.
    fn host(&self) -> Option<String> {
        let address: Uri = self.address.parse().ok()?;
        Some(address.host()?.trim_matches(['[', ']']).to_owned())
    }

    /// Returns scheme, host and port.
    pub(crate) fn origin(&self) -> &str {
        self.address.get(..self.origin_length).unwrap_or_default()
    }
}

impl FromStr for PreviewOrigin {
    type Err = InvalidPreviewOrigin;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let address = text.trim_end_matches('/');
        let uri: Uri = address.parse().map_err(|_| InvalidPreviewOrigin)?;
        let scheme = uri.scheme_str().unwrap_or_default();
        let authority = uri.authority().ok_or(InvalidPreviewOrigin)?;
        // It becomes a source of a policy: nothing that could end one.
        let fits = matches!(scheme, "http" | "https")
            && uri.query().is_none()
            && !authority.host().is_empty()
            && !authority.as_str().contains('@')
            && !address.contains([';', ',', '*', '\'', '"', '#']);
        if !fits {
            return Err(InvalidPreviewOrigin);
        }
        let origin_length =
            scheme.len() + "://".len() + authority.as_str().len();
        Ok(Self { address: address.to_owned(), origin_length })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frame_ancestors_hold_one_directive() {
        let parsed = |text: &str| text.parse::<FrameAncestors>().is_ok();
        assert!(parsed("*"));
        assert!(parsed("'self' https://school.example"));
        assert!(!parsed(""));
        assert!(!parsed(" "));
        assert!(!parsed("*; script-src *"));
        assert!(!parsed("a, b"));
        assert!(!parsed("a\r\nb"));
        assert!(!parsed("ä.example"));
    }

    #[test]
    fn node_tags_are_short_words() {
        let check = |text: &str, expected: bool| {
            assert_eq!(text.parse::<NodeTag>().is_ok(), expected, "{text}");
        };
        check("a", true);
        check("0123456789abcdef", true);
        check("", false);
        check("0123456789abcdefg", false);
        for text in ["A", "a-b", "a_b", "a b", "é"] {
            check(text, false);
        }
    }

    #[test]
    fn the_host_of_previews_is_allowed_with_the_others() {
        let check = |allowed: &[&str], preview: &str, expected: bool| {
            let settings = ServerSettings {
                allowed_hosts: allowed.iter().map(|&it| it.into()).collect(),
                preview_origin: preview.parse().ok(),
                ..ServerSettings::default()
            };
            let request = http::Request::builder()
                .header("Host", "preview.example:8080")
                .body(())
                .unwrap();
            let (head, ()) = request.into_parts();
            let found = settings.hosts().contains(&head);
            assert_eq!(found, expected, "{allowed:?} {preview}");
        };
        check(&[], "", true);
        check(&[], "https://other.example", true);
        check(&["code.example"], "", false);
        check(&["code.example"], "https://other.example", false);
        check(&["code.example"], "https://preview.example", true);
    }

    #[test]
    fn preview_origins_are_addresses() {
        let origin = |text: &str| {
            let parsed = text.parse::<PreviewOrigin>().ok();
            parsed.map(|parsed| parsed.origin().to_owned())
        };
        let check = |text: &str, expected: Option<&str>| {
            assert_eq!(origin(text).as_deref(), expected, "{text}");
        };
        check("https://p.example", Some("https://p.example"));
        check("https://p.example/", Some("https://p.example"));
        check("http://[::1]:81/code", Some("http://[::1]:81"));
        for text in [
            "",
            "p.example",
            "/code",
            "ftp://p.example",
            "https://",
            "https://a@p.example",
            "https://p.example?x",
            "https://p.example#x",
            "https://*.example",
            "https://p.example; script-src *",
            "https://p.example,x",
        ] {
            check(text, None);
        }
    }
}
