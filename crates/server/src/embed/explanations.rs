//! The messages of a language's tools in plain words, as files that the page
//! loads when a run has printed to stderr: typing needs none.

use bytes::Bytes;
use http::HeaderMap;
use sandpiper_engine::languages::{Catalog, Language};
use serde_json::json;
use sha2::{Digest, Sha256};

use super::assets::{Content, IMMUTABLE, tag};
use crate::http::Answer;

/// One file for each language that explains messages.
#[derive(Debug)]
pub(super) struct Explanations {
    files: Vec<File>,
}

#[derive(Debug)]
struct File {
    language: String,
    /// It changes with the contents.
    name: String,
    tag: String,
    bytes: Bytes,
}

impl Explanations {
    pub(super) fn new(catalog: &Catalog) -> Self {
        Self { files: catalog.languages().filter_map(File::new).collect() }
    }

    /// The address of a language's file, relative to that of its page.
    pub(super) fn address(&self, language: &str) -> Option<String> {
        let file = self.files.iter().find(|file| file.language == language)?;
        Some(format!("embed/assets/{}", file.name))
    }

    /// The file of this name, if it is one of these.
    pub(super) fn answer(
        &self,
        name: &str,
        request: &HeaderMap,
    ) -> Option<Answer> {
        let file = self.files.iter().find(|file| file.name == name)?;
        let content = Content {
            content_type: "application/json",
            tag: &file.tag,
            is_packed: false,
            bytes: file.bytes.clone(),
        };
        Some(content.answer(request, IMMUTABLE))
    }
}

impl File {
    fn new(language: &Language) -> Option<Self> {
        let explanations = language.editor().explanations();
        if explanations.is_empty() {
            return None;
        }
        let bytes = json!(explanations).to_string().into_bytes();
        let tag = tag(Sha256::digest(&bytes).into());
        Some(Self {
            language: language.id().to_owned(),
            name: format!("explanations-{}.json", tag.trim_matches('"')),
            tag,
            bytes: bytes.into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use http::StatusCode;

    use super::super::tests::source;
    use super::*;

    #[test]
    fn a_language_has_the_file_that_its_page_names() {
        let lines = "[editor.messages]\nexplanations = [['^a', 'b']]";
        let sources = [source("c", lines), source("java", "")];
        let all = Explanations::new(&Catalog::load(sources).unwrap());
        assert_eq!(all.address("java"), None);
        let address = all.address("c").unwrap();
        let name = address.strip_prefix("embed/assets/").unwrap();
        let answer = all.answer(name, &HeaderMap::new()).unwrap();
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(&all.files[0].bytes[..], br#"[["^a","b"]]"#);
        assert!(all.answer("explanations-0.json", &HeaderMap::new()).is_none());
    }
}
