//! The words of the editor page: one file for each language of its readers.

use std::collections::BTreeMap;

use rust_embed::RustEmbed;
use serde_json::Value;

/// The language of a reader who asks for none that the page has.
const DEFAULT: &str = "en";

#[derive(RustEmbed)]
#[folder = "../../web/src/locales"]
struct Files;

/// The words of every language.
#[derive(Debug)]
pub(super) struct Locales {
    default: Locale,
}

/// The words of one language, as far as the server needs them
/// (web/src/messages.ts).
#[derive(Debug, Default)]
pub(super) struct Locale {
    /// For the template of the page, by their keys.
    pub(super) page: BTreeMap<String, String>,
    /// For the script of the page until it has loaded the others.
    pub(super) start: BTreeMap<String, Value>,
}

impl Locales {
    pub(super) fn load() -> Self {
        Self { default: read(DEFAULT).unwrap_or_default() }
    }

    /// The words for a reader.
    pub(super) fn find(&self) -> &Locale {
        &self.default
    }
}

fn read(tag: &str) -> Option<Locale> {
    let file = Files::get(&format!("{tag}.json"))?;
    serde_json::from_slice(&file.data).ok().map(Locale::new)
}

impl Locale {
    fn new(words: BTreeMap<String, Value>) -> Self {
        let mut locale = Self::default();
        for (key, value) in words {
            match value {
                Value::String(text) if key.starts_with("page.") => {
                    locale.page.insert(key, text);
                }
                value if key.starts_with("start.") => {
                    locale.start.insert(key, value);
                }
                _ => {}
            }
        }
        locale
    }
}
