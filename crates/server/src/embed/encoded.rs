//! Files in the codings that browsers take, each compressed once.

use std::io::Write;

use brotli::enc::BrotliEncoderParams;
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::HeaderMap;
use http::header::ACCEPT_ENCODING;
use sha2::{Digest, Sha256};

/// A coding of an answer's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Coding {
    Brotli,
    Gzip,
}

impl Coding {
    /// Its name in headers.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Brotli => "br",
            Self::Gzip => "gzip",
        }
    }

    /// Returns the best coding that a request accepts.
    pub(super) fn best(request: &HeaderMap) -> Option<Self> {
        let mut codings = [Self::Brotli, Self::Gzip].into_iter();
        codings.find(|coding| coding.is_accepted(request))
    }

    /// Returns whether a request accepts it.
    pub(super) fn is_accepted(self, request: &HeaderMap) -> bool {
        let values = request.get_all(ACCEPT_ENCODING).into_iter();
        let mut codings = values
            .filter_map(|value| value.to_str().ok())
            .flat_map(|value| value.split(','));
        codings.any(|coding| {
            let (name, quality) =
                coding.split_once(';').unwrap_or((coding, ""));
            let refused = matches!(quality.trim(), "q=0" | "q=0.0");
            name.trim().eq_ignore_ascii_case(self.name()) && !refused
        })
    }
}

/// The bytes of a file in one coding, and their `ETag`.
#[derive(Clone, Debug)]
pub(super) struct Encoded {
    pub(super) bytes: Bytes,
    pub(super) tag: String,
}

impl Encoded {
    /// Returns bytes that are in their coding.
    pub(super) fn new(bytes: Vec<u8>) -> Self {
        let tag = tag(Sha256::digest(&bytes).into());
        Self { bytes: bytes.into(), tag }
    }

    /// Returns a name that changes with the bytes.
    pub(super) fn named(&self, name: &str, extension: &str) -> String {
        format!("{name}-{}.{extension}", self.tag.trim_matches('"'))
    }

    /// Compresses bytes.
    pub(super) fn compress(coding: Coding, plain: &[u8]) -> Self {
        let packed = match coding {
            Coding::Brotli => brotli(plain),
            Coding::Gzip => gzip(plain),
        };
        Self::new(packed)
    }
}

/// Returns the `ETag` of bytes with this hash. Eight bytes of it identify a
/// version.
pub(super) fn tag(hash: [u8; 32]) -> String {
    let [a, b, c, d, e, f, g, h, ..] = hash;
    format!("\"{:016x}\"", u64::from_be_bytes([a, b, c, d, e, f, g, h]))
}

fn brotli(plain: &[u8]) -> Vec<u8> {
    // The highest quality takes many times as long, for a few bytes.
    let params = BrotliEncoderParams {
        quality: 9,
        size_hint: plain.len(),
        ..BrotliEncoderParams::default()
    };
    let mut packed = Vec::new();
    // Reading from and writing to memory does not fail.
    let _ = brotli::BrotliCompress(&mut &*plain, &mut packed, &params);
    packed
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    // Writing to memory does not fail.
    let _ = encoder.write_all(plain);
    encoder.finish().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn a_request_gets_the_best_coding_that_it_accepts() {
        let check = |accepted: &'static str, expected: Option<Coding>| {
            let mut headers = HeaderMap::new();
            let accepted = HeaderValue::from_static(accepted);
            headers.insert(ACCEPT_ENCODING, accepted);
            assert_eq!(Coding::best(&headers), expected, "{headers:?}");
        };
        check("gzip, deflate, br", Some(Coding::Brotli));
        check("gzip;q=0.5, BR;q=1", Some(Coding::Brotli));
        check("gzip, br;q=0", Some(Coding::Gzip));
        check("gzip", Some(Coding::Gzip));
        check("deflate, gzip;q=0.0", None);
        check("", None);
    }
}
