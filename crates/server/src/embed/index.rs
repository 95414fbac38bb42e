//! The index page: what this server is, with an editor to try.

use http::header::CONTENT_SECURITY_POLICY;
use http::{HeaderName, HeaderValue, StatusCode};

use super::page::{escaped, filled, icon};
use super::{LANGUAGES, PageLanguage, add_page_headers, html, nonce};
use crate::http::Answer;

const INDEX: &str = include_str!("index.html");
const STYLE: &str = include_str!("index.css");
const SCRIPT: &str = include_str!("index.js");

/// The language that is shown first; index.html names it too.
const FIRST: &str = "python";

/// `/`.
pub(crate) fn index() -> Answer {
    let nonce = nonce();
    let mut answer = html(StatusCode::OK, text(&nonce));
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

fn text(nonce: &str) -> String {
    let mut links = String::new();
    let mut snippets = String::new();
    for PageLanguage { id, title, .. } in &LANGUAGES {
        let current = if *id == FIRST { " aria-current=\"true\"" } else { "" };
        let title = escaped(title);
        // The frame of that name shows it, without a script too.
        links += &format!(
            "<a href=\"embed?lang={id}\" target=\"live\" \
             data-id=\"{id}\"{current}>{title}</a>\n"
        );
        let line = snippet(id, &title);
        snippets +=
            &format!("<dt>{title}</dt><dd id=\"snippet-{id}\">{line}</dd>\n");
    }
    let first = LANGUAGES.iter().find(|language| language.id == FIRST);
    let first = first.map(|first| snippet(first.id, &escaped(first.title)));
    filled(
        INDEX,
        &[
            ("nonce", nonce),
            ("icon", &icon()),
            ("style", STYLE),
            ("script", SCRIPT),
            ("languages", &links),
            ("snippet", &first.unwrap_or_default()),
            ("snippets", &snippets),
        ],
    )
}

/// The element that embeds a language, as text; the script puts the address
/// of this server in.
fn snippet(id: &str, title: &str) -> String {
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
    use super::*;

    #[test]
    fn every_language_has_its_link_and_its_line() {
        let text = text("abc");
        for PageLanguage { id, .. } in &LANGUAGES {
            let link = format!("<a href=\"embed?lang={id}\" target=\"live\"");
            assert_eq!(text.matches(&link).count(), 1, "{id}");
            let line = format!("</span>embed?lang={id}&quot; title=");
            assert!(text.contains(&line), "{id}");
        }
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
        let text = text("abc");
        for name in names {
            let named = format!("<dt><code>{name}=");
            assert_eq!(text.matches(&named).count(), 1, "{name}");
        }
    }
}
