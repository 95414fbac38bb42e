//! The catalog of languages: loads definitions, finds languages, and checks
//! submissions.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::definition::{ExpectedDefinition, LanguageDefinition};
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
    /// The folder's path, as messages show it.
    pub path: String,
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
    /// Returns whether `stdout` is the output that is expected of the program.
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

#[derive(Clone, Debug)]
struct Entry {
    language: Arc<Language>,
    starter: Starter,
    /// The path of its definition, for messages.
    path: String,
}

impl Catalog {
    /// Loads every definition.
    ///
    /// # Errors
    /// A definition is wrong, or two languages have one id. The file is named,
    /// with the reason.
    pub fn load(
        sources: impl IntoIterator<Item = LanguageFolder>,
    ) -> Result<Self, LoadError> {
        let mut entries = sources
            .into_iter()
            .map(|source| load_entry(&source))
            .collect::<Result<Vec<_>, _>>()?;
        entries.sort_by(|a, b| a.language.rank().cmp(&b.language.rank()));
        check_unique("id", &entries, |language| {
            vec![language.id().to_owned()]
        })?;
        Ok(Self { entries: entries.into() })
    }

    /// Returns the languages that `is_chosen` accepts.
    pub fn only(&self, is_chosen: impl Fn(&Language) -> bool) -> Self {
        let entries = self.entries.iter();
        let chosen = entries.filter(|entry| is_chosen(&entry.language));
        Self { entries: chosen.cloned().collect() }
    }

    /// Checks that a name means one language, and an extension, too.
    ///
    /// # Errors
    /// Two languages have one of them in common. Both files are named.
    pub fn check_names(&self) -> Result<(), LoadError> {
        let lower = |words: &[String]| {
            words.iter().map(|word| word.to_ascii_lowercase()).collect()
        };
        check_unique("name", &self.entries, |language| {
            language.names().map(str::to_ascii_lowercase).collect()
        })?;
        check_unique("extension", &self.entries, |language| {
            lower(language.own_extensions())
        })
    }

    /// Returns every language, by the `order` of its definition.
    pub fn languages(&self) -> impl Iterator<Item = &Language> {
        self.entries.iter().map(|entry| &*entry.language)
    }

    /// Returns the language with this id or alias, in any letter case.
    pub fn find(&self, value: &str) -> Option<&Language> {
        self.entry(value).map(|entry| &*entry.language)
    }

    /// Returns the language of the file at this path, by its extension in any
    /// letter case. The longest extension counts. A language that has it as a
    /// fallback gives way to others.
    pub fn by_path(&self, path: &str) -> Option<&Language> {
        let (_, name) = path.rsplit_once('/').unwrap_or(("", path));
        let mut endings =
            name.match_indices('.').map(|(at, _)| &name[at + 1..]);
        endings.find_map(|ending| {
            let has = |extensions: &[String]| {
                extensions.iter().any(|own| own.eq_ignore_ascii_case(ending))
            };
            self.languages()
                .find(|language| has(language.own_extensions()))
                .or_else(|| self.languages().find(|it| has(it.extensions())))
        })
    }

    /// Returns the language whose id or alias is the fewest edits away from
    /// `value`; `None` if the catalog is empty.
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

    /// Returns the sample program of the language with this id or alias.
    pub fn starter(&self, value: &str) -> Option<&Starter> {
        self.entry(value).map(|entry| &entry.starter)
    }

    /// An alias gives way to an id, since a language that is not served may have
    /// it.
    fn entry(&self, value: &str) -> Option<&Entry> {
        let by = |is: &dyn Fn(&Language) -> bool| {
            self.entries.iter().find(|entry| is(&entry.language))
        };
        by(&|language| language.id().eq_ignore_ascii_case(value))
            .or_else(|| by(&|language| language.is_called(value)))
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
    let definition: LanguageDefinition =
        toml::from_str(text(source, "language.toml")?).map_err(|error| {
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
    let path = format!("{}/language.toml", source.path);
    Ok(Entry { language, starter: Starter { submission, expected }, path })
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
    let path = format!("{}/{path}", source.path);
    LoadError { path, reason: reason.into() }
}

/// Refuses two languages that have one of `keys` in common.
fn check_unique(
    kind: &str,
    entries: &[Entry],
    keys: impl Fn(&Language) -> Vec<String>,
) -> Result<(), LoadError> {
    let mut owners: BTreeMap<String, &str> = BTreeMap::new();
    for Entry { language, path, .. } in entries {
        for key in keys(language) {
            if let Some(owner) = owners.get(&key) {
                let reason = if owner == path {
                    format!("{kind} {key:?} is there twice")
                } else {
                    format!("{kind} {key:?} belongs to {owner}, too")
                };
                return Err(LoadError { path: path.clone(), reason });
            }
            owners.insert(key, path);
        }
    }
    Ok(())
}
