//! A body for the failures that hyper answers itself, before any route.

use std::fmt::Write as _;

use bytes::Bytes;

/// What hyper's own answers to unreadable requests begin with.
const CLIENT_FAILURE: &str = "HTTP/1.1 4";
/// How an answer without body says so. No answer of a route is a failure
/// without a body.
const NO_BODY: &str = "content-length: 0\r\n";

/// The answer to send instead of `head`, where that is a failure of hyper's
/// own, which has no body; and its status.
pub(super) fn with_body(head: &[u8]) -> Option<(u16, Bytes)> {
    if !head.starts_with(CLIENT_FAILURE.as_bytes()) {
        return None;
    }
    let head = std::str::from_utf8(head).ok()?;
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?;
    let (line, rest) = head.split_once("\r\n")?;
    if !rest.ends_with("\r\n\r\n") {
        return None;
    }
    let (before, after) = rest.split_once(NO_BODY)?;
    let message = match status {
        "414" => "the request target is too long",
        "431" => "the request head is too large",
        _ => "malformed request",
    };
    let body = serde_json::json!({ "error": message }).to_string();
    let mut answer = format!("{line}\r\ncontent-type: application/json\r\n");
    // Writing to a String cannot fail.
    let _ = write!(
        answer,
        "content-length: {}\r\n{before}{after}{body}",
        body.len()
    );
    Some((status.parse().ok()?, answer.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(head: &str, expected: Option<&str>) {
        let answer = with_body(head.as_bytes()).map(|(status, bytes)| {
            assert!(head.contains(&status.to_string()), "{status}: {head}");
            String::from_utf8(bytes.into())
        });
        assert_eq!(answer.transpose().unwrap().as_deref(), expected, "{head}");
    }

    #[test]
    fn only_failures_without_body_get_one() {
        check(
            "HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\
             content-length: 0\r\ndate: now\r\n\r\n",
            Some(
                "HTTP/1.1 400 Bad Request\r\n\
                 content-type: application/json\r\ncontent-length: 29\r\n\
                 connection: close\r\ndate: now\r\n\r\n\
                 {\"error\":\"malformed request\"}",
            ),
        );
        check("HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n", None);
        check("HTTP/1.1 404 Not Found\r\ncontent-length: 9\r\n\r\n", None);
        check("{\"stdout\":\"HTTP/1.1 400\"}", None);
    }
}
