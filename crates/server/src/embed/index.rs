//! The index page: describes this server, and has an editor and examples to try.

use std::fmt::Write as _;

use http::header::CONTENT_SECURITY_POLICY;
use http::{HeaderName, HeaderValue, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use sandpiper_engine::languages::{Catalog, Language};
use serde_json::json;

use super::page::{escaped, filled, icon};
use super::{Abilities, add_page_headers, address_of, html, nonce};
use crate::http::Answer;

const INDEX: &str = include_str!("index.html");
const STYLE: &str = include_str!("index.css");
const SCRIPT: &str = include_str!("index.js");

/// A program that shows more than its output.
struct Example {
    id: &'static str,
    title: &'static str,
    language: &'static str,
    /// A parameter of the editor page.
    parameter: &'static str,
    code: &'static str,
    /// Whether a server with these abilities can show it.
    is_shown: fn(Abilities) -> bool,
}

const EXAMPLES: [Example; 3] = [
    Example {
        id: "plot",
        title: "A plot",
        language: "python",
        parameter: "artifacts=1",
        code: include_str!("examples/plot.py"),
        is_shown: |abilities| abilities.artifacts,
    },
    Example {
        id: "turtle",
        title: "A drawing",
        language: "python",
        parameter: "artifacts=1",
        code: include_str!("examples/turtle.py"),
        is_shown: |abilities| abilities.artifacts,
    },
    Example {
        id: "dialogue",
        title: "A dialogue",
        language: "python",
        parameter: "input=live",
        code: include_str!("examples/dialogue.py"),
        is_shown: |abilities| abilities.live,
    },
];

/// `/`.
pub(super) fn page(catalog: &Catalog, abilities: Abilities) -> Answer {
    let nonce = nonce();
    let text = text(catalog, abilities, &nonce);
    let mut answer = html(StatusCode::OK, text);
    let policy = format!(
        "default-src 'none'; script-src 'nonce-{nonce}'; img-src data:; \
         style-src 'nonce-{nonce}'; frame-src 'self'; base-uri 'none'; \
         form-action 'none'; frame-ancestors 'none'; \
         trusted-types 'none'; require-trusted-types-for 'script'"
    );
    let headers = answer.headers_mut();
    if let Ok(policy) = HeaderValue::from_str(&policy) {
        headers.insert(CONTENT_SECURITY_POLICY, policy);
    }
    add_page_headers(headers);
    for name in ["cross-origin-opener-policy", "cross-origin-resource-policy"] {
        let name = HeaderName::from_static(name);
        headers.insert(name, HeaderValue::from_static("same-origin"));
    }
    answer
}

fn text(catalog: &Catalog, abilities: Abilities, nonce: &str) -> String {
    let mut links = String::new();
    let mut snippets = String::new();
    let first = catalog.languages().next();
    for language in catalog.languages() {
        let id = language.id();
        let is_first = first.is_some_and(|first| first.id() == id);
        let current = if is_first { " aria-current=\"true\"" } else { "" };
        let title = escaped(language.title());
        // The frame of that name shows it, without a script too.
        links += &format!(
            "<a href=\"{}\" target=\"live\" data-id=\"{id}\"{current}>\
             {title}</a>\n",
            address_of(id)
        );
        let line = line_of(language);
        snippets +=
            &format!("<dt>{title}</dt><dd id=\"snippet-{id}\">{line}</dd>\n");
    }
    let mut examples = String::new();
    for example in EXAMPLES {
        let Example { id, title, language, .. } = example;
        if !(example.is_shown)(abilities) || catalog.find(language).is_none() {
            continue;
        }
        let address = example.address();
        let _ = writeln!(
            examples,
            "<a href=\"{}\" target=\"live\" data-id=\"{id}\">{title}</a>",
            escaped(&address)
        );
        let line = snippet(&address, title);
        snippets +=
            &format!("<dt>{title}</dt><dd id=\"snippet-{id}\">{line}</dd>\n");
    }
    let [language, entry, code, output] = request(catalog);
    let count = catalog.languages().count();
    filled(
        INDEX,
        &[
            ("nonce", nonce),
            ("icon", &icon()),
            ("style", STYLE),
            ("script", SCRIPT),
            ("count", &count.to_string()),
            ("plural", if count == 1 { "" } else { "s" }),
            ("first", &address_of(first.map(Language::id).unwrap_or_default())),
            ("languages", &links),
            ("examples", &examples),
            ("no-examples", if examples.is_empty() { " hidden" } else { "" }),
            ("snippet", &first.map(line_of).unwrap_or_default()),
            ("language", language),
            ("entry", &escaped(entry)),
            ("code", code),
            ("output", output),
            ("snippets", &snippets),
        ],
    )
}

impl Example {
    /// Returns the address of the editor with this program, relative to the
    /// server's.
    fn address(&self) -> String {
        let Self { language, parameter, code, .. } = self;
        let code = json!({"files": [{"content": code}]}).to_string();
        let code = utf8_percent_encode(&code, NON_ALPHANUMERIC);
        format!("embed?lang={language}&{parameter}#json={code}")
    }
}

/// Returns the language, the entry file, the code and the output of the request
/// that the page shows: a short one, or one with gaps in a language that is served.
fn request(catalog: &Catalog) -> [&str; 4] {
    if catalog.find("python").is_some() {
        return ["python", "main.py", "print(6 * 7)", "42\\n"];
    }
    let first = catalog.languages().next().map(Language::id);
    let first = first.unwrap_or_default();
    let starter = catalog.starter(first);
    let entry = starter.map(|starter| starter.submission.entry_file());
    [first, entry.unwrap_or_default(), "…", "…"]
}

fn line_of(language: &Language) -> String {
    let title = format!("{} editor", language.title());
    snippet(&address_of(language.id()), &title)
}

/// Returns the element that embeds this address, as text. The script of the
/// page inserts the address of this server.
fn snippet(address: &str, title: &str) -> String {
    let (address, title) = (escaped(address), escaped(title));
    let source = format!(
        "<iframe src=\"\u{0}{address}\" title=\"{title}\" \
         width=\"100%\" height=\"480\" loading=\"lazy\" \
         allow=\"clipboard-write; fullscreen\" style=\"border:0\"></iframe>"
    );
    let base = "<span data-base>http://localhost:8080/</span>";
    escaped(&source).replace('\u{0}', base)
}

#[cfg(test)]
mod tests {
    use super::super::languages_of;
    use super::super::tests::{catalog, source};
    use super::*;

    #[test]
    fn every_language_has_its_link_and_its_line() {
        let catalog = catalog();
        let text = text(&catalog, Abilities::default(), "abc");
        for id in languages_of(&catalog) {
            let link = format!("<a href=\"embed?lang={id}\" target=\"live\"");
            assert_eq!(text.matches(&link).count(), 1, "{id}");
            let line = format!("</span>embed?lang={id}&quot; title=");
            assert!(text.contains(&line), "{id}");
        }
        assert!(text.contains("src=\"embed?lang=python\""), "{text}");
        assert!(text.contains("3 languages;"), "{text}");
        assert!(!text.contains("{{"), "{text}");
        assert_eq!(text.matches("nonce=\"abc\"").count(), 2, "{text}");
        assert_eq!(text.matches("</script>").count(), 1, "{text}");
    }

    #[test]
    fn the_page_sends_what_the_server_takes() {
        let mut folder = source("c", "");
        folder.files.insert("starter/m.c".to_owned(), "int b;\n".into());
        let catalog = Catalog::load([folder]).unwrap();
        let text = text(&catalog, Abilities::default(), "abc");
        assert!(text.contains("&lt;pre data-lang=&quot;c&quot;&gt;"), "{text}");
        let (_, request) = text.split_once("-d '").unwrap();
        let (request, _) = request.split_once("'</pre>").unwrap();
        let request = request.replace("&quot;", "\"");
        let request: serde_json::Value =
            serde_json::from_str(&request).unwrap();
        let files = [json!({"path": "m.c", "content": "…"})];
        let expected =
            json!({"language": "c", "entryFile": "m.c", "files": files});
        assert_eq!(request, expected);
        assert!(!text.contains("python"), "{text}");
    }

    #[test]
    fn examples_need_the_abilities_of_the_server() {
        let check = |artifacts, live, expected: &[&str]| {
            let text = text(&catalog(), Abilities { artifacts, live }, "abc");
            let shown = EXAMPLES.iter().filter(|example| {
                let id = format!("data-id=\"{}\"", example.id);
                let line = format!("id=\"snippet-{}\"", example.id);
                text.contains(&id) && text.contains(&line)
            });
            let shown: Vec<_> = shown.map(|example| example.id).collect();
            assert_eq!(shown, expected);
        };
        check(false, false, &[]);
        check(true, false, &["plot", "turtle"]);
        check(false, true, &["dialogue"]);
    }

    #[test]
    fn every_documented_parameter_is_named() {
        let path =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/embedding.md");
        let manual = std::fs::read_to_string(path).unwrap();
        let (_, table) = manual.split_once("| parameter |").unwrap();
        let names: Vec<&str> = table
            .lines()
            .skip(2)
            .map_while(|row| row.strip_prefix("| `")?.split('`').next())
            .filter(|name| *name != "lang")
            .collect();
        assert!(names.len() > 10, "{names:?}");
        let text = text(&catalog(), Abilities::default(), "abc");
        for name in names {
            let named = format!("<dt><code>{name}=");
            assert_eq!(text.matches(&named).count(), 1, "{name}");
        }
    }
}
