//! The snippets of a language, and the names that may follow a dot, as files
//! that the page loads when completion is first asked for.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Error, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use http::HeaderMap;
use sandpiper_engine::languages::{Catalog, Language, MembersFile};
use serde_json::{Value, json};

use super::data_file::DataFile;
use crate::http::Answer;

const KIND: &str = "completions";

/// The largest list of members that is read.
const MAX_MEMBERS_BYTES: u64 = 1 << 20;

/// The files of the languages that have snippets or members, by their ids.
#[derive(Debug)]
pub(super) struct Completions {
    made: BTreeMap<String, Mutex<Option<Made>>>,
}

/// The file of a language, and the image that it was made from.
#[derive(Debug)]
struct Made {
    rootfs: Option<PathBuf>,
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

    /// The address of a language's file, relative to that of its page.
    pub(super) fn address(
        &self,
        language: &Language,
        rootfs: impl Fn(&Language) -> Option<PathBuf>,
    ) -> Option<String> {
        Some(self.file(language, rootfs)?.address())
    }

    /// The file of this name, if it is one of these languages'.
    pub(super) fn answer<'a>(
        &self,
        name: &str,
        request: &HeaderMap,
        mut languages: impl Iterator<Item = &'a Language>,
        rootfs: impl Fn(&Language) -> Option<PathBuf>,
    ) -> Option<Answer> {
        if !name.starts_with(KIND) {
            return None;
        }
        let file = languages.find_map(|language| {
            let file = self.file(language, &rootfs)?;
            file.is_called(name).then_some(file)
        })?;
        Some(file.answer(request))
    }

    /// The file of a language. It is made once for each image: that takes a
    /// few milliseconds.
    fn file(
        &self,
        language: &Language,
        rootfs: impl Fn(&Language) -> Option<PathBuf>,
    ) -> Option<Arc<DataFile>> {
        let made = self.made.get(language.id())?;
        let members = language.editor().members();
        let is_in_image = members
            .is_some_and(|it| matches!(it.file, MembersFile::InImage(_)));
        let rootfs = rootfs(language).filter(|_| is_in_image);
        let mut made = made.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(made) = made.as_ref().filter(|made| made.rootfs == rootfs) {
            return Some(Arc::clone(&made.file));
        }
        let data = data(language, rootfs.as_deref());
        let file = Arc::new(DataFile::new(KIND, &data));
        *made = Some(Made { rootfs, file: Arc::clone(&file) });
        Some(file)
    }
}

/// Everything that the page needs (web/src/editor/members/library.ts). Without
/// the image there are no members, and the address is another one later.
fn data(language: &Language, rootfs: Option<&Path>) -> Value {
    let editor = language.editor();
    let Some(members) = editor.members() else {
        return json!({ "snippets": editor.snippets() });
    };
    let file = match (&members.file, rootfs) {
        (MembersFile::InImage(path), Some(rootfs)) => read(rootfs, path),
        (MembersFile::InImage(_), None) => Ok(Value::Null),
        (MembersFile::InFolder(bytes), _) => parse(bytes),
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

fn read(rootfs: &Path, path: &str) -> Result<Value, Error> {
    let path = rootfs.join(path.trim_start_matches('/')).canonicalize()?;
    if !path.starts_with(rootfs.canonicalize()?) {
        return Err(Error::new(ErrorKind::InvalidInput, "not in the image"));
    }
    let mut bytes = Vec::new();
    File::open(path)?.take(MAX_MEMBERS_BYTES + 1).read_to_end(&mut bytes)?;
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
            fs::create_dir(image.path().join("opt")).unwrap();
            let completions = Completions::new(&catalog);
            Self { catalog, completions, image }
        }

        fn text(&self, language: &str, has_image: bool) -> Option<String> {
            let image = self.image.path().to_owned();
            let rootfs = |_: &Language| has_image.then(|| image.clone());
            let language = self.catalog.find(language).unwrap();
            let address = self.completions.address(language, rootfs)?;
            let name = address.strip_prefix("embed/assets/").unwrap();
            let headers = HeaderMap::new();
            let languages = || self.catalog.languages();
            let answer =
                self.completions.answer(name, &headers, languages(), rootfs);
            assert!(answer.is_some(), "{name}");
            let other = "completions-0.json";
            let none =
                self.completions.answer(other, &headers, languages(), rootfs);
            assert!(none.is_none());
            let file = self.completions.file(language, rootfs)?;
            Some(file.text().to_owned())
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
        // Not there, then no JSON.
        check("a", true, none);
        let path = world.image.path().join("opt/m.json");
        fs::write(&path, "{\"types\":{}}").unwrap();
        check("a", false, none);
        check("a", true, &none.replace("null", r#"{"types":{}}"#));
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
        let image = tempfile::tempdir().unwrap();
        let root = image.path();
        let check = |content: &[u8], expected: ErrorKind| {
            fs::write(root.join("m.json"), content).unwrap();
            let error = read(root, "/m.json").unwrap_err();
            assert_eq!(error.kind(), expected);
        };
        check(b"{", ErrorKind::UnexpectedEof);
        check(b"x", ErrorKind::InvalidData);
        let long = vec![b' '; (1 << 20) + 1];
        check(&long, ErrorKind::FileTooLarge);
        let outside = tempfile::NamedTempFile::new().unwrap();
        fs::remove_file(root.join("m.json")).unwrap();
        std::os::unix::fs::symlink(outside.path(), root.join("m.json"))
            .unwrap();
        let error = read(root, "/m.json").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidInput);
    }
}
