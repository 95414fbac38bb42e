//! What the operator sets about HTTP.

use std::str::FromStr;

use http::HeaderValue;
use ipnet::IpNet;
use sandpiper_engine::limits;

/// Settings of the server. The default is what the service promises.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Compile requests of one client in any 60 seconds; 0 lifts the limit.
    /// Default 20. Reached: 429 with Retry-After.
    pub compile_rate_limit: u32,
    /// Networks with another limit, such as a class behind one address; 0
    /// lifts it. The longest prefix that holds a client counts.
    pub rate_limit_for: Vec<(IpNet, u32)>,
    /// Proxies whose `X-Forwarded-For` and `Forwarded` are believed.
    pub trusted_proxies: Vec<IpNet>,
    /// Memory of all products in bytes. Default 256 MiB. Reached: 507.
    pub products_bytes: u64,
    /// Who may frame the editor page. Default: any site.
    pub frame_ancestors: FrameAncestors,
    /// Connections at once. Default 1,024. Reached: further ones wait to be
    /// accepted.
    pub connections: usize,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            compile_rate_limit: limits::COMPILE_REQUESTS_PER_MINUTE,
            rate_limit_for: Vec::new(),
            trusted_proxies: Vec::new(),
            products_bytes: limits::PRODUCTS_BYTES,
            frame_ancestors: FrameAncestors::default(),
            connections: limits::CONNECTIONS,
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
}
