//! The index page: describes this server, and has an editor to try.

use http::header::CONTENT_SECURITY_POLICY;
use http::{HeaderName, HeaderValue, StatusCode};
use sandpiper_engine::languages::{Catalog, Language};

use super::page::{escaped, filled, icon};
use super::{add_page_headers, html, nonce};
use crate::http::Answer;

const INDEX: &str = include_str!("index.html");
const STYLE: &str = include_str!("index.css");
const SCRIPT: &str = include_str!("index.js");

/// `/`.
pub(super) fn page(catalog: &Catalog) -> Answer {
    let nonce = nonce();
    let mut answer = html(StatusCode::OK, text(catalog, &nonce));
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

fn text(catalog: &Catalog, nonce: &str) -> String {
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
            "<a href=\"embed?lang={id}\" target=\"live\" \
             data-id=\"{id}\"{current}>{title}</a>\n"
        );
        let line = snippet(language);
        snippets +=
            &format!("<dt>{title}</dt><dd id=\"snippet-{id}\">{line}</dd>\n");
    }
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
            ("first", first.map(Language::id).unwrap_or_default()),
            ("languages", &links),
            ("snippet", &first.map(snippet).unwrap_or_default()),
            ("snippets", &snippets),
        ],
    )
}

/// The element that embeds a language, as text. The script of the page inserts
/// the address of this server.
fn snippet(language: &Language) -> String {
    let (id, title) = (language.id(), escaped(language.title()));
    let source = format!(
        "<iframe src=\"\u{0}embed?lang={id}\" title=\"{title} editor\" \
         width=\"100%\" height=\"480\" loading=\"lazy\" \
         allow=\"clipboard-write\" style=\"border:0\"></iframe>"
    );
    let base = "<span data-base>http://localhost:8080/</span>";
    escaped(&source).replace('\u{0}', base)
}

#[cfg(test)]
mod tests {
    use super::super::languages_of;
    use super::super::tests::catalog;
    use super::*;

    #[test]
    fn every_language_has_its_link_and_its_line() {
        let catalog = catalog();
        let text = text(&catalog, "abc");
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
        let text = text(&catalog(), "abc");
        for name in names {
            let named = format!("<dt><code>{name}=");
            assert_eq!(text.matches(&named).count(), 1, "{name}");
        }
    }
}
