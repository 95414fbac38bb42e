//! The snippets of a language, and the names that may follow a dot, as files
//! that the page loads when completion is first asked for.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Error, ErrorKind, Read};
use std::sync::{Arc, Mutex, PoisonError};

use http::HeaderMap;
use sandpiper_engine::languages::{Catalog, Language, MembersFile};
use serde_json::{Value, json};

use super::data_file::DataFile;
use super::image_file::Version;
use crate::http::Answer;

const KIND: &str = "completions";

/// The largest list of members that is read.
const MAX_MEMBERS_BYTES: u64 = 1 << 20;

/// The files of the languages that have snippets or members, by their ids.
#[derive(Debug)]
pub(super) struct Completions {
    made: BTreeMap<String, Mutex<Option<Made>>>,
}

/// The file of a language, and the list in the image that it was made from.
#[derive(Debug)]
struct Made {
    members: Option<Version>,
    file: Arc<DataFile>,
}

impl Completions {
    pub(super) fn new(catalog: &Catalog) -> Self {
        let has_any = |language: &&Language| {
            let editor = language.editor();
            !editor.snippets().is_empty() || editor.members().is_some()
        };
        let languages = catalog.languages().filter(has_any);
        let made = languages
            .map(|language| (language.id().to_owned(), Mutex::default()))
            .collect();
        Self { made }
    }

    /// Returns the address of a language's file, relative to that of its page.
    pub(super) fn address(
        &self,
        language: &Language,
        open: impl Fn(&Language, &str) -> Option<File>,
    ) -> Option<String> {
        Some(self.file(language, open)?.address())
    }

    /// Returns the file of this name, if it is one of these languages'.
    pub(super) fn answer<'a>(
        &self,
        name: &str,
        request: &HeaderMap,
        mut languages: impl Iterator<Item = &'a Language>,
        open: impl Fn(&Language, &str) -> Option<File>,
    ) -> Option<Answer> {
        if !name.starts_with(KIND) {
            return None;
        }
        let file = languages.find_map(|language| {
            let file = self.file(language, &open)?;
            file.is_called(name).then_some(file)
        })?;
        Some(file.answer(request))
    }

    /// Returns the file of a language. It is made once for each list of
    /// members: that takes a few milliseconds.
    fn file(
        &self,
        language: &Language,
        open: impl Fn(&Language, &str) -> Option<File>,
    ) -> Option<Arc<DataFile>> {
        let made = self.made.get(language.id())?;
        let opened = match language.editor().members().map(|it| &it.file) {
            Some(MembersFile::InImage(path)) => open(language, path),
            Some(MembersFile::InFolder(_)) | None => None,
        };
        let members = opened.as_ref().and_then(|file| Version::of(file).ok());
        let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = made.as_ref().filter(|it| it.members == members) {
            return Some(Arc::clone(&made.file));
        }
        let data = data(language, opened);
        let file = Arc::new(DataFile::new(KIND, &data));
        *made = Some(Made { members, file: Arc::clone(&file) });
        Some(file)
    }
}

/// Everything that the page needs (web/src/editor/members/library.ts). Without
/// the image there are no members, and the address is another one later.
fn data(language: &Language, opened: Option<File>) -> Value {
    let editor = language.editor();
    let Some(members) = editor.members() else {
        return json!({ "snippets": editor.snippets() });
    };
    let file = match (&members.file, opened) {
        (MembersFile::InFolder(bytes), _) => parse(bytes),
        (MembersFile::InImage(_), Some(file)) => read(file),
        (MembersFile::InImage(_), None) => Ok(Value::Null),
    };
    let file = file.unwrap_or_else(|error| {
        let language = language.id();
        tracing::warn!(language, "its list of members cannot be read: {error}");
        Value::Null
    });
    json!({
        "snippets": editor.snippets(),
        "values": members.values,
        "declares": members.declares,
        "members": file,
    })
}

