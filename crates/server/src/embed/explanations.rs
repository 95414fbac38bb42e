//! The messages of a language's tools in plain words, as files that the page
//! loads when a run has printed to stderr: typing needs none.

use http::HeaderMap;
use sandpiper_engine::languages::{Catalog, Language};
use serde_json::json;

use super::data_file::DataFile;
use crate::http::Answer;

/// One file for each language that explains messages, by its id.
#[derive(Debug)]
pub(super) struct Explanations {
    files: Vec<(String, DataFile)>,
}

impl Explanations {
    pub(super) fn new(catalog: &Catalog) -> Self {
        let file = |language: &Language| {
            let explanations = language.editor().explanations();
            if explanations.is_empty() {
                return None;
            }
            let file = DataFile::new("explanations", &json!(explanations));
            Some((language.id().to_owned(), file))
        };
        Self { files: catalog.languages().filter_map(file).collect() }
    }

    /// Returns the address of a language's file, relative to that of its page.
    pub(super) fn address(&self, language: &str) -> Option<String> {
        let mut files = self.files.iter();
        let (_, file) = files.find(|(id, _)| id == language)?;
        Some(file.address())
    }

    /// Returns the file of this name, if it is one of these.
    pub(super) fn answer(
        &self,
        name: &str,
        request: &HeaderMap,
    ) -> Option<Answer> {
        let mut files = self.files.iter();
        let (_, file) = files.find(|(_, file)| file.is_called(name))?;
        Some(file.answer(request))
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
        assert_eq!(all.files[0].1.text(), r#"[["^a","b"]]"#);
        assert!(all.answer("explanations-0.json", &HeaderMap::new()).is_none());
    }
}
