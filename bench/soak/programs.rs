//! What a soak sends: the starter program of every language, and the programs
//! of tests/attack.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::json;

use crate::canaries;
use crate::text::{Repeat, Values, fill, repeat, with};

/// A submission and what is known of its answer.
pub(crate) struct Program {
    pub(crate) name: String,
    /// The body of the request.
    pub(crate) request: String,
    /// Nothing, where it is an attack.
    pub(crate) expected: Option<Expected>,
}

/// What a starter program prints.
pub(crate) struct Expected {
    text: String,
    /// Else each line of it, somewhere.
    is_all: bool,
}

impl Expected {
    pub(crate) fn is(&self, stdout: &str) -> bool {
        if self.is_all {
            return self.text == stdout;
        }
        self.text.lines().all(|line| stdout.contains(line))
    }
}

/// What a soak needs of a file of tests/attack.
#[derive(Deserialize)]
struct Attack {
    language: String,
    entry: Option<String>,
    files: BTreeMap<String, String>,
    #[serde(default)]
    stdin: String,
    #[serde(default)]
    set: Values,
    #[serde(default)]
    repeat: BTreeMap<String, Repeat>,
}

/// What a soak needs of a language's definition.
#[derive(Deserialize)]
struct Definition {
    starter: Starter,
}

#[derive(Deserialize)]
struct Starter {
    entry: String,
    expected: Option<String>,
}

/// Every language's starter.
pub(crate) fn starters() -> Result<Vec<Program>, String> {
    folders("languages")?.iter().map(|folder| starter(folder)).collect()
}

/// Every attack that is a program, with these values in its places.
pub(crate) fn attacks(values: &Values) -> Result<Vec<Program>, String> {
    let mut attacks = Vec::new();
    for folder in folders("tests/attack")? {
        // Those are no submissions.
        if folder.ends_with("request") {
            continue;
        }
        for path in entries(&folder)? {
            let attack = attack(&path, values);
            attacks.push(attack.map_err(|e| told(&path, e))?);
        }
    }
    Ok(attacks)
}

fn starter(folder: &Path) -> Result<Program, String> {
    let definition: Definition =
        toml::from_str(&read(&folder.join("language.toml"))?)
            .map_err(|error| told(folder, error))?;
    let mut files = BTreeMap::new();
    for path in entries(&folder.join("starter"))? {
        files.insert(file_name(&path), read(&path)?);
    }
    let language = file_name(folder);
    let expected = Expected {
        text: read(&folder.join("starter-expected.txt"))?,
        is_all: definition.starter.expected.is_none(),
    };
    let entry = definition.starter.entry;
    Ok(Program {
        name: format!("{language}/starter"),
        request: request(&language, &entry, &files, ""),
        expected: Some(expected),
    })
}

fn attack(path: &Path, values: &Values) -> Result<Program, String> {
    let attack: Attack =
        toml::from_str(&read(path)?).map_err(|error| error.to_string())?;
    let mut values = values.clone();
    values.insert("id".to_owned(), canaries::random());
    repeat(&mut values, &attack.repeat);
    let values = with(&values, &attack.set)?;
    let mut files = BTreeMap::new();
    for (path, text) in &attack.files {
        files.insert(fill(path, &values)?, fill(text, &values)?);
    }
    let first = files.keys().next().cloned().unwrap_or_default();
    let entry = match attack.entry {
        Some(entry) => fill(&entry, &values)?,
        None => first,
    };
    let stdin = fill(&attack.stdin, &values)?;
    let kind = path.parent().map(file_name).unwrap_or_default();
    Ok(Program {
        name: format!("{kind}/{}", file_name(path)),
        request: request(&attack.language, &entry, &files, &stdin),
        expected: None,
    })
}

fn request(
    language: &str,
    entry: &str,
    files: &BTreeMap<String, String>,
    stdin: &str,
) -> String {
    let file = |(path, content): (&String, &String)| json!({"path": path, "content": content});
    let files: Vec<_> = files.iter().map(file).collect();
    let request = json!({
        "language": language,
        "entryFile": entry,
        "files": files,
        "stdin": stdin,
    });
    request.to_string()
}

/// The folders in a folder of this repository.
fn folders(name: &str) -> Result<Vec<PathBuf>, String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let mut found = entries(&root.join(name))?;
    found.retain(|path| path.is_dir());
    Ok(found)
}

/// What is in a folder, in the order of the names.
fn entries(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let found = fs::read_dir(folder).map_err(|error| told(folder, error))?;
    let mut found: Vec<PathBuf> =
        found.flatten().map(|entry| entry.path()).collect();
    found.sort();
    Ok(found)
}

fn read(path: &Path) -> Result<String, String> {
    fs::read_to_string(path).map_err(|error| told(path, error))
}

fn file_name(path: &Path) -> String {
    let name = path.file_name().unwrap_or_default();
    name.to_string_lossy().trim_end_matches(".toml").to_owned()
}

fn told(path: &Path, error: impl std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}
