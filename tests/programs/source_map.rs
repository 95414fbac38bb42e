//! Where a position in a document comes from: the inline source maps of its
//! scripts, decoded as a browser's developer tools do.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;
use serde::Deserialize;
use serde_json::Value;

/// The scripts of a document, as DevTools tells of them.
#[derive(Debug, Default)]
pub(crate) struct Scripts(Vec<Script>);

#[derive(Debug)]
struct Script {
    url: String,
    /// Line and column, from 0, of the first character and past the last.
    start: (usize, usize),
    end: (usize, usize),
    map: Option<Map>,
}

/// Version 3 of the format, as far as bundlers use it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Map {
    version: u8,
    #[serde(default)]
    source_root: String,
    /// Addresses, or nothing for code that has no source.
    sources: Vec<Option<String>>,
    mappings: String,
}

/// What a position of a document stands for.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// A source, with line and column from 1.
    Source(String, usize, usize),
    /// A script that has no source map.
    Unmapped,
    /// A script whose map says nothing of it, or no script at all.
    Unknown,
}

impl Scripts {
    /// Those of all that happened in a page.
    pub(crate) fn of(events: &[Value]) -> Result<Self, String> {
        let mut scripts = Self::default();
        for event in events {
            if event["method"] == "Debugger.scriptParsed" {
                scripts.add(&event["params"])?;
            }
        }
        Ok(scripts)
    }

    /// Takes the parameters of `Debugger.scriptParsed`.
    fn add(&mut self, parsed: &Value) -> Result<(), String> {
        let number = |name: &str| {
            let number = parsed[name].as_u64().unwrap_or_default();
            usize::try_from(number).unwrap_or_default()
        };
        let text = |name: &str| parsed[name].as_str().unwrap_or_default();
        let map = match (text("sourceMapURL"), text("url")) {
            ("", _) => None,
            // The browser's own, where a frame could not be loaded.
            (_, url) if url.starts_with("chrome-error:") => None,
            (map, _) => Some(Map::read(map)?),
        };
        let mut start = (number("startLine"), number("startColumn"));
        let mut end = (number("endLine"), number("endColumn"));
        if parsed["hasSourceURL"] == true {
            // A script with a name of its own counts from its own start.
            (start, end) = ((0, 0), (usize::MAX, 0));
        }
        let url = text("url").to_owned();
        self.0.push(Script { url, start, end, map });
        Ok(())
    }

    /// Every source that a map names.
    pub(crate) fn sources(&self) -> impl Iterator<Item = &str> {
        let maps = self.0.iter().filter_map(|script| script.map.as_ref());
        maps.flat_map(|map| map.sources.iter().flatten().map(String::as_str))
    }

    /// Where line and column, both from 1, of the document `url` come from.
    pub(crate) fn origin(
        &self,
        url: &str,
        line: usize,
        column: usize,
    ) -> Origin {
        let at = (line.saturating_sub(1), column.saturating_sub(1));
        let script = self.0.iter().find(|script| {
            script.url == url && script.start <= at && at <= script.end
        });
        let Some(script) = script else { return Origin::Unknown };
        let Some(map) = &script.map else { return Origin::Unmapped };
        // A map counts from the start of its script.
        let line = at.0 - script.start.0;
        let column = if line == 0 { at.1 - script.start.1 } else { at.1 };
        map.origin(line, column).unwrap_or(Origin::Unknown)
    }
}

impl Map {
    fn read(url: &str) -> Result<Self, String> {
        let data = url.strip_prefix("data:application/json");
        let encoded = data.and_then(|data| data.split_once("base64,"));
        let (_, encoded) = encoded.ok_or_else(|| {
            format!("the source map is not in the document: {url:.60}")
        })?;
        let json = base64(encoded).ok_or("a source map that is not base64")?;
        let mut map: Self = serde_json::from_slice(&json)
            .map_err(|error| format!("source map: {error}"))?;
        for source in map.sources.iter_mut().flatten() {
            let path = format!("{}{source}", map.source_root);
            *source = percent_decode_str(&path).decode_utf8_lossy().into();
        }
        match map.version {
            3 => Ok(map),
            other => Err(format!("a source map of version {other}")),
        }
    }

    /// Line and column are from 0, and of the script.
    fn origin(&self, line: usize, column: usize) -> Option<Origin> {
        let mut fields = [0_i64; 4];
        let mut found = None;
        for (number, text) in self.mappings.split(';').enumerate() {
            // The column begins anew on each line, the others go on.
            fields[0] = 0;
            let mut segments = BTreeMap::new();
            for segment in text.split(',').filter(|text| !text.is_empty()) {
                let numbers = vlq(segment)?;
                for (field, number) in fields.iter_mut().zip(&numbers) {
                    *field += number;
                }
                let source = (numbers.len() > 1).then_some(fields);
                segments.insert(usize::try_from(fields[0]).ok()?, source);
            }
            if number == line {
                found = *segments.range(..=column).next_back()?.1;
                break;
            }
        }
        let [_, source, line, column] =
            found?.map(|field| usize::try_from(field).unwrap_or_default());
        let name = self.sources.get(source)?.clone()?;
        Some(Origin::Source(name, line + 1, column + 1))
    }
}

/// The numbers of one segment: five bits a digit, the lowest first, and the
/// lowest bit of a number is its sign.
fn vlq(segment: &str) -> Option<Vec<i64>> {
    let mut numbers = Vec::new();
    let (mut number, mut shift) = (0_i64, 0_u32);
    for byte in segment.bytes() {
        let digit = i64::from(base64_digit(byte)?);
        number |= (digit & 31).checked_shl(shift)?;
        shift += 5;
        if digit & 32 == 0 {
            let size = number >> 1;
            numbers.push(if number & 1 == 0 { size } else { -size });
            (number, shift) = (0, 0);
        }
    }
    Some(numbers)
}

fn base64(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    let (mut bits, mut count) = (0_u32, 0);
    for byte in text.trim_end_matches('=').bytes() {
        bits = bits << 6 | u32::from(base64_digit(byte)?);
        count += 6;
        if count >= 8 {
            count -= 8;
            bytes.push(u8::try_from(bits >> count & 255).ok()?);
        }
    }
    Some(bytes)
}

fn base64_digit(byte: u8) -> Option<u8> {
    const DIGITS: &[u8; 64] =
        b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = DIGITS.iter().position(|digit| *digit == byte)?;
    u8::try_from(digit).ok()
}
