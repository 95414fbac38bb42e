//! Files of data that the server makes for pages, and that they load later.
//! Their names change with their contents.

use http::HeaderMap;
use serde_json::Value;

use super::assets::{Content, IMMUTABLE};
use super::encoded::Encodings;
use crate::http::{Answer, Coding};

#[derive(Debug)]
pub(super) struct DataFile {
    name: String,
    content: Encodings,
}

impl DataFile {
    /// Returns a file with this JSON, whose name begins with `kind`.
    pub(super) fn new(kind: &str, data: &Value) -> Self {
        let content = Encodings::new(data.to_string().into_bytes());
        Self { name: content.plain.named(kind, "json"), content }
    }

    pub(super) fn is_called(&self, name: &str) -> bool {
        self.name == name
    }

    /// Returns the address of the file, relative to that of the page.
    pub(super) fn address(&self) -> String {
        format!("embed/assets/{}", self.name)
    }

    pub(super) fn answer(&self, request: &HeaderMap) -> Answer {
        let coding = Coding::best(request);
        let content = Content {
            content_type: "application/json",
            coding,
            encoded: self.content.encoded(coding).clone(),
        };
        content.answer(request, IMMUTABLE)
    }

    #[cfg(test)]
    pub(super) fn text(&self) -> &str {
        std::str::from_utf8(&self.content.plain.bytes).unwrap()
    }
}
