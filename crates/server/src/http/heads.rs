//! Reads along with hyper, and spoils each head that another reader, such as
//! a proxy in front, could take for another request.
//!
//! hyper drops a Content-Length beside a Transfer-Encoding, joins lengths that
//! are equal and takes lines without a carriage return, so that the routes see
//! none of it. A head that is spoiled is one that hyper refuses itself.

use memchr::memchr;

use crate::limits::HEAD_BYTES;

/// What takes the place of the last byte of a head that is refused: no line
/// ends in it.
const SPOILT: u8 = 0;
/// What comes behind it. hyper looks at a head that came in pieces only when
/// it sees an end.
const END: &[u8] = b"\r\n\r\n";

/// Where in the client's bytes hyper is.
#[derive(Debug)]
pub(crate) struct Heads {
    place: Place,
    /// The beginning of a line whose end has not come yet.
    line: Vec<u8>,
    /// What hyper must read next, before anything of the client.
    behind: &'static [u8],
}

#[derive(Debug)]
enum Place {
    Head(Head),
    /// This many bytes before the next head.
    Body(u64),
    /// Behind the last head that is answered.
    Rest,
}

/// What is known of a head so far.
#[derive(Debug, Default)]
struct Head {
    begun: bool,
    needs_host: bool,
    hosts: u32,
    lengths: u32,
    length: u64,
    codings: u32,
    is_doubtful: bool,
}

impl Heads {
    pub(crate) fn new() -> Self {
        let place = Place::Head(Head::default());
        Self { place, line: Vec::new(), behind: b"" }
    }

    /// What hyper must read before anything more of the client.
    pub(crate) fn behind(&mut self) -> &'static [u8] {
        std::mem::take(&mut self.behind)
    }

    /// Whether each body that has begun was taken to its end.
    pub(crate) fn is_body_whole(&self) -> bool {
        matches!(self.place, Place::Head(_))
    }

    /// Takes what hyper is about to read.
    pub(crate) fn read(&mut self, mut bytes: &mut [u8]) {
        while !bytes.is_empty() {
            let taken = match &mut self.place {
                Place::Rest => return,
                Place::Body(left) => {
                    let count = usize::try_from(*left).unwrap_or(usize::MAX);
                    let count = count.min(bytes.len());
                    *left -= count as u64;
                    if *left == 0 {
                        self.place = Place::Head(Head::default());
                    }
                    count
                }
                Place::Head(head) => {
                    let Some(end) = memchr(b'\n', bytes) else {
                        self.keep(bytes);
                        return;
                    };
                    let line = &bytes[..end];
                    let is_last = if self.line.is_empty() {
                        head.line(line)
                    } else {
                        self.line.extend_from_slice(line);
                        head.line(&std::mem::take(&mut self.line))
                    };
                    if is_last {
                        let next = head.next();
                        if head.is_refused() {
                            bytes[end] = SPOILT;
                            self.behind = END;
                        }
                        self.place = next;
                    }
                    end + 1
                }
            };
            bytes = &mut bytes[taken..];
        }
    }

    fn keep(&mut self, bytes: &[u8]) {
        if self.line.len() + bytes.len() > HEAD_BYTES {
            // hyper refuses so long a line.
            self.place = Place::Rest;
            self.line = Vec::new();
        } else {
            self.line.extend_from_slice(bytes);
        }
    }
}

impl Head {
    /// Takes a line without its line feed. Says whether it ends the head.
    fn line(&mut self, line: &[u8]) -> bool {
        // Some take a lone line feed for a part of the line.
        self.is_doubtful |= !line.ends_with(b"\r");
        let line = line.strip_suffix(b"\r").unwrap_or(line);
        if line.is_empty() {
            return self.begun;
        }
        if !self.begun {
            self.begun = true;
            self.needs_host = line.ends_with(b" HTTP/1.1");
            return false;
        }
        // A line without one, or with space before it, hyper refuses.
        let Some(colon) = memchr(b':', line) else { return false };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            self.lengths += 1;
            match number(value) {
                Some(length) => self.length = length,
                None => self.is_doubtful = true,
            }
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.codings += 1;
            // What was coded in other ways would be read as it is.
            self.is_doubtful |= !value.eq_ignore_ascii_case(b"chunked");
        } else if name.eq_ignore_ascii_case(b"host") {
            self.hosts += 1;
        }
        false
    }

    fn is_refused(&self) -> bool {
        self.is_doubtful
            || self.lengths + self.codings > 1
            || self.hosts > 1
            || (self.needs_host && self.hosts == 0)
    }

    /// What comes behind the head.
    fn next(&self) -> Place {
        // A connection ends with its first body in chunks: where that ends
        // would have to be found out here as well.
        if self.is_refused() || self.codings > 0 {
            Place::Rest
        } else if self.length > 0 {
            Place::Body(self.length)
        } else {
            Place::Head(Self::default())
        }
    }
}

