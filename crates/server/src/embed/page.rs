//! The HTML of the pages. URLs are relative, since a proxy may serve them
//! under any prefix.

use super::EditorPage;

const EDITOR: &str = include_str!("editor.html");
const INDEX: &str = include_str!("index.html");
const FAILURE: &str = include_str!("failure.html");

/// The editor page, ready to run its files.
pub(super) fn editor(page: &EditorPage<'_>) -> String {
    let mut tabs = String::new();
    for file in page.files {
        let entry =
            if file.path == page.entry_file { " data-entry" } else { "" };
        // HTML drops one newline after the tag: the first is the one to drop.
        tabs += &format!(
            "<label>{path}<textarea data-path=\"{path}\"{entry} \
             spellcheck=\"false\" autocapitalize=\"off\" rows=\"16\">\n\
             {content}</textarea></label>\n",
            path = escaped(&file.path),
            content = escaped(&file.content),
        );
    }
    filled(
        EDITOR,
        &[
            ("title", &escaped(page.title)),
            ("language", &escaped(page.language)),
            ("files", &tabs),
        ],
    )
}

/// The index page, with a link for each language's id and title.
pub(super) fn index(languages: &[(&str, &str)]) -> String {
    let mut links = String::new();
    for (id, title) in languages {
        links += &format!(
            "<li><a href=\"embed?lang={id}\">{}</a></li>\n",
            escaped(title)
        );
    }
    filled(INDEX, &[("languages", &links)])
}

/// A page that says what is wrong with the request.
pub(super) fn failure(message: &str) -> String {
    filled(FAILURE, &[("message", &escaped(message))])
}

/// A template without its first line, which says what it is for, and with each
/// `{{name}}` replaced, in one pass: what is put in is never a template itself.
fn filled(template: &str, values: &[(&str, &str)]) -> String {
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

fn escaped(text: &str) -> String {
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
    use sandpiper_engine::languages::SourceFile;

    use super::*;

    #[test]
    fn files_are_shown_as_they_are() {
        let files = [SourceFile {
            path: "a&b.c".to_owned(),
            content: "\nif (a < \"{{title}}\") {}\n</textarea>".to_owned(),
        }];
        let page = editor(&EditorPage {
            language: "c",
            title: "C",
            entry_file: "a&b.c",
            files: &files,
        });
        let area = "data-path=\"a&amp;b.c\" data-entry \
                    spellcheck=\"false\" autocapitalize=\"off\" \
                    rows=\"16\">\n\nif (a &lt; &quot;{{title}}&quot;) {}\n\
                    &lt;/textarea&gt;</textarea>";
        assert!(page.starts_with("<!DOCTYPE html>\n<html "), "{page}");
        assert!(page.contains(area), "{page}");
        assert!(page.contains("data-language=\"c\""), "{page}");
    }
}
