//! What a page said, as the lines that a browser's console would show: with
//! uncaught errors, what it tried to load, and positions in the sources.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::source_map::{Origin, Scripts};

/// A document that was shown, and where.
#[derive(Debug)]
pub(crate) struct Shown<'a> {
    /// As error stacks name it.
    pub(crate) url: &'a str,
    /// Its folder: an address in it is one that the document gave relatively.
    pub(crate) folder: &'a str,
    /// The pages that we load ourselves.
    pub(crate) own: &'a [String],
    /// The paths of the submitted files.
    pub(crate) files: &'a BTreeSet<&'a str>,
}

impl Shown<'_> {
    /// The lines of everything that happened, in order.
    pub(crate) fn lines(
        &self,
        events: &[Value],
        scripts: &Scripts,
    ) -> Result<Vec<String>, String> {
        let mut lines = Vec::new();
        for event in events {
            let line = self.line(event, scripts)?;
            let is_refusal = event["method"] == "Log.entryAdded";
            // What is refused may have been told as a request before.
            lines.extend(
                line.filter(|line| !is_refusal || !lines.contains(line)),
            );
        }
        Ok(lines)
    }

    fn line(
        &self,
        event: &Value,
        scripts: &Scripts,
    ) -> Result<Option<String>, String> {
        let params = &event["params"];
        let method = event["method"].as_str().ok_or("an event has a name")?;
        let line = match method {
            "Runtime.consoleAPICalled" => {
                let args = params["args"].as_array().ok_or("no arguments")?;
                let words = formatted(args, &|arg| self.value(arg, scripts));
                Some(format!("{}: {words}", text(&params["type"])))
            }
            "Runtime.exceptionThrown" => {
                Some(self.uncaught(&params["exceptionDetails"], scripts))
            }
            "Page.javascriptDialogOpening" => Some(format!(
                "{}: {}",
                text(&params["type"]),
                text(&params["message"]),
            )),
            "Network.requestWillBeSent" => {
                self.request(text(&params["request"]["url"]))
            }
            "Network.webSocketCreated" => self.request(text(&params["url"])),
            "Log.entryAdded" => self.entry(&params["entry"]),
            _ => None,
        };
        Ok(line)
    }

    /// What the document asks for beyond itself.
    fn request(&self, url: &str) -> Option<String> {
        let inside = ["data:", "blob:", "about:"];
        let is_inside = inside.iter().any(|scheme| url.starts_with(scheme));
        if is_inside || self.own.iter().any(|own| url == own) {
            return None;
        }
        let relative = url.strip_prefix(self.folder).unwrap_or(url);
        Some(format!("request: {relative}"))
    }

    /// What the browser itself says.
    fn entry(&self, entry: &Value) -> Option<String> {
        let message = text(&entry["text"]);
        if entry["source"] == "network" {
            // It follows a request, which has its line.
            return None;
        }
        let local = "Not allowed to load local resource: ";
        if let Some(url) = message.strip_prefix(local) {
            return self.request(url);
        }
        let message = message.replace(self.folder, "");
        Some(format!("browser {}: {message}", text(&entry["level"])))
    }

    fn uncaught(&self, details: &Value, scripts: &Scripts) -> String {
        let what = text(&details["text"]).to_lowercase();
        let thrown = &details["exception"];
        let mut words = self.value(thrown, scripts);
        let is_error = text(&thrown["subtype"]) == "error";
        if !is_error || !text(&thrown["description"]).contains("\n    at ") {
            let from_one = |name: &str| {
                let number = details[name].as_u64().unwrap_or_default() + 1;
                usize::try_from(number).unwrap_or_default()
            };
            let at = (from_one("lineNumber"), from_one("columnNumber"));
            let url = text(&details["url"]);
            words += &self.place(&[(url, at.0, at.1)], scripts);
        }
        format!("{what}: {words}")
    }

    fn value(&self, value: &Value, scripts: &Scripts) -> String {
        if value["subtype"] != "error" {
            return shown(value);
        }
        let description = text(&value["description"]);
        let (message, _) =
            description.split_once("\n    at ").unwrap_or((description, ""));
        let frames: Vec<_> = description.lines().filter_map(frame).collect();
        format!("{message}{}", self.place(&frames, scripts))
    }

    /// The innermost position in a submitted file; else in the document, where
    /// nothing was built: then its scripts are as they were submitted.
    fn place(
        &self,
        frames: &[(&str, usize, usize)],
        scripts: &Scripts,
    ) -> String {
        let mut in_document = None;
        let is_built = scripts.sources().next().is_some();
        for (url, line, column) in frames {
            match scripts.origin(url, *line, *column) {
                Origin::Source(file, line, column)
                    if self.files.contains(file.as_str()) =>
                {
                    return format!(" ({file}:{line}:{column})");
                }
                Origin::Unmapped if *url == self.url && !is_built => {
                    in_document = in_document.or(Some((line, column)));
                }
                Origin::Unmapped if self.files.contains(url) => {
                    return format!(" ({url}:{line}:{column})");
                }
                _ => {}
            }
        }
        in_document.map_or_else(String::new, |(line, column)| {
            format!(" (document:{line}:{column})")
        })
    }
}

