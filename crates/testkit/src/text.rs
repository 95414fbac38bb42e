//! Texts with places for values: `@name@` stands for the value of that name. The
//! files of tests/attack have such texts.

use std::collections::BTreeMap;

use serde::Deserialize;

/// Values by name.
pub type Values = BTreeMap<String, String>;

/// A value that is a text many times.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Repeat {
    text: String,
    times: usize,
}

/// Adds these to the values.
pub fn repeat(values: &mut Values, more: &BTreeMap<String, Repeat>) {
    for (name, repeat) in more {
        values.insert(name.clone(), repeat.text.repeat(repeat.times));
    }
}

/// Returns the text with every place filled.
///
/// # Errors
///
/// If a place has no value, which is a mistake of the text.
pub fn fill(text: &str, values: &Values) -> Result<String, String> {
    fill_with(text, |name| {
        let value = values.get(name).map(String::as_str);
        value.ok_or_else(|| format!("nothing is called @{name}@"))
    })
}

/// Returns the text with every place filled by `value`, which takes its name.
///
/// # Errors
///
/// Returns the first error of `value`.
pub fn fill_with<'a>(
    text: &str,
    value: impl Fn(&str) -> Result<&'a str, String>,
) -> Result<String, String> {
    let mut filled = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('@') {
        filled.push_str(before);
        rest = after;
        match after.split_once('@') {
            Some((name, behind)) if is_name(name) => {
                filled += value(name)?;
                rest = behind;
            }
            _ => filled.push('@'),
        }
    }
    Ok(filled + rest)
}

/// Returns `values` with those of `more` in their place, filled with them.
///
/// # Errors
///
/// If a place in `more` has no value.
pub fn with(values: &Values, more: &Values) -> Result<Values, String> {
    let mut all = values.clone();
    for (name, value) in more {
        all.insert(name.clone(), fill(value, values)?);
    }
    Ok(all)
}

fn is_name(text: &str) -> bool {
    !text.is_empty()
        && text.bytes().all(|byte| byte == b'_' || byte.is_ascii_lowercase())
}
