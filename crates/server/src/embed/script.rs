//! `/embed.js`: the script that web/ builds, with the names of the languages
//! that this server has.

use http::HeaderMap;
use sandpiper_engine::languages::{Catalog, Language};

use super::EMBED_LANGUAGES;
use super::assets::{Content, text};
use super::encoded::Encodings;
use super::page::names;
use crate::http::{Answer, Coding};

/// The name in the script (web/src/embed-js/names.ts) that is replaced by the
/// aliases of every language, by its id.
const PLACEHOLDER: &str = "SANDPIPER_LANGUAGES";
/// The name that is replaced by the ids of the languages that `/editor` alone
/// has.
const OTHERS: &str = "SANDPIPER_OTHERS";

#[derive(Debug)]
pub(super) struct EmbedScript(Encodings);

impl EmbedScript {
    pub(super) fn new(catalog: &Catalog) -> Self {
        let names = serde_json::json!(names(catalog)).to_string();
        let others = catalog.languages().map(Language::id);
        let others = others.filter(|id| !EMBED_LANGUAGES.contains(id));
        let others = serde_json::json!(others.collect::<Vec<_>>()).to_string();
        let script = text("embed.js")
            .replace(PLACEHOLDER, &names)
            .replace(OTHERS, &others);
        Self(Encodings::new(script.into_bytes()))
    }

    /// Answers a request with these headers.
    pub(super) fn answer(&self, request: &HeaderMap) -> Answer {
        let coding = Coding::best(request);
        let content = Content {
            content_type: "text/javascript; charset=utf-8",
            coding,
            encoded: self.0.encoded(coding).clone(),
        };
        content.answer(request, "public, max-age=3600")
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::catalog;
    use super::*;

    #[test]
    #[cfg_attr(not(editor), ignore = "needs the editor page: make web")]
    fn the_script_knows_the_names_of_the_languages() {
        assert_eq!(text("embed.js").matches(PLACEHOLDER).count(), 1);
        assert_eq!(text("embed.js").matches(OTHERS).count(), 1);
        let script = EmbedScript::new(&catalog());
        let plain = String::from_utf8(script.0.plain.bytes.to_vec()).unwrap();
        let names = r#"{"c":[],"java":[],"python":["py","python3"]}"#;
        assert_eq!(plain.matches(names).count(), 1, "{plain}");
    }
}