/// One line of an error's stack: address, line and column.
fn frame(line: &str) -> Option<(&str, usize, usize)> {
    let place = line.strip_prefix("    at ")?;
    let place = match place.rsplit_once(" (") {
        Some((_, inner)) => inner.strip_suffix(')')?,
        None => place,
    };
    let mut parts = place.rsplitn(3, ':');
    let column = parts.next()?.parse().ok()?;
    let line = parts.next()?.parse().ok()?;
    Some((parts.next()?, line, column))
}

/// The arguments of a console call as one text; the first may be a format.
fn formatted(args: &[Value], value: &dyn Fn(&Value) -> String) -> String {
    let mut args = args.iter();
    let mut words = Vec::new();
    if let Some(first) = args.next() {
        let is_format = args.len() > 0 && first["type"] == "string";
        let mut rest = value(first);
        let mut done = String::new();
        while is_format && let Some((before, after)) = rest.split_once('%') {
            done += before;
            let kind = after.chars().next().unwrap_or_default();
            match (kind, args.len()) {
                ('s' | 'd' | 'i' | 'f' | 'o' | 'O', 1..) => {
                    done += &args.next().map(value).unwrap_or_default();
                }
                // A style, which no text shows.
                ('c', 1..) => drop(args.next()),
                ('%', _) => done.push('%'),
                _ => {
                    done.push('%');
                    done.extend(after.chars().next());
                }
            }
            rest = after.chars().skip(1).collect();
        }
        words.push(done + &rest);
    }
    words.extend(args.map(value));
    words.join(" ")
}

/// A value that is no error.
fn shown(value: &Value) -> String {
    let properties = value["preview"]["properties"].as_array();
    match (text(&value["type"]), text(&value["subtype"]), properties) {
        ("string", ..) => text(&value["value"]).to_owned(),
        ("undefined", ..) => "undefined".to_owned(),
        (_, "null", _) => "null".to_owned(),
        ("object", "array", Some(items)) => {
            let items = items.iter().map(|item| text(&item["value"]));
            format!("[{}]", items.collect::<Vec<_>>().join(", "))
        }
        ("object", "", Some(items)) => {
            let item = |item: &Value| {
                format!("{}: {}", text(&item["name"]), text(&item["value"]))
            };
            let items: Vec<_> = items.iter().map(item).collect();
            format!("{{{}}}", items.join(", "))
        }
        _ => match (&value["description"], &value["value"]) {
            (Value::String(description), _) => description.clone(),
            (_, value) => value.to_string(),
        },
    }
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}
