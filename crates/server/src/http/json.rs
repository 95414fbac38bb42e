//! Reading bodies of JSON.

use std::borrow::Cow;
use std::fmt;

use serde::de::{
    DeserializeSeed, Deserializer, IgnoredAny, MapAccess, Visitor,
};
use serde_json::value::RawValue;

/// How an escape in a JSON text begins.
const ESCAPE: &str = "\\u";
/// Bytes of an escape such as `\ud83d`.
const ESCAPE_BYTES: usize = 6;
/// U+FFFD as an escape.
const REPLACEMENT: &str = "\\ufffd";

/// Returns the body as text in which no escape is half of a surrogate pair:
/// those become U+FFFD, because the JSON parser would refuse the whole text.
/// Returns `None` if the body is not UTF-8.
pub(crate) fn text(body: &[u8]) -> Option<Cow<'_, str>> {
    let text = std::str::from_utf8(body).ok()?;
    if text.contains(ESCAPE) {
        Some(without_lone_surrogates(text))
    } else {
        Some(Cow::Borrowed(text))
    }
}

/// Returns the values of the keys `names` of a JSON object, each in the order
/// in which it came, and `None` if the text is anything else. Other keys are
/// skipped, however deep their values are.
pub(crate) fn fields<'a, const N: usize>(
    text: &'a str,
    names: [&'static str; N],
) -> Option<[Vec<&'a RawValue>; N]> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    let fields = Fields { names }.deserialize(&mut deserializer).ok()?;
    deserializer.end().ok()?;
    Some(fields)
}

struct Fields<const N: usize> {
    names: [&'static str; N],
}

impl<'de, const N: usize> DeserializeSeed<'de> for Fields<N> {
    type Value = [Vec<&'de RawValue>; N];

    fn deserialize<D: Deserializer<'de>>(
        self,
        deserializer: D,
    ) -> Result<Self::Value, D::Error> {
        deserializer.deserialize_map(self)
    }
}

impl<'de, const N: usize> Visitor<'de> for Fields<N> {
    type Value = [Vec<&'de RawValue>; N];

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(
        self,
        mut map: A,
    ) -> Result<Self::Value, A::Error> {
        let mut found = [const { Vec::new() }; N];
        while let Some(key) = map.next_key::<String>()? {
            let position = self.names.iter().position(|name| *name == key);
            match position.and_then(|position| found.get_mut(position)) {
                Some(values) => values.push(map.next_value()?),
                None => {
                    map.next_value::<IgnoredAny>()?;
                }
            }
        }
        Ok(found)
    }
}

fn without_lone_surrogates(text: &str) -> Cow<'_, str> {
    let mut replaced = String::new();
    let mut copied = 0;
    let mut at = 0;
    while let Some(found) = text[at..].find('\\') {
        at += found;
        let Some(unit) = code_unit(&text[at..]) else {
            // The byte after a backslash belongs to it: in `\\u` the second
            // backslash begins nothing. It may be half of a character.
            at += 1;
            at += text[at..].chars().next().map_or(0, char::len_utf8);
            continue;
        };
        let next = at + ESCAPE_BYTES;
        if is_high(unit) && code_unit(&text[next..]).is_some_and(is_low) {
            at = next + ESCAPE_BYTES;
        } else {
            if is_high(unit) || is_low(unit) {
                replaced.push_str(&text[copied..at]);
                replaced.push_str(REPLACEMENT);
                copied = next;
            }
            at = next;
        }
    }
    if copied == 0 {
        return Cow::Borrowed(text);
    }
    replaced.push_str(&text[copied..]);
    Cow::Owned(replaced)
}

/// Returns the UTF-16 code unit of the escape that `text` begins with.
fn code_unit(text: &str) -> Option<u16> {
    let digits = text.strip_prefix(ESCAPE)?.get(..4)?;
    // from_str_radix alone would take a sign.
    let plain = digits.bytes().all(|digit| digit.is_ascii_hexdigit());
    plain.then(|| u16::from_str_radix(digits, 16).ok()).flatten()
}

fn is_high(unit: u16) -> bool {
    (0xd800..0xdc00).contains(&unit)
}

fn is_low(unit: u16) -> bool {
    (0xdc00..0xe000).contains(&unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(body: &str, expected: &str) {
        let text = text(body.as_bytes());
        assert_eq!(text.as_deref(), Some(expected), "{body}");
    }

    #[test]
    fn lone_surrogates_are_replaced() {
        check(r#""\ud800""#, r#""\ufffd""#);
        check(r#""\uDFFF""#, r#""\ufffd""#);
        check(r#""\ud83d\u0041""#, r#""\ufffd\u0041""#);
        check(r#""\ud83d\ud83d\ude00""#, r#""\ufffd\ud83d\ude00""#);
        check(r#""\ude00\ud83d""#, r#""\ufffd\ufffd""#);
        check(r#""\ud83d\n\ude00""#, r#""\ufffd\n\ufffd""#);
    }

    #[test]
    fn everything_else_stays() {
        for body in [
            "",
            "{}",
            r#""\ud83d\ude00""#,
            r#""\\ud800""#,
            r#""\\\\ud800""#,
            r#""\u00e9\n\"""#,
            r#""\ud80""#,
            r#""\u+800""#,
            r#""\uzzzz""#,
            r#""\é\u0041""#,
            "\\u",
            "\\u0041\\",
        ] {
            check(body, body);
        }
    }

    #[test]
    fn escaped_backslashes_are_counted() {
        check(r#""\\\ud800""#, r#""\\\ufffd""#);
    }

    #[test]
    fn only_utf8_is_text() {
        assert_eq!(text(b"\"\xff\""), None);
        assert_eq!(text(b"\"\xed\xa0\x80\""), None);
    }
}
