//! Refuses heads that another reader, such as a proxy in front, could take for
//! a different request, and words the answer to what is no request at all.
//!
//! hyper drops a Content-Length beside a Transfer-Encoding, joins equal lengths
//! and accepts lines without a carriage return. A request does not show that,
//! so the bytes of each head are kept until hyper has read it.

use bytes::{Buf, Bytes, BytesMut};
use http::header::{HOST, TRANSFER_ENCODING};
use http::request::Parts;
use http::{StatusCode, Version};
use memchr::memchr;

use super::{Answer, failure};

const MALFORMED: &str = "malformed request";
/// How hyper's own answers to what is no request say that they have no body.
const NO_BODY: &str = "content-length: 0\r\n";

/// The bytes that hyper has received but not yet passed on as a head or a body.
#[derive(Debug, Default)]
pub(crate) struct HeadRecorder {
    bytes: BytesMut,
    /// Bytes of a body that are still to come.
    body_bytes: u64,
}

/// The head of a request can be read in two ways.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct AmbiguousHead;

impl HeadRecorder {
    /// Takes what hyper receives.
    pub(crate) fn record(&mut self, received: &[u8]) {
        let body = usize::try_from(self.body_bytes).unwrap_or(usize::MAX);
        let body = body.min(received.len());
        self.body_bytes -= body as u64;
        self.bytes.extend_from_slice(&received[body..]);
    }

    /// Takes the head that hyper has read out of the bytes. `body_bytes` is the
    /// length of its body; `None` stands for a body in chunks, behind which
    /// nothing is read. Returns whether all of the body was received.
    ///
    /// # Errors
    ///
    /// The head is ambiguous. Nothing may be read behind it.
    pub(crate) fn take(
        &mut self,
        head: &Parts,
        body_bytes: Option<u64>,
    ) -> Result<bool, AmbiguousHead> {
        let (length, is_plain) = scan(&self.bytes);
        let is_clear = is_plain && is_clear(head);
        let Some(body_bytes) = body_bytes.filter(|_| is_clear) else {
            *self = Self { bytes: BytesMut::new(), body_bytes: u64::MAX };
            return is_clear.then_some(false).ok_or(AmbiguousHead);
        };
        self.bytes.advance(length);
        let received = self.bytes.split();
        self.body_bytes = body_bytes;
        self.record(&received);
        Ok(self.body_bytes == 0)
    }

    /// Returns whether anything was received behind the last request.
    pub(super) fn has_more(&self) -> bool {
        !self.bytes.is_empty()
    }
}

/// Returns the length of the head that `bytes` begin with, and whether each of
/// its lines ends as it should and at most one of them says how long the body
/// is, which a file could be.
fn scan(bytes: &[u8]) -> (usize, bool) {
    let (mut length, mut has_begun) = (0, false);
    let (mut framings, mut is_plain) = (0, true);
    while let Some(end) = memchr(b'\n', &bytes[length..]) {
        let line = &bytes[length..length + end];
        length += end + 1;
        is_plain &= line.ends_with(b"\r");
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        // Empty lines in front of the head belong to it.
        if line.is_empty() && has_begun {
            break;
        }
        has_begun |= !line.is_empty();
        let (name, value) = line.split_at(memchr(b':', line).unwrap_or(0));
        if name.eq_ignore_ascii_case(b"content-length") {
            framings += 1;
            let value = std::str::from_utf8(&value[1..]).unwrap_or_default();
            is_plain &= value.trim_ascii().parse::<i64>().is_ok();
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            framings += 1;
        }
    }
    (length, is_plain && framings <= 1)
}

/// Returns whether the head names one host, and no coding of its body but
/// chunks: hyper would hand over what was coded in other ways as it is.
fn is_clear(head: &Parts) -> bool {
    let hosts = head.headers.get_all(HOST).iter().count();
    let needs_host = head.version == Version::HTTP_11;
    let codings = head.headers.get_all(TRANSFER_ENCODING);
    hosts <= 1
        && (hosts == 1 || !needs_host)
        && codings
            .iter()
            .all(|coding| coding.as_bytes().eq_ignore_ascii_case(b"chunked"))
}

impl From<AmbiguousHead> for Answer {
    fn from(_: AmbiguousHead) -> Self {
        failure(StatusCode::BAD_REQUEST, MALFORMED)
    }
}

/// Returns the status of the answer to what is no request, and that answer:
/// hyper's own, with a body that says why. `heads` is what hyper has refused.
pub(super) fn with_body(
    answer: &[u8],
    heads: &HeadRecorder,
) -> Option<(u16, Bytes)> {
    let (line, rest) = std::str::from_utf8(answer).ok()?.split_once("\r\n")?;
    let status = line.strip_prefix("HTTP/1.1 ")?.get(..3)?;
    let mut status: StatusCode = status.parse().ok()?;
    // hyper takes a length beyond what it can count for a head of such a size.
    if status == StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE
        && !scan(&heads.bytes).1
    {
        status = StatusCode::BAD_REQUEST;
    }
    let message = match status {
        StatusCode::URI_TOO_LONG => "the request target is too long",
        StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE => {
            "the request head is too large"
        }
        _ => MALFORMED,
    };
    let body = serde_json::json!({ "error": message }).to_string();
    let length = format!(
        "content-type: application/json\r\ncontent-length: {}\r\n",
        body.len()
    );
    let rest = rest.replacen(NO_BODY, &length, 1);
    let answer = format!("HTTP/1.1 {status}\r\n{rest}{body}");
    Some((status.as_u16(), answer.into()))
}

