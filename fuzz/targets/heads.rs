//! The heads of a connection: one that is answered can be read in one way. The
//! first byte of the input says in pieces of what size the others come.

#![no_main]

use httparse::{Header, Status};
use libfuzzer_sys::fuzz_target;
use sandpiper_fuzz::PLANTED;
use sandpiper_server::fuzzing::{RequestHeads, Version};

/// Headers of a head, as hyper has it.
const HEADERS: usize = 100;

fuzz_target!(|input: &[u8]| {
    let Some((size, bytes)) = input.split_first() else { return };
    let mut pieces = bytes.chunks(usize::from(*size).max(1));
    let mut heads = RequestHeads::default();
    let (mut start, mut received) = (0, 0);
    // Reads heads as hyper does, and asserts of each that is not refused that a
    // strict reader takes it for the same.
    loop {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut head = httparse::Request::new(&mut headers);
        let known = bytes.get(start..received).unwrap_or_default();
        let end = match head.parse(known) {
            Ok(Status::Complete(end)) => end,
            Ok(Status::Partial) => {
                let Some(piece) = pieces.next() else { return };
                heads.record(piece);
                received += piece.len();
                continue;
            }
            Err(_) => return,
        };
        let Some(body) = body_bytes(head.headers) else { return };
        let version = match head.version {
            Some(0) => Version::HTTP_10,
            _ => Version::HTTP_11,
        };
        let named: Vec<(&str, &[u8])> = head
            .headers
            .iter()
            .map(|header| (header.name, header.value))
            .collect();
        let lengths = values(head.headers, "content-length").len();
        let is_whole = heads.take(version, &named, body);
        let is_planted = PLANTED && lengths > 1;
        if is_whole.is_none() && !is_planted {
            return;
        }
        check(&known[..end], version, head.headers);
        let Some(body) = body else { return };
        let body = usize::try_from(body).unwrap_or(usize::MAX);
        start = start.saturating_add(end).saturating_add(body);
        assert_eq!(is_whole, Some(received >= start), "{bytes:?}");
    }
});

/// The length of the body as hyper takes it; its first `None` is a head that
/// hyper refuses, its second a body in chunks.
fn body_bytes(headers: &[Header<'_>]) -> Option<Option<u64>> {
    let codings = values(headers, "transfer-encoding");
    if let Some(last) = codings.last() {
        return last.to_ascii_lowercase().ends_with(b"chunked").then_some(None);
    }
    let mut length = None;
    for value in values(headers, "content-length") {
        let is_number =
            !value.is_empty() && value.iter().all(u8::is_ascii_digit);
        let value = std::str::from_utf8(value).ok().filter(|_| is_number)?;
        let value: u64 = value.parse().ok()?;
        if length.is_some_and(|length| length != value) {
            return None;
        }
        length = Some(value);
    }
    Some(Some(length.unwrap_or_default()))
}

fn values<'a>(headers: &[Header<'a>], name: &str) -> Vec<&'a [u8]> {
    let named = headers.iter();
    named
        .filter(|header| header.name.eq_ignore_ascii_case(name))
        .map(|header| header.value)
        .collect()
}

/// Asserts that a head can be read in one way.
fn check(head: &[u8], version: Version, headers: &[Header<'_>]) {
    let text = String::from_utf8_lossy(head);
    let is_alone = |pair: &[u8]| pair[1] == b'\n' && pair[0] != b'\r';
    assert!(!head.windows(2).any(is_alone), "a line feed alone: {text:?}");
    assert!(head[0] != b'\n', "a line feed alone: {text:?}");
    let hosts = values(headers, "host").len();
    assert!(hosts <= 1, "{text:?}");
    assert!(hosts == 1 || version == Version::HTTP_10, "{text:?}");
    let lengths = values(headers, "content-length");
    let codings = values(headers, "transfer-encoding");
    assert!(lengths.len() + codings.len() <= 1, "{text:?}");
    let is_chunked = |coding: &&[u8]| coding.eq_ignore_ascii_case(b"chunked");
    assert!(codings.iter().all(is_chunked), "{text:?}");
}
