//! What a case expects of its page: the `[page]` table, compared with what the
//! browser shows of the document, as a file and in a sandboxed frame.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};
use toml_edit::{Array, Item, Table, value};

use crate::browser::Browser;
use crate::visit::{self, Seen};

/// The shape of the table. What is left out is not looked at, but for the
/// console, which is then silent, and images, which then have all loaded.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Expected {
    /// Is there before anything is done or looked at, as a selector.
    pub(crate) wait_for: Option<String>,
    /// What the reader does, in order.
    pub(crate) actions: Vec<Action>,
    title: Option<String>,
    /// What a reader sees.
    text: Option<String>,
    /// The element whose content `dom` is; the body by default.
    pub(crate) select: Option<String>,
    dom: Option<String>,
    /// `WIDTHxHEIGHT` of each image, 0x0 where it did not load.
    images: Option<Vec<String>>,
    /// Computed properties, by selector.
    pub(crate) styles: BTreeMap<String, BTreeMap<String, String>>,
    /// Every line of the console, in order.
    console: Vec<String>,
}

/// One thing that a reader does; each names elements by selectors.
#[derive(Debug, Deserialize, Serialize)]
#[serde(untagged, deny_unknown_fields)]
pub(crate) enum Action {
    Click { click: String },
    Type { r#type: String, into: String },
    Press { press: String, on: String },
    WaitFor { wait_for: String },
}

impl Expected {
    /// Shows the document both ways; gives what differs.
    pub(crate) fn faults(
        &self,
        browser: &Browser,
        document: &str,
        files: &BTreeSet<&str>,
    ) -> Result<Vec<String>, String> {
        let mut faults = Vec::new();
        for (where_, is_framed) in [("page", false), ("framed page", true)] {
            let seen = visit::see(browser, document, is_framed, self, files)?;
            let found = self.differences(&seen);
            faults.extend(found.map(|fault| format!("{where_}: {fault}")));
        }
        Ok(faults)
    }

    /// Writes what is seen into the table, where it is to be looked at.
    pub(crate) fn update(
        &self,
        browser: &Browser,
        document: &str,
        files: &BTreeSet<&str>,
        table: &mut Table,
    ) -> Result<(), String> {
        let seen = visit::see(browser, document, false, self, files)?;
        let mut set = |key: &str, known: bool, now: &str| {
            if known {
                table[key] = value(now);
            }
        };
        set("title", self.title.is_some(), &seen.title);
        set("text", self.text.is_some(), &seen.text);
        set("dom", self.dom.is_some(), &seen.dom);
        if self.images.is_some() {
            table["images"] = list(&seen.images);
        }
        if seen.console.is_empty() {
            table.remove("console");
        } else if self.console != seen.console {
            table["console"] = list(&seen.console);
        }
        for (selector, properties) in &seen.styles {
            for (name, now) in properties {
                table["styles"][selector][name] = value(now);
            }
        }
        Ok(())
    }

    fn differences(&self, seen: &Seen) -> impl Iterator<Item = String> {
        let text = |what: &str, expected: &Option<String>, found: &str| {
            let expected = expected.as_deref()?;
            (expected != found)
                .then(|| format!("{what} is {found:?}, not {expected:?}"))
        };
        let images = match &self.images {
            None => seen.images.iter().all(|size| size != "0x0"),
            Some(images) => *images == seen.images,
        };
        [
            text("title", &self.title, &seen.title),
            text("text", &self.text, &seen.text),
            text("dom", &self.dom, &seen.dom),
            (!images).then(|| format!("images are {:?}", seen.images)),
            (self.styles != seen.styles)
                .then(|| format!("styles are {:?}", seen.styles)),
            (self.console != seen.console)
                .then(|| format!("the console is {:#?}", seen.console)),
            (!seen.strangers.is_empty())
                .then(|| format!("source maps name {:?}", seen.strangers)),
        ]
        .into_iter()
        .flatten()
    }
}

/// Lines, one below the other where there are several.
fn list(lines: &[String]) -> Item {
    let mut array: Array = lines.iter().collect();
    if lines.len() > 1 {
        for line in array.iter_mut() {
            line.decor_mut().set_prefix("\n    ");
        }
        array.set_trailing("\n");
        array.set_trailing_comma(true);
    }
    value(array)
}