fn read(file: File) -> Result<Value, Error> {
    let mut bytes = Vec::new();
    file.take(MAX_MEMBERS_BYTES + 1).read_to_end(&mut bytes)?;
    parse(&bytes)
}

fn parse(bytes: &[u8]) -> Result<Value, Error> {
    if bytes.len() as u64 > MAX_MEMBERS_BYTES {
        return Err(ErrorKind::FileTooLarge.into());
    }
    Ok(serde_json::from_slice(bytes)?)
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::{Seek, Write};
    use std::path::PathBuf;

    use super::super::tests::source;
    use super::*;

    /// The texts of the files of languages `a` to `c`, with and without an
    /// image.
    struct World {
        catalog: Catalog,
        completions: Completions,
        image: tempfile::TempDir,
    }

    impl World {
        fn new() -> Self {
            let mut folder = source("b", "[editor.members]\nfile = \"m.json\"");
            folder.files.insert("m.json".to_owned(), b"{\"types\":{}}".into());
            let in_image = "[editor.members]\nfile = \"/opt/m.json\"\n\
                            values = [[\"^x\", \"y\"]]";
            let snippets = "[editor.snippets]\nmain = \"int main\"";
            let sources =
                [source("a", in_image), folder, source("c", snippets)];
            let catalog =
                Catalog::load(sources.into_iter().chain([source("d", "")]));
            let catalog = catalog.unwrap();
            let image = tempfile::tempdir().unwrap();
            let completions = Completions::new(&catalog);
            Self { catalog, completions, image }
        }

        fn text(&self, language: &str, has_image: bool) -> Option<String> {
            let open = |_: &Language, path: &str| {
                assert_eq!(path, "/opt/m.json");
                let file = File::open(self.members()).ok();
                file.filter(|_| has_image)
            };
            let language = self.catalog.find(language).unwrap();
            let address = self.completions.address(language, open)?;
            let name = address.strip_prefix("embed/assets/").unwrap();
            let headers = HeaderMap::new();
            let languages = || self.catalog.languages();
            let answer =
                self.completions.answer(name, &headers, languages(), open);
            assert!(answer.is_some(), "{name}");
            let other = "completions-0.json";
            let none =
                self.completions.answer(other, &headers, languages(), open);
            assert!(none.is_none());
            let file = self.completions.file(language, open)?;
            Some(file.text().to_owned())
        }

        /// The list in the image of `a`.
        fn members(&self) -> PathBuf {
            self.image.path().join("m.json")
        }
    }

    #[test]
    fn a_language_has_the_file_that_its_page_names() {
        let world = World::new();
        let check = |language: &str, has_image: bool, expected: &str| {
            let text = world.text(language, has_image);
            assert_eq!(text.as_deref(), Some(expected), "{language}");
        };
        let none = r#"{"declares":[],"members":null,"snippets":{},"values":[["^x","y"]]}"#;
        check("a", false, none);
        check("a", true, none);
        // Another image has another list.
        for members in [r#"{"types":{}}"#, r#"{"modules":{}}"#] {
            fs::write(world.members(), members).unwrap();
            check("a", true, &none.replace("null", members));
            check("a", false, none);
        }
        check(
            "b",
            false,
            r#"{"declares":[],"members":{"types":{}},"snippets":{},"values":[]}"#,
        );
        check("c", true, r#"{"snippets":{"main":"int main"}}"#);
        assert_eq!(world.text("d", true), None);
    }

    #[test]
    fn a_wrong_list_of_members_is_none() {
        let check = |content: &[u8], expected: ErrorKind| {
            let mut file = tempfile::tempfile().unwrap();
            file.write_all(content).unwrap();
            file.rewind().unwrap();
            assert_eq!(read(file).unwrap_err().kind(), expected);
        };
        check(b"{", ErrorKind::UnexpectedEof);
        check(b"x", ErrorKind::InvalidData);
        let long = vec![b' '; (1 << 20) + 1];
        check(&long, ErrorKind::FileTooLarge);
    }
}
