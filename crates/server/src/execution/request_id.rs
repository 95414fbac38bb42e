//! The id that a compile request has in the log and in its answer.

use std::fmt;

use http::{HeaderName, HeaderValue};

/// Sixteen hexadecimal digits, at random. A header that a client sends under this name
/// is not taken: an id in the log is this server's own, and means one request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct RequestId(u64);

impl RequestId {
    /// The header that carries it.
    pub(super) const HEADER: HeaderName =
        HeaderName::from_static("x-request-id");

    pub(super) fn new() -> Self {
        Self(rand::random())
    }

    pub(super) fn header(self) -> Option<HeaderValue> {
        HeaderValue::from_str(&self.to_string()).ok()
    }
}

impl fmt::Display for RequestId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{:016x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_have_sixteen_digits() {
        let check = |number, expected: &str| {
            let id = RequestId(number);
            assert_eq!(id.to_string(), expected);
            assert_eq!(id.header().unwrap(), expected);
        };
        check(0, "0000000000000000");
        check(u64::MAX, "ffffffffffffffff");
        assert_ne!(RequestId::new(), RequestId::new());
    }
}
