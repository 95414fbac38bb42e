//! A strict parser of `/metrics`: text that the format forbids fails the test.

use std::collections::{BTreeMap, BTreeSet};

/// The number of ready boxes, by language.
const READY: &str = "sandpiper_boxes_ready";

/// The metrics of a server at one moment.
#[derive(Clone, Debug, Default)]
pub struct Exposition {
    /// Each metric, by its name.
    pub families: BTreeMap<String, Family>,
    /// The value of each series, by its name and labels as in the text.
    pub values: BTreeMap<String, f64>,
}

/// A metric: its description and all of its series.
#[derive(Clone, Debug, Default)]
pub struct Family {
    /// `counter`, `gauge`, `info` or `histogram`.
    pub kind: String,
    help: String,
    unit: Option<String>,
    /// The labels of all its series, except for `le`.
    pub labels: BTreeSet<String>,
    /// The buckets in their order, by the other labels.
    buckets: BTreeMap<String, Vec<(f64, f64)>>,
}

impl Exposition {
    /// Parses the text of an answer.
    ///
    /// # Panics
    ///
    /// If the format forbids it.
    pub fn parse(text: &str) -> Self {
        let body = text.strip_suffix("# EOF\n").expect("an end");
        let mut all = Self::default();
        let mut open = String::new();
        for line in body.lines() {
            if let Some(comment) = line.strip_prefix("# ") {
                all.describe(comment, &mut open);
            } else {
                all.sample(line, &open);
            }
        }
        for (name, family) in &all.families {
            family.check(name, &all.values);
        }
        all
    }

    /// Returns the change of each series since `before`, except for those that
    /// did not change.
    pub fn since(&self, before: &Self) -> BTreeMap<String, f64> {
        let mut changes = BTreeMap::new();
        for (series, value) in &self.values {
            let old = before.values.get(series).copied().unwrap_or_default();
            if value - old != 0.0 {
                changes.insert(series.clone(), value - old);
            }
        }
        let gone = |series: &&String| !self.values.contains_key(*series);
        assert_eq!(before.values.keys().find(gone), None, "a series is gone");
        changes
    }

    /// Returns the value of a series, named with its labels, or 0 if there is
    /// none.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "for series that count things"
    )]
    pub fn count(&self, series: &str) -> usize {
        self.values.get(series).copied().unwrap_or_default() as usize
    }

    /// Returns the number of ready boxes of the language.
    pub fn ready(&self, language: &str) -> usize {
        self.count(&format!("{READY}{{language=\"{language}\"}}"))
    }

    /// Returns the number of all ready boxes.
    pub fn all_ready(&self) -> usize {
        let start = format!("{READY}{{");
        let series = self.values.keys().filter(|it| it.starts_with(&start));
        // C and C++ share ready boxes: they have one image and no waiting launcher.
        let of_both = self.ready("c").min(self.ready("cpp"));
        series.map(|it| self.count(it)).sum::<usize>() - of_both
    }

    /// Reads `HELP name text`, `TYPE name kind` or `UNIT name unit`, which come in
    /// this order.
    fn describe(&mut self, comment: &str, open: &mut String) {
        let mut parts = comment.splitn(3, ' ');
        let mut next = || parts.next().expect("three parts").to_owned();
        let (what, name, text) = (next(), next(), next());
        if what == "HELP" {
            assert!(is_name(&name), "{name:?}");
            let family = Family { help: text, ..Family::default() };
            let known = self.families.insert(name.clone(), family);
            assert!(known.is_none(), "{name} comes twice");
            *open = name;
            return;
        }
        assert_eq!(name, *open, "{comment}");
        let family = self.families.get_mut(&name).expect("a family");
        if what == "TYPE" {
            family.kind = text;
        } else {
            assert_eq!(what, "UNIT", "{comment}");
            family.unit = Some(text);
        }
    }

    fn sample(&mut self, line: &str, open: &str) {
        let (series, value) = line.rsplit_once(' ').expect("a value");
        let value: f64 = value.parse().expect(line);
        assert!(value.is_finite(), "{line}");
        let (name, labels) = match series.split_once('{') {
            Some((name, rest)) => {
                (name, labels(rest.strip_suffix('}').expect(line)))
            }
            None => (series, Vec::new()),
        };
        assert!(is_name(name), "{line}");
        let family = self.families.get_mut(open).expect("a family");
        let suffix = name.strip_prefix(open).expect("its family's name");
        family.take(suffix, &labels, value, line);
        let known = self.values.insert(series.to_owned(), value);
        assert_eq!(known, None, "{series} comes twice");
    }
}

