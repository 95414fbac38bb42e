//! The HTML of the pages. URLs are relative, since a proxy may serve them
//! under any prefix.

use std::collections::BTreeMap;

use sandpiper_engine::languages::Catalog;
use serde_json::json;

use super::assets::PageFiles;
use super::{EditorPage, address_of};

const EDITOR: &str = include_str!("editor.html");
const EARLY: &str = include_str!("early.js");
const FAILURE: &str = include_str!("failure.html");
const ICON: &str = include_str!("icon.svg");

/// Returns the editor page, ready to run its files; they can be read without a
/// script.
pub(super) fn editor(page: &EditorPage<'_>) -> String {
    let mut files = String::new();
    let language = page.language;
    let entry_file = page.starter.entry_file();
    // The editor shows the entry first too, so nothing moves when it loads.
    let (entry, others): (Vec<_>, Vec<_>) =
        page.starter.files().iter().partition(|file| file.path == entry_file);
    for file in entry.into_iter().chain(others) {
        // HTML drops one newline after the tag: the first is the one to drop.
        files += &format!(
            "<figure><figcaption>{}</figcaption><pre>\n{}</pre></figure>\n",
            escaped(&file.path),
            escaped(&String::from_utf8_lossy(&file.content)),
        );
    }
    let title = escaped(language.title());
    let words = page.locale.page.iter().map(|(key, text)| {
        (key.as_str(), escaped(text).replace("{title}", &title))
    });
    let words: Vec<_> = words.collect();
    let words = words.iter().map(|(key, text)| (*key, text.as_str()));
    let no_stdin = if language.takes_stdin() { "" } else { " hidden" };
    let (icon, links, config) = (icon(), links(&page.page_files), config(page));
    let values = [
        ("title", title.as_str()),
        ("heading", &heading(page)),
        ("lang", &page.locale.tag),
        ("dir", page.locale.direction()),
        ("icon", &icon),
        ("language", &escaped(language.id())),
        ("nonce", page.nonce),
        ("early", EARLY),
        ("links", &links),
        ("files", &files),
        ("no-stdin", no_stdin),
        ("config", &config),
    ];
    let values: Vec<_> = values.into_iter().chain(words).collect();
    filled(EDITOR, &values)
}

