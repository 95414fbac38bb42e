//! The HTML of the pages. URLs are relative, since a proxy may serve them
//! under any prefix.

use serde_json::json;

use super::EditorPage;
use super::assets::PageFiles;

const EDITOR: &str = include_str!("editor.html");
const EARLY: &str = include_str!("early.js");
const FAILURE: &str = include_str!("failure.html");
const ICON: &str = include_str!("icon.svg");

/// The editor page, ready to run its files; they can be read without a script.
pub(super) fn editor(page: &EditorPage<'_>) -> String {
    let mut files = String::new();
    // The editor shows the entry first, so nothing moves when it comes.
    let (entry, others): (Vec<_>, Vec<_>) =
        page.files.iter().partition(|file| file.path == page.entry_file);
    for file in entry.into_iter().chain(others) {
        // HTML drops one newline after the tag: the first is the one to drop.
        files += &format!(
            "<figure><figcaption>{}</figcaption><pre>\n{}</pre></figure>\n",
            escaped(&file.path),
            escaped(&file.content),
        );
    }
    filled(
        EDITOR,
        &[
            ("title", &escaped(page.title)),
            ("icon", &icon()),
            ("language", &escaped(page.language)),
            ("nonce", page.nonce),
            ("early", EARLY),
            ("links", &links(&page.page_files)),
            ("files", &files),
            ("no-stdin", if page.takes_stdin { "" } else { " hidden" }),
            ("config", &config(page)),
        ],
    )
}

fn links(files: &PageFiles) -> String {
    let mut links = String::new();
    for style in &files.styles {
        links += &format!("<link rel=\"stylesheet\" href=\"embed/{style}\">\n");
    }
    for preload in &files.preloads {
        links +=
            &format!("<link rel=\"modulepreload\" href=\"embed/{preload}\">\n");
    }
    let script = &files.script;
    links
        + &format!("<script type=\"module\" src=\"embed/{script}\"></script>\n")
}

/// What the script has to know (web/src/config.ts), fit to stand in a script
/// element.
fn config(page: &EditorPage<'_>) -> String {
    let files = page.files.iter();
    let files: Vec<_> = files
        .map(|file| json!({"path": file.path, "content": file.content}))
        .collect();
    let config = json!({
        "language": page.language,
        "title": page.title,
        "entryFile": page.entry_file,
        "files": files,
        "takesStdin": page.takes_stdin,
        "output": page.output,
        "nonce": page.nonce,
        "previewUrl": page.preview_url,
    });
    config.to_string().replace('<', "\\u003c")
}

/// A page that says what is wrong with the request.
pub(super) fn failure(message: &str, nonce: &str) -> String {
    filled(
        FAILURE,
        &[("icon", &icon()), ("message", &escaped(message)), ("nonce", nonce)],
    )
}

/// The icon as a URL that needs no request, fit for an attribute.
pub(super) fn icon() -> String {
    let svg = filled(ICON, &[]).replace('\n', " ").replace('"', "'");
    let encoded = svg.replace('#', "%23").replace('<', "%3C");
    format!("data:image/svg+xml,{}", encoded.replace('>', "%3E").trim_end())
}

/// A template without its first line, which says what it is for, and with each
/// `{{name}}` replaced, in one pass: what is put in is never a template itself.
pub(super) fn filled(template: &str, values: &[(&str, &str)]) -> String {
    let template = template.split_once('\n').map_or("", |(_, rest)| rest);
    let mut text = String::new();
    let mut parts = template.split("{{");
    text += parts.next().unwrap_or_default();
    for part in parts {
        let (name, rest) = part.split_once("}}").unwrap_or((part, ""));
        let value = values.iter().find(|(own, _)| *own == name);
        text += value.map_or("", |(_, value)| value);
        text += rest;
    }
    text
}

pub(super) fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&#39;",
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use sandpiper_engine::languages::{Output, SourceFile};

    use super::*;

    #[test]
    fn files_are_shown_as_they_are() {
        let content = "\nif (a < \"{{title}}\") {}\n</script>";
        let files =
            [("a.h", "int b;"), ("a&b.c", content)].map(|(path, content)| {
                SourceFile {
                    path: path.to_owned(),
                    content: content.to_owned(),
                }
            });
        let page = editor(&EditorPage {
            language: "c",
            title: "C",
            entry_file: "a&b.c",
            files: &files,
            takes_stdin: true,
            output: Output::Tables,
            page_files: PageFiles {
                script: "assets/main-1.js".to_owned(),
                styles: vec!["assets/main-2.css".to_owned()],
                preloads: BTreeSet::from(["assets/cpp-3.js".to_owned()]),
            },
            nonce: "abc",
            preview_url: "embed/preview",
        });
        let shown = "<figcaption>a&amp;b.c</figcaption><pre>\n\nif (a &lt; \
                     &quot;{{title}}&quot;) {}\n&lt;/script&gt;</pre>";
        assert!(page.starts_with("<!DOCTYPE html>\n<html "), "{page}");
        let (entry, other) = (page.find(shown), page.find("<pre>\nint b;"));
        assert!(entry.is_some() && entry < other, "{page}");
        assert!(page.contains("data-language=\"c\""), "{page}");
        assert!(page.contains("href=\"embed/assets/cpp-3.js\""), "{page}");
        assert!(page.contains(r#""output":"tables""#), "{page}");
        assert_eq!(page.matches("</script>").count(), 3, "{page}");
    }
}
