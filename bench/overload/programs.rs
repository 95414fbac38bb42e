//! The programs of the soak: every language's starter, and every attack.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use sandpiper_testkit::text::{Repeat, Values, fill_with, repeat};
use sandpiper_testkit::{checkout, entries};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

/// A program of the repository.
pub(crate) struct Program {
    /// Its file or folder, from the root.
    pub(crate) name: String,
    /// An attack may end in any way.
    pub(crate) is_attack: bool,
    /// The body that sends it.
    pub(crate) body: String,
}

/// Returns the starters, and then the attacks, each sorted by name.
pub(crate) fn all() -> Vec<Program> {
    let root = checkout();
    let program = |path: &Path, is_attack, request: &Value| {
        let name = path.strip_prefix(&root).unwrap().display().to_string();
        Program { name, is_attack, body: request.to_string() }
    };
    let starters = entries(&root.join("languages"));
    let starters = starters.iter().map(|it| program(it, false, &starter(it)));
    let kinds = entries(&root.join("tests/attack")).into_iter();
    // Requests attack the server before a program runs.
    let kinds = kinds.filter(|it| it.is_dir() && !it.ends_with("request"));
    let attacks = kinds.flat_map(|folder| entries(&folder));
    let attacks = attacks.map(|it| program(&it, true, &attack(&it)));
    starters.chain(attacks).collect()
}

fn starter(folder: &Path) -> Value {
    let definition: toml::Table = parsed(&folder.join("language.toml"));
    let entry = definition["starter"]["entry"].as_str().unwrap();
    let id = folder.file_name().unwrap().to_str().unwrap();
    let root = folder.join("starter");
    request(id, entry, &files(&root, &root), "")
}

/// Returns the texts of the files of a folder and the folders in it, by their paths
/// from `root`.
fn files(root: &Path, folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    for path in entries(folder) {
        if path.is_dir() {
            found.extend(files(root, &path));
        } else {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap();
            found.insert(name.to_owned(), fs::read_to_string(&path).unwrap());
        }
    }
    found
}

/// The keys of an attack that its request needs.
#[derive(Deserialize)]
struct Attack {
    language: String,
    /// May be missing if there is one file.
    entry: Option<String>,
    files: BTreeMap<String, String>,
    #[serde(default)]
    stdin: String,
    #[serde(default)]
    set: Values,
    #[serde(default)]
    repeat: BTreeMap<String, Repeat>,
}

fn attack(path: &Path) -> Value {
    let Attack { language, entry, files, stdin, set, repeat: repeats } =
        parsed(path);
    let mut values = Values::new();
    repeat(&mut values, &repeats);
    let set =
        set.iter().map(|(name, text)| (name.clone(), fill(text, &values)));
    let set: Vec<_> = set.collect();
    values.extend(set);
    let file = |(path, text): (&String, &String)| {
        (fill(path, &values), fill(text, &values))
    };
    let files: BTreeMap<_, _> = files.iter().map(file).collect();
    let entry = entry.map(|entry| fill(&entry, &values));
    let entry = entry.as_ref().or_else(|| files.keys().next()).unwrap();
    request(&language, entry, &files, &fill(&stdin, &values))
}

/// Fills the places of a text. Other names are those of files and ports that only
/// the tests of attacks create on the host: any word stands for them here.
fn fill(text: &str, values: &Values) -> String {
    let value =
        |name: &str| Ok(values.get(name).map_or("1", |value| value.as_str()));
    fill_with(text, value).unwrap()
}

fn request(
    language: &str,
    entry: &str,
    files: &BTreeMap<String, String>,
    stdin: &str,
) -> Value {
    let files = files.iter();
    let files =
        files.map(|(path, content)| json!({"path": path, "content": content}));
    json!({
        "language": language,
        "entryFile": entry,
        "files": files.collect::<Vec<_>>(),
        "stdin": stdin,
    })
}

fn parsed<T: DeserializeOwned>(path: &Path) -> T {
    let text = fs::read_to_string(path).unwrap();
    let parsed = toml::from_str(&text);
    parsed.map_err(|error| format!("{}: {error}", path.display())).unwrap()
}