/// Digits alone, and no more than a file could have.
fn number(value: &[u8]) -> Option<u64> {
    let digits = value.iter().all(u8::is_ascii_digit);
    let number: u64 = std::str::from_utf8(value).ok()?.parse().ok()?;
    (digits && i64::try_from(number).is_ok()).then_some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the last head of `bytes` is spoilt, and nothing else; the same
    /// however they are cut.
    fn is_spoilt(bytes: &str) -> bool {
        let read = |size: usize| {
            let mut heads = Heads::new();
            let mut read = bytes.as_bytes().to_vec();
            for piece in read.chunks_mut(size) {
                heads.read(piece);
            }
            read
        };
        let whole = read(bytes.len());
        for size in 1..bytes.len() {
            assert_eq!(read(size), whole, "{bytes:?} by {size}");
        }
        let changed: Vec<usize> = (0..bytes.len())
            .filter(|at| whole[*at] != bytes.as_bytes()[*at])
            .collect();
        let end = bytes.rfind("\n\r\n").map(|at| at + 2);
        let end = end.or_else(|| bytes.rfind("\n\n").map(|at| at + 1));
        match changed[..] {
            [] => false,
            [at] => {
                assert_eq!(Some(at), end, "{bytes:?}");
                true
            }
            _ => panic!("{bytes:?}: {changed:?}"),
        }
    }

    #[test]
    fn heads_that_can_be_read_in_one_way_stay() {
        for lines in [
            "Host: x\r\n",
            "hOST:x\r\nContent-Length: 0\r\n",
            "Host: x\r\nContent-Length:\t 000 \r\n",
            "Host: x\r\nTransfer-Encoding: Chunked\r\n",
            "Host: x\r\nX-Content-Length: 1\r\nContent-Lengths: 1\r\n",
        ] {
            let head = format!("GET / HTTP/1.1\r\n{lines}\r\n");
            assert!(!is_spoilt(&head), "{head}");
            assert!(!is_spoilt(&format!("\r\n\r\n{head}")), "{head}");
        }
        assert!(!is_spoilt("GET / HTTP/1.0\r\n\r\n"));
    }

    #[test]
    fn heads_that_can_be_read_in_two_ways_are_spoilt() {
        for lines in [
            "",
            "Host: x\r\nHost: x\r\n",
            "Host: x\r\nContent-Length: 0\r\nContent-Length: 0\r\n",
            "Host: x\r\nContent-Length: +1\r\n",
            "Host: x\r\nContent-Length: 1,1\r\n",
            "Host: x\r\nContent-Length: 9223372036854775808\r\n",
            "Host: x\r\nContent-Length:\r\n",
            "Host: x\r\nContent-Length: 0\r\nTransfer-Encoding: chunked\r\n",
            "Host: x\r\nTransfer-Encoding: chunked\r\nContent-Length: 0\r\n",
            "Host: x\r\ntransfer-encoding: chunked, chunked\r\n",
            "Host: x\r\nTransfer-Encoding: gzip, chunked\r\n",
            "Host: x\r\nTransfer-Encoding: \x0bchunked\r\n",
            "Host: x\nA: b\r\n",
        ] {
            let head = format!("GET / HTTP/1.1\r\n{lines}\r\n");
            assert!(is_spoilt(&head), "{head}");
        }
        assert!(is_spoilt("GET / HTTP/1.0\n\n"));
        assert!(is_spoilt("GET / HTTP/1.1\r\nHost: x\r\n\n"));
    }

    #[test]
    fn the_next_head_is_found_behind_a_body() {
        let bad = "GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n";
        let after = |lines: &str, body: &str| {
            let first = format!("POST / HTTP/1.1\r\nHost: x\r\n{lines}\r\n");
            is_spoilt(&format!("{first}{body}{bad}"))
        };
        assert!(after("", ""));
        assert!(after("Content-Length: 4\r\n", "\r\n\r\n"));
        // The head is a part of the body.
        let length = format!("Content-Length: {}\r\n", bad.len());
        assert!(!after(&length, ""));
        // Nothing behind chunks is answered.
        assert!(!after("Transfer-Encoding: chunked\r\n", "0\r\n\r\n"));
    }
}