impl Family {
    fn take(
        &mut self,
        suffix: &str,
        labels: &[(String, String)],
        value: f64,
        line: &str,
    ) {
        let allowed: &[&str] = match self.kind.as_str() {
            "counter" => &["_total"],
            "gauge" => &[""],
            "info" => &["_info"],
            "histogram" => &["_sum", "_count", "_bucket"],
            // The server does not use other types.
            _ => &[],
        };
        assert!(allowed.contains(&suffix), "{line}");
        assert!(self.kind == "gauge" || value >= 0.0, "{line}");
        let own = labels.iter().filter(|(name, _)| name != "le");
        self.labels.extend(own.clone().map(|(name, _)| name.clone()));
        if suffix == "_bucket" {
            let bound = labels.iter().find(|(name, _)| name == "le");
            let (_, bound) = bound.expect("a bound");
            let bound = bound.parse().expect("a number");
            let rest: Vec<String> =
                own.map(|(name, value)| format!("{name}={value:?}")).collect();
            let rest = rest.join(",");
            self.buckets.entry(rest).or_default().push((bound, value));
        }
    }

    fn check(&self, name: &str, values: &BTreeMap<String, f64>) {
        assert!(!self.kind.is_empty(), "{name} has no type");
        assert!(self.help.ends_with('.'), "{name}: {}", self.help);
        let unit = self.unit.as_deref();
        for known in ["seconds", "bytes"] {
            let has = name.split('_').any(|part| part == known);
            assert_eq!(unit == Some(known), has, "the unit of {name}");
        }
        if let Some(unit) = unit {
            assert!(name.ends_with(&format!("_{unit}")), "{name}");
        }
        for (labels, buckets) in &self.buckets {
            let rises = buckets
                .windows(2)
                .all(|pair| pair[0].0 < pair[1].0 && pair[0].1 <= pair[1].1);
            assert!(rises, "{name} {labels}: {buckets:?}");
            let (bound, max) = *buckets.last().expect("a bucket");
            assert!(bound.is_infinite(), "{name} {labels}");
            let labels = match labels.as_str() {
                "" => String::new(),
                labels => format!("{{{labels}}}"),
            };
            let count = format!("{name}_count{labels}");
            assert_eq!(values.get(&count), Some(&max), "{count}");
            assert!(values.contains_key(&format!("{name}_sum{labels}")));
        }
    }
}

fn is_name(text: &str) -> bool {
    text.starts_with(|first: char| first.is_ascii_alphabetic())
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Parses `name="value"`, separated by commas.
fn labels(text: &str) -> Vec<(String, String)> {
    let mut labels = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let (name, quoted) = rest.split_once("=\"").expect(text);
        assert!(is_name(name), "{text}");
        let mut value = String::new();
        let mut characters = quoted.char_indices();
        let end = loop {
            match characters.next().expect("an end of the value") {
                (end, '"') => break end,
                (_, '\\') => {
                    let escaped = characters.next().expect("an escape").1;
                    assert!(['n', '"', '\\'].contains(&escaped), "{text}");
                    value.push(if escaped == 'n' { '\n' } else { escaped });
                }
                (_, other) => value.push(other),
            }
        };
        labels.push((name.to_owned(), value));
        rest = &quoted[end + 1..];
        rest = rest.strip_prefix(',').unwrap_or(rest);
    }
    labels
}
