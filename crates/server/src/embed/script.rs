//! `/embed.js`: the script that web/ builds, with the names of the languages
//! that this server has.

use http::HeaderMap;
use sandpiper_engine::languages::{Catalog, Language};

use super::EMBED_LANGUAGES;
use super::assets::{Content, text};
use super::encoded::Encoded;
use super::page::names;
use crate::http::{Answer, Coding};

/// The name in the script (web/src/embed-js/names.ts) that is replaced by the
/// aliases of every language, by its id.
const PLACEHOLDER: &str = "SANDPIPER_LANGUAGES";
/// The name that is replaced by the ids of the languages that `/editor` alone
/// has.
const OTHERS: &str = "SANDPIPER_OTHERS";

/// The script, plain and compressed.
#[derive(Debug)]
pub(super) struct EmbedScript {
    plain: Encoded,
    packed: Encoded,
}

impl EmbedScript {
    pub(super) fn new(catalog: &Catalog) -> Self {
        let names = serde_json::json!(names(catalog)).to_string();
        let others = catalog.languages().map(Language::id);
        let others = others.filter(|id| !EMBED_LANGUAGES.contains(id));
        let others = serde_json::json!(others.collect::<Vec<_>>()).to_string();
        let plain = text("embed.js")
            .replace(PLACEHOLDER, &names)
            .replace(OTHERS, &others)
            .into_bytes();
        let packed = Encoded::compress(Coding::Brotli, &plain);
        Self { plain: Encoded::new(plain), packed }
    }

    /// Answers a request with these headers.
    pub(super) fn answer(&self, request: &HeaderMap) -> Answer {
        let is_packed = Coding::Brotli.is_accepted(request);
        let file = if is_packed { &self.packed } else { &self.plain };
        let content = Content {
            content_type: "text/javascript; charset=utf-8",
            tag: &file.tag,
            coding: is_packed.then_some(Coding::Brotli),
            bytes: file.bytes.clone(),
        };
        content.answer(request, "public, max-age=3600")
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use super::super::tests::catalog;
    use super::*;

    #[test]
    #[cfg_attr(not(editor), ignore = "needs the editor page: make web")]
    fn the_script_knows_the_names_of_the_languages() {
        assert_eq!(text("embed.js").matches(PLACEHOLDER).count(), 1);
        assert_eq!(text("embed.js").matches(OTHERS).count(), 1);
        let script = EmbedScript::new(&catalog());
        let plain = String::from_utf8(script.plain.bytes.to_vec()).unwrap();
        let names = r#"{"c":[],"java":[],"python":["py","python3"]}"#;
        assert_eq!(plain.matches(names).count(), 1, "{plain}");
        let mut unpacked = String::new();
        brotli::Decompressor::new(&*script.packed.bytes, 4096)
            .read_to_string(&mut unpacked)
            .unwrap();
        assert_eq!(unpacked, plain);
        assert_ne!(script.packed.tag, script.plain.tag);
    }
}
