//! The forms in which a request comes and in which its client wants the answer.

use http::HeaderMap;
use http::header::{ACCEPT, CONTENT_TYPE};

/// Returns whether a client asks for server-sent events.
pub(super) fn accepts_events(headers: &HeaderMap) -> bool {
    let values = headers.get_all(ACCEPT).iter();
    let mut ranges = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    ranges.any(|range| {
        let mut parts = range.split(';').map(str::trim);
        let media_type = parts.next().unwrap_or_default();
        // A weight of 0 says that the client does not accept it (RFC 9110).
        let is_refused = parts.any(|part| {
            let weight = part.strip_prefix("q=").or(part.strip_prefix("Q="));
            weight.is_some_and(|weight| weight.parse() == Ok(0.0))
        });
        media_type.eq_ignore_ascii_case("text/event-stream") && !is_refused
    })
}

/// Returns whether the Content-Type is `application/json` or `…+json`.
pub(super) fn is_json(headers: &HeaderMap) -> bool {
    let Some(Ok(value)) = headers.get(CONTENT_TYPE).map(|value| value.to_str())
    else {
        return false;
    };
    let media_type = value.split(';').next().unwrap_or_default().trim();
    let media_type = media_type.to_ascii_lowercase();
    media_type == "application/json"
        || media_type
            .split_once('/')
            .and_then(|(_, subtype)| subtype.strip_suffix("+json"))
            .is_some_and(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn json_types_are_recognized() {
        let check = |value: &str, expected: bool| {
            let mut headers = HeaderMap::new();
            let header = HeaderValue::from_str(value).unwrap();
            headers.insert(CONTENT_TYPE, header);
            assert_eq!(is_json(&headers), expected, "{value}");
        };
        check("application/json", true);
        check("Application/JSON", true);
        check("application/json; charset=utf-8", true);
        check("application/json ;charset=latin1", true);
        check("application/vnd.api+json", true);
        check("application/problem+JSON;q=1", true);
        check("text/json+json", true);
        check("", false);
        check("text/plain", false);
        check("application/jsonp", false);
        check("application/+json", false);
        check("text/json", false);
        check("application/x-www-form-urlencoded", false);
        check("text/plain; a=application/json", false);
        assert!(!is_json(&HeaderMap::new()));
    }

    #[test]
    fn events_are_sent_to_those_who_ask_for_them() {
        let check = |value: &str, expected: bool| {
            let mut headers = HeaderMap::new();
            let header = HeaderValue::from_str(value).unwrap();
            headers.insert(ACCEPT, header);
            assert_eq!(accepts_events(&headers), expected, "{value}");
        };
        check("text/event-stream", true);
        check("application/json;q=0.5, Text/Event-Stream;q=1", true);
        check("text/event-stream;q=0", false);
        check("text/event-stream; q=0.0, */*", false);
        check("text/event-stream; q=0.1", true);
        check("*/*", false);
        check("text/*", false);
        check("text/event-streams", false);
        check("", false);
    }
}