/// Returns the language's title, or the list to switch to another
/// (web/src/switcher.ts).
fn heading(page: &EditorPage<'_>) -> String {
    let title = escaped(page.language.title());
    if page.switcher.is_empty() {
        return format!("<h1>{title}</h1>");
    }
    let mut options = String::new();
    for language in page.switcher {
        let (id, title) = (language.id(), escaped(language.title()));
        let is_shown = id == page.language.id();
        let selected = if is_shown { " selected" } else { "" };
        options +=
            &format!("<option value=\"{id}\"{selected}>{title}</option>");
    }
    let label = page.locale.page.get("page.language");
    let label = label.map(|text| escaped(text)).unwrap_or_default();
    // Without `autocomplete`, the list of a page that is opened again may show
    // another language than the page.
    format!(
        "<h1 class=\"unseen\">{title}</h1><select id=\"language\" \
         aria-label=\"{label}\" autocomplete=\"off\">{options}</select>"
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

/// Returns the settings of the script (web/src/config.ts), fit for a script
/// element.
fn config(page: &EditorPage<'_>) -> String {
    let language = page.language;
    let files = page.starter.files().iter();
    let files: Vec<_> = files
        .map(|file| {
            let content = String::from_utf8_lossy(&file.content);
            json!({"path": file.path, "content": content})
        })
        .collect();
    let config = json!({
        "language": language.id(),
        "title": language.title(),
        "names": names(page.catalog),
        "entryFile": page.starter.entry_file(),
        "files": files,
        "takesStdin": language.takes_stdin(),
        "artifacts": page.abilities.artifacts,
        "live": page.abilities.live,
        "output": language.output(),
        "editor": language.editor(),
        "words": page.locale.start,
        "explanations": page.explanations,
        "completions": page.completions,
        "nonce": page.nonce,
        "previewUrl": page.preview_url,
    });
    config.to_string().replace('<', "\\u003c")
}

/// Returns the aliases of every language, by its id.
pub(super) fn names(catalog: &Catalog) -> BTreeMap<&str, &[String]> {
    let languages = catalog.languages();
    languages.map(|language| (language.id(), language.aliases())).collect()
}

/// Returns a page with the reason why a request was refused.
pub(super) fn failure(message: &str, nonce: &str) -> String {
    refusal("Editor not available", message, "", nonce)
}

/// Returns the page of a language that is not served, with links to those that
/// are.
pub(super) fn unknown(wanted: &str, catalog: &Catalog, nonce: &str) -> String {
    let links: String = catalog
        .languages()
        .map(|language| {
            let title = escaped(language.title());
            let address = address_of(language.id());
            format!("<li><a href=\"{address}\">{title}</a></li>\n")
        })
        .collect();
    let message = if links.is_empty() {
        "This server has no languages."
    } else {
        "This server has editors for:"
    };
    let heading = format!("Unknown language \"{wanted}\"");
    refusal(&heading, message, &format!("<ul>\n{links}</ul>\n"), nonce)
}

fn refusal(heading: &str, message: &str, links: &str, nonce: &str) -> String {
    filled(
        FAILURE,
        &[
            ("icon", &icon()),
            ("heading", &escaped(heading)),
            ("message", &escaped(message)),
            ("links", links),
            ("nonce", nonce),
        ],
    )
}

/// Returns the icon as a `data:` URL, fit for an attribute.
pub(super) fn icon() -> String {
    let svg = filled(ICON, &[]).replace('\n', " ").replace('"', "'");
    let encoded = svg.replace('#', "%23").replace('<', "%3C");
    format!("data:image/svg+xml,{}", encoded.replace('>', "%3E").trim_end())
}

/// Returns a template without its first line, which is a comment, and with each
/// `{{name}}` replaced. One pass: a value is never read as a template.
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

    use http::HeaderMap;

    use super::super::Abilities;
    use super::super::locales::Locales;
    use super::super::tests::source;
    use super::*;

    #[test]
    fn files_are_shown_as_they_are() {
        let content = "\nif (a < \"{{title}}\") {}\n</script>";
        let lines = "output = \"tables\"\naliases = [\"c++\"]\n\
                     extensions = [\"c\"]\n[editor]\ngrammar = \"cpp\"";
        let mut source = source("c", lines);
        source.files.insert("starter/a&b.c".to_owned(), content.into());
        let definition = source.files.get_mut("language.toml").unwrap();
        let text = String::from_utf8(definition.clone()).unwrap();
        *definition = text.replace("m.c", "a&b.c").into();
        let catalog = Catalog::load([source]).unwrap();
        let locales = Locales::load();
        let page = editor(&EditorPage {
            language: catalog.find("c").unwrap(),
            switcher: &[],
            starter: &catalog.starter("c").unwrap().submission,
            catalog: &catalog,
            abilities: Abilities { artifacts: true, live: false },
            page_files: PageFiles {
                script: "assets/main-1.js".to_owned(),
                styles: vec!["assets/main-2.css".to_owned()],
                preloads: BTreeSet::from(["assets/cpp-3.js".to_owned()]),
            },
            locale: locales.find("pt", &HeaderMap::new()),
            nonce: "abc",
            explanations: Some("embed/assets/explanations-4.json"),
            completions: None,
            preview_url: "embed/preview",
        });
        let shown = "<figcaption>a&amp;b.c</figcaption><pre>\n\nif (a &lt; \
                     &quot;{{title}}&quot;) {}\n&lt;/script&gt;</pre>";
        let head = "<!DOCTYPE html>\n<html lang=\"pt-BR\" dir=\"ltr\">";
        assert!(page.starts_with(head), "{page}");
        let (entry, other) = (page.find(shown), page.find("<pre>\nint b;"));
        assert!(entry.is_some() && entry < other, "{page}");
        assert!(page.contains("data-language=\"c\""), "{page}");
        assert!(page.contains("href=\"embed/assets/cpp-3.js\""), "{page}");
        assert!(page.contains(r#""output":"tables""#), "{page}");
        assert!(page.contains(r#""content":"int b;\n""#), "{page}");
        assert!(page.contains(r#""grammars":{"c":"cpp"}"#), "{page}");
        assert!(page.contains(r#""artifacts":true"#), "{page}");
        assert!(page.contains(r#""live":false"#), "{page}");
        assert!(page.contains(r#""start.undo":"Desfazer""#), "{page}");
        assert!(page.contains("aria-label=\"Editor de The c\""), "{page}");
        assert!(page.contains(r#""names":{"c":["c++"]}"#), "{page}");
        assert_eq!(page.matches("</script>").count(), 3, "{page}");
    }
}
