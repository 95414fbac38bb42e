//! The id of a client's request, which a balancer may try at several nodes.

use std::fmt;

use http::{HeaderMap, HeaderName, HeaderValue};

/// The lengths that an id may have.
const MIN_LENGTH: usize = 8;
const MAX_LENGTH: usize = 64;

/// The id of a client's request, the same for each try of a balancer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum IdempotencyKey {
    /// A named proxy's: letters, digits and hyphens of ASCII.
    Proxy(HeaderValue),
    /// Made here, at random: this is the only try.
    Own(u128),
}

impl IdempotencyKey {
    /// The header in which proxies send it.
    const HEADER: HeaderName = HeaderName::from_static("sandpiper-request");

    /// Returns a new id.
    pub(super) fn random() -> Self {
        Self::Own(rand::random())
    }

    /// Returns the id that a proxy has sent, if it is well-formed and there is
    /// no other.
    pub(super) fn of(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(Self::HEADER).iter();
        let value = values.next().filter(|_| values.next().is_none())?;
        let bytes = value.as_bytes();
        let fits = (MIN_LENGTH..=MAX_LENGTH).contains(&bytes.len())
            && bytes
                .iter()
                .all(|byte| byte.is_ascii_alphanumeric() || *byte == b'-');
        fits.then(|| Self::Proxy(value.clone()))
    }

    /// Returns the id if a proxy has sent it.
    pub(crate) fn named_by_proxy(&self) -> Option<&str> {
        match self {
            Self::Proxy(value) => value.to_str().ok(),
            Self::Own(_) => None,
        }
    }
}

impl fmt::Display for IdempotencyKey {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Proxy(value) => {
                formatter.write_str(value.to_str().unwrap_or_default())
            }
            Self::Own(number) => write!(formatter, "{number:032x}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_well_formed_id_counts() {
        let check = |values: &[&str], expected: Option<&str>| {
            let mut headers = HeaderMap::new();
            for value in values {
                let value = HeaderValue::from_bytes(value.as_bytes()).unwrap();
                headers.append("Sandpiper-Request", value);
            }
            let found = IdempotencyKey::of(&headers);
            let shown = found.map(|found| found.to_string());
            assert_eq!(shown.as_deref(), expected, "{values:?}");
        };
        check(&["abcd-EFG"], Some("abcd-EFG"));
        let longest = "0".repeat(64);
        check(&[&longest], Some(&longest));
        for value in [
            "",
            "abcdefg",
            &"0".repeat(65),
            "abcd efgh",
            "abcd_efgh",
            "abcd,efgh",
            "abcdefg\u{e9}",
        ] {
            check(&[value], None);
        }
        check(&[], None);
        check(&["abcdefgh", "abcdefgh"], None);
    }

    #[test]
    fn ids_of_this_server_have_32_digits_and_differ() {
        let id = IdempotencyKey::Own(1).to_string();
        assert_eq!(id, "00000000000000000000000000000001");
        assert_ne!(IdempotencyKey::random(), IdempotencyKey::random());
    }
}
