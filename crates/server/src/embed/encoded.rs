//! Files in the codings that browsers take, each compressed once.

use std::sync::OnceLock;

use bytes::Bytes;
use sha2::{Digest, Sha256};

use crate::http::{Coding, Encoder};

/// The quality of Brotli. The highest takes many times as long, for a few bytes.
const QUALITY: i32 = 9;

/// A file in every coding.
#[derive(Debug)]
pub(super) struct Encodings {
    pub(super) plain: Encoded,
    brotli: OnceLock<Encoded>,
    gzip: OnceLock<Encoded>,
}

/// The bytes of a file in one coding, and their `ETag`: packed and plain ones
/// have different tags.
#[derive(Clone, Debug)]
pub(super) struct Encoded {
    pub(super) bytes: Bytes,
    pub(super) tag: String,
}

impl Encodings {
    pub(super) fn new(plain: Vec<u8>) -> Self {
        Self {
            plain: Encoded::new(plain),
            brotli: OnceLock::new(),
            gzip: OnceLock::new(),
        }
    }

    /// Returns it in a coding; it is compressed when that is first needed.
    pub(super) fn encoded(&self, coding: Option<Coding>) -> &Encoded {
        let Some(coding) = coding else { return &self.plain };
        let once = match coding {
            Coding::Brotli => &self.brotli,
            Coding::Gzip => &self.gzip,
        };
        once.get_or_init(|| Encoded::compress(coding, &self.plain.bytes))
    }
}

impl Encoded {
    /// Returns bytes that are in their coding.
    fn new(bytes: Vec<u8>) -> Self {
        let tag = tag(Sha256::digest(&bytes).into());
        Self { bytes: bytes.into(), tag }
    }

    /// Returns a name that changes with the bytes.
    pub(super) fn named(&self, name: &str, extension: &str) -> String {
        format!("{name}-{}.{extension}", self.tag.trim_matches('"'))
    }

    fn compress(coding: Coding, plain: &[u8]) -> Self {
        let mut encoder = Encoder::new(coding, QUALITY, plain.len());
        encoder.write(plain);
        Self::new(encoder.finish())
    }
}

/// Returns the `ETag` of bytes with this hash. Eight bytes of it identify a
/// version.
pub(super) fn tag(hash: [u8; 32]) -> String {
    let [a, b, c, d, e, f, g, h, ..] = hash;
    format!("\"{:016x}\"", u64::from_be_bytes([a, b, c, d, e, f, g, h]))
}
