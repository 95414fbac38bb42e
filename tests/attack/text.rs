//! Texts with places for values: `@name@` stands for the value of that name.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Values by name.
pub(crate) type Values = BTreeMap<String, String>;

/// A value that is a text many times.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Repeat {
    text: String,
    times: usize,
}

/// Adds these to the values.
pub(crate) fn repeat(values: &mut Values, more: &BTreeMap<String, Repeat>) {
    for (name, repeat) in more {
        values.insert(name.clone(), repeat.text.repeat(repeat.times));
    }
}

/// The text with every place filled; one without a value is a mistake.
pub(crate) fn fill(text: &str, values: &Values) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('@') {
        filled.push_str(before);
        rest = after;
        match after.split_once('@') {
            Some((name, behind)) if is_name(name) => {
                let value = values.get(name);
                filled += value.ok_or(format!("nothing is called @{name}@"))?;
                rest = behind;
            }
            _ => filled.push('@'),
        }
    }
    Ok(filled + rest)
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte == b'_' || byte.is_ascii_lowercase())
}

/// `values` with those of `more` in their place, filled with them.
pub(crate) fn with(values: &Values, more: &Values) -> Result<Values, String> {
    let mut all = values.clone();
    for (name, value) in more {
        all.insert(name.clone(), fill(value, values)?);
    }
    Ok(all)
}
