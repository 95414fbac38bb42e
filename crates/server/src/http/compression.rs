//! Compression of answers, in the codings that clients accept.

use std::io::Write;

use brotli::CompressorWriter;
use brotli::enc::BrotliEncoderParams;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING, ETAG, VARY};
use http::{HeaderMap, HeaderValue};
use http_body_util::BodyExt;
use tokio::task::yield_now;

use super::{Answer, AnswerMemory};

/// Shorter bodies hardly ever become shorter.
const MIN_BYTES: usize = 32;
/// Bytes that are compressed before other tasks have a turn.
const TURN_BYTES: usize = 64 * 1024;
/// The quality of Brotli for answers of which each is another one.
const QUALITY: i32 = 5;
/// That of large ones. It takes half as long, for a few bytes.
const QUICK: i32 = 4;

/// A coding of an answer's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Coding {
    Brotli,
    Gzip,
}

/// Compresses bytes.
pub(crate) enum Encoder {
    Brotli(Box<CompressorWriter<Vec<u8>>>),
    Gzip(GzEncoder<Vec<u8>>),
}

/// Returns the answer in the coding that `headers` prefer, with `Vary`. If they
/// accept none, not even that of the answer, it stays as it is (RFC 9110, 12.5.3),
/// and so it does if it would not get shorter.
pub(crate) async fn compressed(
    headers: &HeaderMap,
    answer: Answer,
    memory: &AnswerMemory,
) -> Answer {
    let (mut head, body) = answer.into_parts();
    let Ok(body) = body.collect().await;
    let plain = body.to_bytes();
    // A file has its tag in each coding, and is in the best one.
    let is_file = head.headers.contains_key(ETAG);
    if is_file || plain.len() < MIN_BYTES {
        return Answer::from_parts(head, plain.into());
    }
    let vary = HeaderValue::from_static("accept-encoding");
    if head.headers.get(VARY) != Some(&vary) {
        head.headers.append(VARY, vary);
    }
    let Some(coding) = Coding::best(headers) else {
        return Answer::from_parts(head, plain.into());
    };
    let is_large = plain.len() > TURN_BYTES;
    let quality = if is_large { QUICK } else { QUALITY };
    let mut encoder = Encoder::new(coding, quality, plain.len());
    for part in plain.chunks(TURN_BYTES) {
        encoder.write(part);
        yield_now().await;
    }
    let packed = encoder.finish();
    if packed.len() >= plain.len() {
        return Answer::from_parts(head, plain.into());
    }
    let name = HeaderValue::from_static(coding.name());
    head.headers.insert(CONTENT_ENCODING, name);
    Answer::from_parts(head, memory.count(packed).into())
}

impl Coding {
    /// Returns its name in headers.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Gzip => "gzip",
        }
    }

    /// Returns the coding that a request prefers, and of two the better one.
    /// Returns `None` if it prefers an answer as it is.
    pub(crate) fn best(request: &HeaderMap) -> Option<Self> {
        let codings = [Self::Gzip, Self::Brotli].into_iter();
        let weighted = codings.map(|it| (weight(request, it.name()), it));
        let least = weight(request, "identity");
        let accepted =
            weighted.filter(|(weight, _)| *weight > 0.0 && *weight >= least);
        let best = accepted.max_by(|(a, _), (b, _)| a.total_cmp(b));
        best.map(|(_, coding)| coding)
    }
}

/// Returns the weight that a request gives to a coding, 0 if it does not accept it
/// or does not name it.
fn weight(request: &HeaderMap, coding: &str) -> f32 {
    let values = request.get_all(ACCEPT_ENCODING).into_iter();
    let all = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','));
    let mut of_others = 0.0;
    for one in all {
        let (name, weight) = one.split_once(';').unwrap_or((one, ""));
        let weight = weight.trim().to_ascii_lowercase();
        let weight = match weight.strip_prefix("q=") {
            Some(number) => number.parse().unwrap_or(0.0),
            None => 1.0,
        };
        if name.trim().eq_ignore_ascii_case(coding) {
            return weight;
        }
        if name.trim() == "*" {
            of_others = weight;
        }
    }
    of_others
}

impl Encoder {
    /// Returns an encoder with a quality of Brotli, for about this many bytes.
    pub(crate) fn new(coding: Coding, quality: i32, size_hint: usize) -> Self {
        match coding {
            Coding::Brotli => {
                const BUFFER: usize = 4096;
                let params = BrotliEncoderParams {
                    quality,
                    size_hint,
                    ..BrotliEncoderParams::default()
                };
                let to = Vec::new();
                let encoder =
                    CompressorWriter::with_params(to, BUFFER, &params);
                Self::Brotli(Box::new(encoder))
            }
            Coding::Gzip => {
                Self::Gzip(GzEncoder::new(Vec::new(), Compression::default()))
            }
        }
    }

    pub(crate) fn write(&mut self, plain: &[u8]) {
        // Writing to memory does not fail.
        let _ = match self {
            Self::Brotli(encoder) => encoder.write_all(plain),
            Self::Gzip(encoder) => encoder.write_all(plain),
        };
    }

    /// Returns all of it, compressed.
    pub(crate) fn finish(self) -> Vec<u8> {
        match self {
            Self::Brotli(encoder) => encoder.into_inner(),
            Self::Gzip(encoder) => encoder.finish().unwrap_or_default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_gets_the_coding_that_it_prefers() {
        let check = |accepted: &'static str, expected: Option<Coding>| {
            let mut headers = HeaderMap::new();
            let accepted = HeaderValue::from_static(accepted);
            headers.insert(ACCEPT_ENCODING, accepted);
            assert_eq!(Coding::best(&headers), expected, "{headers:?}");
        };
        check("gzip, deflate, br", Some(Coding::Brotli));
        check("gzip;q=0.5, BR;q=1", Some(Coding::Brotli));
        check("br;q=0.5, gzip; Q=0.8", Some(Coding::Gzip));
        check("gzip, br;q=0", Some(Coding::Gzip));
        check("gzip", Some(Coding::Gzip));
        check("*", Some(Coding::Brotli));
        check("*, br;q=0", Some(Coding::Gzip));
        check("deflate, gzip;q=0.0", None);
        check("br;q=0.000, identity;q=0, *;q=0", None);
        check("identity, gzip;q=0.5", None);
        check("identity, gzip", Some(Coding::Gzip));
        check("identity;q=0.5, *;q=0.7", Some(Coding::Brotli));
        check("gzip;q=x", None);
        check("", None);
    }
}
