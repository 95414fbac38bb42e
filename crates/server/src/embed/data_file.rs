//! Files of data that the server makes for pages, and that they load later.
//! Their names change with their contents.

use bytes::Bytes;
use http::HeaderMap;
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::assets::{Content, IMMUTABLE, tag};
use crate::http::Answer;

#[derive(Debug)]
pub(super) struct DataFile {
    name: String,
    tag: String,
    bytes: Bytes,
}

impl DataFile {
    /// A file with this JSON, whose name begins with `kind`.
    pub(super) fn new(kind: &str, data: &Value) -> Self {
        let bytes = data.to_string().into_bytes();
        let tag = tag(Sha256::digest(&bytes).into());
        let name = format!("{kind}-{}.json", tag.trim_matches('"'));
        Self { name, tag, bytes: bytes.into() }
    }

    pub(super) fn is_called(&self, name: &str) -> bool {
        self.name == name
    }

    /// The address of the file, relative to that of the page.
    pub(super) fn address(&self) -> String {
        format!("embed/assets/{}", self.name)
    }

    pub(super) fn answer(&self, request: &HeaderMap) -> Answer {
        let content = Content {
            content_type: "application/json",
            tag: &self.tag,
            is_packed: false,
            bytes: self.bytes.clone(),
        };
        content.answer(request, IMMUTABLE)
    }

    #[cfg(test)]
    pub(super) fn text(&self) -> &str {
        std::str::from_utf8(&self.bytes).unwrap()
    }
}