#[cfg(test)]
mod tests {
    use http::Request;

    use super::*;

    /// The head of `text` as hyper hands it over.
    fn parts(text: &str) -> Parts {
        let mut lines = text.trim_start().lines();
        let version = match lines.next().unwrap().rsplit(' ').next() {
            Some("HTTP/1.0") => Version::HTTP_10,
            _ => Version::HTTP_11,
        };
        let mut request = Request::builder().version(version);
        for line in lines.take_while(|line| !line.is_empty()) {
            let (name, value) = line.split_once(':').unwrap();
            request = request.header(name, value.trim());
        }
        request.body(()).unwrap().into_parts().0
    }

    fn is_refused(text: &str) -> bool {
        let mut recorder = HeadRecorder::default();
        recorder.record(text.as_bytes());
        recorder.take(&parts(text), Some(0)) == Err(AmbiguousHead)
    }

    #[test]
    fn heads_that_can_be_read_in_one_way_pass() {
        for lines in [
            "Host: x\r\n",
            "hOST:x\r\nContent-Length: 0\r\n",
            "Host: x\r\nTransfer-Encoding: Chunked\r\n",
            "Host: x\r\nX-Content-Length: 1\r\nContent-Lengths: 1\r\n",
        ] {
            let head = format!("GET / HTTP/1.1\r\n{lines}\r\n");
            assert!(!is_refused(&head), "{head}");
            assert!(!is_refused(&format!("\r\n\r\n{head}")), "{head}");
        }
        assert!(!is_refused("GET / HTTP/1.0\r\n\r\n"));
    }

    #[test]
    fn heads_that_can_be_read_in_two_ways_are_refused() {
        for lines in [
            "",
            "Host: x\r\nHost: x\r\n",
            "Host: x\r\nContent-Length: 0\r\nContent-Length: 0\r\n",
            "Host: x\r\nContent-Length: 9223372036854775808\r\n",
            "Host: x\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n",
            "Host: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n",
            "Host: x\r\ntransfer-encoding: chunked, chunked\r\n",
            "Host: x\r\nTransfer-Encoding: gzip, chunked\r\n",
            "Host: x\nA: b\r\n",
        ] {
            let head = format!("GET / HTTP/1.1\r\n{lines}\r\n");
            assert!(is_refused(&head), "{head}");
        }
        assert!(is_refused("GET / HTTP/1.0\n\n"));
        assert!(is_refused("\nGET / HTTP/1.0\r\n\r\n"));
        assert!(is_refused("GET / HTTP/1.1\r\nHost: x\r\n\n"));
    }

    #[test]
    fn the_next_head_is_found_behind_a_body() {
        const GOOD: &str = "POST / HTTP/1.1\r\nHost: x\r\n\r\n";
        const BAD: &str = "GET / HTTP/1.0\n\n";
        let check = |body: &str, expected: bool| {
            let bytes = format!("{GOOD}{body}{BAD}");
            for size in 1..bytes.len() {
                let mut recorder = HeadRecorder::default();
                let mut pieces = bytes.as_bytes().chunks(size);
                let mut received = 0;
                let mut receive = |recorder: &mut HeadRecorder, until| {
                    while received < until {
                        let piece = pieces.next().unwrap();
                        recorder.record(piece);
                        received += piece.len();
                    }
                    received
                };
                let end = receive(&mut recorder, GOOD.len());
                let length = body.len() as u64;
                let is_whole = recorder.take(&parts(GOOD), Some(length));
                let has_body = end >= GOOD.len() + body.len();
                assert_eq!(is_whole, Ok(has_body), "by {size}");
                receive(&mut recorder, bytes.len());
                let next = recorder.take(&parts(BAD), Some(0));
                assert_eq!(next.is_err(), expected, "by {size}");
            }
        };
        check("", true);
        check("\r\n\r\n", true);
        check(GOOD, true);
        check(BAD, true);
    }

    #[test]
    fn own_answers_of_hyper_get_a_body() {
        let head = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\
                    content-length: 0\r\ndate: now\r\n\r\n";
        let expected = "HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\
                        content-type: application/json\r\n\
                        content-length: 29\r\ndate: now\r\n\r\n\
                        {\"error\":\"malformed request\"}";
        let mut heads = HeadRecorder::default();
        let answer = with_body(head.as_bytes(), &heads);
        assert_eq!(answer, Some((400, expected.into())));
        assert_eq!(with_body(b"{\"stdout\":\"\"}\r\n", &heads), None);
        // The same for a length that is too large, and not for a large head.
        let large = head.replace("400 Bad Request", "431 Too Large");
        let status = |heads: &HeadRecorder| {
            with_body(large.as_bytes(), heads).map(|(status, _)| status)
        };
        assert_eq!(status(&heads), Some(431));
        let length = u64::MAX;
        heads.record(format!("Content-Length: {length}\r\n\r\n").as_bytes());
        assert_eq!(status(&heads), Some(400));
    }
}
