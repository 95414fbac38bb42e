//! The catalog, submissions and plans, through the public surface.

#![expect(clippy::unwrap_used, reason = "a failed test stops here")]

mod catalog;
mod plans;
mod submission;

use std::collections::BTreeMap;

use sandpiper_languages::{Catalog, LanguageFolder, LoadError};

/// A definition that is right.
const DEFINITION: &str = r#"
name = "Python"
aliases = ["py", "python3"]
extensions = ["py"]
image = "python"
[run]
command = ["/opt/python", "{entry}"]
[starter]
entry = "main.py"
"#;

/// A folder with the files that every language has.
fn source(id: &str, definition: &str) -> LanguageFolder {
    let files = [
        ("language.toml", definition),
        ("starter/main.py", "print(1)\n"),
        ("starter-expected.txt", "1\n"),
        ("launcher/main.c", "int main(void) {}"),
    ];
    let files = files.map(|(path, text)| (path.to_owned(), text.into()));
    let (id, path) = (id.to_owned(), format!("languages/{id}"));
    LanguageFolder { id, path, files: BTreeMap::from(files) }
}

/// A definition with its own names and nothing else of interest.
fn minimal(id: &str, aliases: &str, extensions: &str) -> LanguageFolder {
    let definition = DEFINITION
        .replace(r#""py", "python3""#, aliases)
        .replace(r#""py""#, extensions);
    source(id, &definition)
}

/// Loads languages that are served together.
fn load(sources: Vec<LanguageFolder>) -> Result<Catalog, LoadError> {
    let catalog = Catalog::load(sources)?;
    catalog.check_names()?;
    Ok(catalog)
}

/// Several languages, given out of order.
fn catalog() -> Catalog {
    load(vec![
        minimal("zig", "", r#""zig""#),
        minimal("cpp", r#""c++""#, r#""cpp", "cc""#),
        minimal("ada", "", ""),
        minimal("c", "", r#""c""#),
        source("python", DEFINITION),
    ])
    .unwrap()
}
