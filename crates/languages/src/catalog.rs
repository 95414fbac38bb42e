//! The catalogue of languages: loads definitions, finds languages, and checks
//! submissions.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::definition::{Definition, ExpectedDefinition};
use crate::submission::shown;
use crate::{Language, SourceFile, Submission, SubmissionError};

/// The languages of a service. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Catalog {
    entries: Arc<[Entry]>,
}

/// A language's folder, as bytes.
#[derive(Clone, Debug)]
pub struct LanguageFolder {
    /// The folder's name, which is the language's id.
    pub id: String,
    /// Every file of the folder, by its path relative to it.
    pub files: BTreeMap<String, Vec<u8>>,
}

/// A language's sample program. The editor starts with it, and the service
/// tests the language with it.
#[derive(Clone, Debug)]
pub struct Starter {
    /// The program.
    pub submission: Submission,
    expected: Expected,
}

#[derive(Clone, Debug)]
enum Expected {
    Exactly(String),
    EveryLineOf(String),
}

impl Starter {
    /// Whether `stdout` is the output that is expected of the program.
    pub fn expects(&self, stdout: &str) -> bool {
        match &self.expected {
            Expected::Exactly(text) => stdout == text,
            Expected::EveryLineOf(text) => {
                text.lines().all(|line| stdout.contains(line))
            }
        }
    }
}

/// Why a definition could not be loaded; the text is for its author.
#[derive(Debug, thiserror::Error)]
#[error("{path}: {reason}")]
pub struct LoadError {
    /// The file that is wrong.
    pub path: String,
    /// The reason.
    pub reason: String,
}

#[derive(Debug)]
struct Entry {
    language: Arc<Language>,
    starter: Starter,
}

impl Catalog {
    /// Loads every definition and checks them against each other.
    ///
    /// # Errors
    /// A definition is wrong; the first one is named, with the reason.
    pub fn load(
        sources: impl IntoIterator<Item = LanguageFolder>,
    ) -> Result<Self, LoadError> {
        let mut entries = sources
            .into_iter()
            .map(|source| load_entry(&source))
            .collect::<Result<Vec<_>, _>>()?;
        entries.sort_by(|a, b| a.language.rank().cmp(&b.language.rank()));
        check_unique("name", &entries, |language| {
            language.names().map(str::to_ascii_lowercase).collect()
        })?;
        check_unique("extension", &entries, |language| {
            let extensions = language.extensions().iter();
            extensions.map(|text| text.to_ascii_lowercase()).collect()
        })?;
        Ok(Self { entries: entries.into() })
    }

    /// Every language, by the `order` of its definition.
    pub fn languages(&self) -> impl Iterator<Item = &Language> {
        self.entries.iter().map(|entry| &*entry.language)
    }

    /// The language with this id or alias, in any letter case.
    pub fn find(&self, value: &str) -> Option<&Language> {
        self.languages().find(|language| language.is_called(value))
    }

    /// The language of files with this extension (no dot), in any letter case.
    pub fn by_extension(&self, extension: &str) -> Option<&Language> {
        self.languages().find(|language| {
            let mut extensions = language.extensions().iter();
            extensions.any(|own| own.eq_ignore_ascii_case(extension))
        })
    }

    /// The language whose id or alias is the fewest edits away from `value`;
    /// `None` if the catalogue is empty.
    pub fn nearest(&self, value: &str) -> Option<&Language> {
        // No name is longer than this, and comparing takes quadratic time.
        let value: String = value.chars().take(32).collect();
        let value = value.to_lowercase();
        self.languages().min_by_key(|language| {
            let distances =
                language.names().map(|name| strsim::osa_distance(name, &value));
            distances.min()
        })
    }

    /// Checks the parts of a submission, in this order: the language, the
    /// paths, the entry file, the arguments.
    ///
    /// # Errors
    /// The first part that is wrong.
    pub fn submission(
        &self,
        language: &str,
        entry_file: String,
        files: Vec<SourceFile>,
        stdin: String,
        args: Vec<String>,
    ) -> Result<Submission, SubmissionError> {
        let entry = self.entry(language);
        let entry = entry.ok_or_else(|| self.unknown_language(language))?;
        let language = Arc::clone(&entry.language);
        Submission::check(language, entry_file, files, stdin, args)
    }

    /// The sample program of the language with this id or alias.
    pub fn starter(&self, value: &str) -> Option<&Starter> {
        self.entry(value).map(|entry| &entry.starter)
    }

    fn entry(&self, value: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.language.is_called(value))
    }

    fn unknown_language(&self, given: &str) -> SubmissionError {
        let known: Vec<&str> = self.languages().map(Language::id).collect();
        let nearest = self.nearest(given).map(Language::id);
        SubmissionError::UnknownLanguage {
            given: shown(given),
            nearest: nearest.unwrap_or_default().to_owned(),
            known: known.join(", "),
        }
    }
}

fn load_entry(source: &LanguageFolder) -> Result<Entry, LoadError> {
    let definition: Definition = toml::from_str(text(source, "language.toml")?)
        .map_err(|error| {
            fault(source, "language.toml", error.to_string().trim_end())
        })?;
    let language = Language::check(&source.id, &definition, &source.files)
        .map_err(|reason| fault(source, "language.toml", reason))?;
    let language = Arc::new(language);

    let mut files = Vec::new();
    for path in source.files.keys() {
        if let Some(name) = path.strip_prefix("starter/") {
            let content = text(source, path)?.into();
            files.push(SourceFile { path: name.to_owned(), content });
        }
    }
    let submission = Submission::check(
        Arc::clone(&language),
        definition.starter.entry,
        files,
        definition.starter.stdin,
        Vec::new(),
    )
    .map_err(|error| fault(source, "starter", error.to_string()))?;
    let path = "starter-expected.txt";
    let expected_text = text(source, path)?.to_owned();
    if expected_text.trim().is_empty() {
        return Err(fault(source, path, "is empty, which tests nothing"));
    }
    let expected = match definition.starter.expected {
        ExpectedDefinition::Exact => Expected::Exactly(expected_text),
        ExpectedDefinition::Contains => Expected::EveryLineOf(expected_text),
    };
    Ok(Entry { language, starter: Starter { submission, expected } })
}

fn text<'a>(
    source: &'a LanguageFolder,
    path: &str,
) -> Result<&'a str, LoadError> {
    let bytes = source
        .files
        .get(path)
        .ok_or_else(|| fault(source, path, "no such file"))?;
    std::str::from_utf8(bytes)
        .map_err(|error| fault(source, path, error.to_string()))
}

fn fault(
    source: &LanguageFolder,
    path: &str,
    reason: impl Into<String>,
) -> LoadError {
    let path = format!("languages/{}/{path}", source.id);
    LoadError { path, reason: reason.into() }
}

/// Refuses two languages that have one of `keys` in common.
fn check_unique(
    kind: &str,
    entries: &[Entry],
    keys: impl Fn(&Language) -> Vec<String>,
) -> Result<(), LoadError> {
    let mut owners: BTreeMap<String, &str> = BTreeMap::new();
    for Entry { language, .. } in entries {
        for key in keys(language) {
            let reason = match owners.get(&key) {
                Some(owner) => format!("{kind} {key:?} belongs to {owner} too"),
                None => {
                    owners.insert(key, language.id());
                    continue;
                }
            };
            let path = format!("languages/{}/language.toml", language.id());
            return Err(LoadError { path, reason });
        }
    }
    Ok(())
}
