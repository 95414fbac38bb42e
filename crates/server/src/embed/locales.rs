//! The words of the editor page: one file for each language of its readers.

use std::collections::BTreeMap;

use http::HeaderMap;
use http::header::ACCEPT_LANGUAGE;
use rust_embed::RustEmbed;
use serde_json::Value;

/// The language of a reader who asks for none that the page has.
const DEFAULT: &str = "en";

/// The languages that are written from right to left.
const RIGHT_TO_LEFT: [&str; 4] = ["ar", "fa", "he", "ur"];

/// The parts of tags that ask for traditional Chinese characters, which
/// readers do not expect to get as simplified ones.
const TRADITIONAL: [&str; 4] = ["hant", "tw", "hk", "mo"];

#[derive(RustEmbed)]
#[folder = "../../web/src/locales"]
struct Files;

/// The words of every language.
#[derive(Debug)]
pub(super) struct Locales {
    default: Locale,
    others: Vec<Locale>,
}

/// The words of one language, as far as the server needs them
/// (web/src/messages.ts).
#[derive(Debug, Default)]
pub(super) struct Locale {
    /// The name of the language (BCP 47).
    pub(super) tag: String,
    /// For the template of the page, by their keys.
    pub(super) page: BTreeMap<String, String>,
    /// For the script of the page until it has loaded the others.
    pub(super) start: BTreeMap<String, Value>,
}

impl Locales {
    pub(super) fn load() -> Self {
        let tags = Files::iter();
        let tags = tags.filter_map(|name| {
            name.strip_suffix(".json").map(ToOwned::to_owned)
        });
        let others = tags.filter(|tag| tag != DEFAULT);
        Self {
            default: Locale::read(DEFAULT).unwrap_or_default(),
            others: others.filter_map(|tag| Locale::read(&tag)).collect(),
        }
    }

    /// Returns the words for a reader: in the language that the page's author
    /// wants, else in the first one of the browser's that there is.
    pub(super) fn find(&self, wanted: &str, headers: &HeaderMap) -> &Locale {
        let accepted = accepted(headers);
        let ranges = [wanted].into_iter().chain(accepted);
        let mut found = ranges.filter_map(|range| self.lookup(range));
        found.next().unwrap_or(&self.default)
    }

    /// Returns the language of this range, or else one of its first part: `es`
    /// for `es-MX`, `pt-BR` for `pt`.
    fn lookup(&self, range: &str) -> Option<&Locale> {
        let all = || [&self.default].into_iter().chain(&self.others);
        let exact = all().find(|own| own.tag.eq_ignore_ascii_case(range));
        let mut parts = range.split('-');
        let first = parts.next().unwrap_or_default();
        let is_traditional = parts.any(|part| {
            TRADITIONAL.iter().any(|own| own.eq_ignore_ascii_case(part))
        });
        let similar =
            || all().find(|own| own.language().eq_ignore_ascii_case(first));
        exact.or_else(|| similar().filter(|_| !is_traditional))
    }
}

impl Locale {
    fn read(tag: &str) -> Option<Self> {
        let file = Files::get(&format!("{tag}.json"))?;
        let words: BTreeMap<String, Value> =
            serde_json::from_slice(&file.data).ok()?;
        let mut locale = Self { tag: tag.to_owned(), ..Self::default() };
        for (key, value) in words {
            if key.starts_with("start.") {
                locale.start.insert(key, value);
            } else if key.starts_with("page.")
                && let Value::String(text) = value
            {
                locale.page.insert(key, text);
            }
        }
        Some(locale)
    }

    pub(super) fn is_right_to_left(&self) -> bool {
        RIGHT_TO_LEFT.contains(&self.language())
    }

    /// Returns the value of the attribute `dir`.
    pub(super) fn direction(&self) -> &'static str {
        if self.is_right_to_left() { "rtl" } else { "ltr" }
    }

    fn language(&self) -> &str {
        self.tag.split('-').next().unwrap_or_default()
    }
}

/// Returns the languages that the browser asks for, the best first (RFC 9110,
/// 12.5.4).
fn accepted(headers: &HeaderMap) -> Vec<&str> {
    let values = headers.get_all(ACCEPT_LANGUAGE).into_iter();
    let ranges = values.filter_map(|value| value.to_str().ok());
    let ranges = ranges.flat_map(|value| value.split(',')).map(|range| {
        let (tag, weight) = range.split_once(';').unwrap_or((range, ""));
        let weight = weight.trim().strip_prefix("q=").unwrap_or("1");
        (tag.trim(), weight.parse().unwrap_or(0.0))
    });
    let mut ranges: Vec<(&str, f32)> =
        ranges.filter(|(_, weight)| *weight > 0.0).collect();
    ranges.sort_by(|(_, one), (_, other)| other.total_cmp(one));
    ranges.into_iter().map(|(tag, _)| tag).collect()
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn the_author_decides_then_the_browser() {
        let locales = Locales::load();
        let check = |wanted: &str, accepted: &str, expected: &str| {
            let accepted = HeaderValue::from_str(accepted).unwrap();
            let headers = HeaderMap::from_iter([(ACCEPT_LANGUAGE, accepted)]);
            let found = locales.find(wanted, &headers);
            assert_eq!(found.tag, expected, "{wanted:?}, {headers:?}");
        };
        check("", "", "en");
        check("de", "fr", "de");
        check("PT-br", "", "pt-BR");
        check("pt", "", "pt-BR");
        check("zh-Hans-SG", "", "zh-CN");
        check("zh", "", "zh-CN");
        check("tlh", "fr", "fr");
        check("en", "fr", "en");
        check("", "es-MX,es;q=0.9,en;q=0.8", "es");
        check("", "pt-PT", "pt-BR");
        check("", "en-GB, de;q=0.9", "en");
        check("", "en;q=0.1, de;q=0.9", "de");
        check("", "da, de;q=0.7, ar;q=0.8", "ar");
        check("", "de;q=0, fr;q=0.1", "fr");
        check("", "de;q=x, fr", "fr");
        check("", "*", "en");
        check("", "nl, *;q=0.5", "en");
        // Traditional characters, unless the reader takes any.
        check("", "zh-TW, de;q=0.5", "de");
        check("", "zh-Hant-HK, zh;q=0.5", "zh-CN");
        check("-", ",;,-;q=1", "en");
    }

    #[test]
    fn arabic_is_written_from_right_to_left() {
        let locales = Locales::load();
        let direction = |tag: &str| {
            locales.find(tag, &HeaderMap::new()).direction().to_owned()
        };
        assert_eq!(["ar", "de"].map(direction), ["rtl", "ltr"]);
    }
}
