//! The bytes of a connection: what hyper is let read can be read in one way.
//! The first byte of the input says in what pieces they come.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sandpiper_fuzz::PLANTED;
use sandpiper_server::fuzzing;

/// Headers of a head, as hyper has it.
const HEADERS: usize = 100;

fuzz_target!(|input: &[u8]| {
    let Some((size, bytes)) = input.split_first() else { return };
    if bytes.is_empty() {
        return;
    }
    let read = heads(bytes, bytes.len());
    let pieces = usize::from(*size).max(1);
    assert_eq!(heads(bytes, pieces), read, "in pieces of {pieces}");
    let changed = (0..bytes.len()).filter(|at| read[*at] != bytes[*at]);
    let changed: Vec<usize> = changed.collect();
    // Nothing is changed but the ends of heads.
    assert!(changed.iter().all(|at| bytes[*at] == b'\n'), "{changed:?}");
    assert!(changed.len() <= 1, "behind a refused head: {changed:?}");
    check(&read);
});

/// What is tried; with the fault, two lengths pass.
fn heads(bytes: &[u8], size: usize) -> Vec<u8> {
    let read = fuzzing::heads(bytes, size);
    let lengths = bytes
        .windows(15)
        .filter(|part| part.eq_ignore_ascii_case(b"content-length:"));
    if PLANTED && lengths.count() > 1 { bytes.to_vec() } else { read }
}

/// Reads heads as hyper's parser does, as far as that goes, and asserts of
/// each that a strict reader takes it for the same.
fn check(mut rest: &[u8]) {
    loop {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS];
        let mut head = httparse::Request::new(&mut headers);
        let Ok(httparse::Status::Complete(end)) = head.parse(rest) else {
            return;
        };
        let text = String::from_utf8_lossy(&rest[..end]);
        let mut pairs = rest[..end].windows(2);
        let lone = pairs.any(|pair| pair[1] == b'\n' && pair[0] != b'\r');
        assert!(!lone && rest[0] != b'\n', "a line feed alone: {text:?}");
        let values = |name: &str| -> Vec<&[u8]> {
            let named = head.headers.iter();
            named
                .filter(|header| header.name.eq_ignore_ascii_case(name))
                .map(|header| header.value)
                .collect()
        };
        let hosts = values("host").len();
        assert!(hosts <= 1, "{text:?}");
        assert!(hosts == 1 || head.version == Some(0), "{text:?}");
        let (lengths, codings) =
            (values("content-length"), values("transfer-encoding"));
        assert!(lengths.len() + codings.len() <= 1, "{text:?}");
        if let [coding] = codings[..] {
            assert!(coding.eq_ignore_ascii_case(b"chunked"), "{text:?}");
            return;
        }
        let length = match lengths[..] {
            [length] => {
                let plain = length.iter().all(u8::is_ascii_digit);
                assert!(plain && !length.is_empty(), "{text:?}");
                let length = std::str::from_utf8(length).expect("digits");
                length.parse::<i64>().expect("a length that fits")
            }
            _ => 0,
        };
        let length = usize::try_from(length).expect("no sign");
        let Some(next) = rest.get(end..).and_then(|rest| rest.get(length..))
        else {
            return;
        };
        rest = next;
    }
}
