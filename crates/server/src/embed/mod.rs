//! Area B: the editor page, for one language, and the index page.

mod page;

use http::header::{ALLOW, CONTENT_SECURITY_POLICY, REFERRER_POLICY};
use http::{HeaderValue, Method, StatusCode};
use sandpiper_engine::languages::{Catalog, SourceFile};

use crate::http::{Answer, Page, page as answer};
use crate::settings::FrameAncestors;

/// The languages of the page: the value of `lang`, the title, and the file
/// that the page starts with where the catalogue has no sample.
const LANGUAGES: [(&str, &str, &str); 11] = [
    ("python", "Python", "main.py"),
    ("c", "C", "main.c"),
    ("cpp", "C++", "main.cpp"),
    ("java", "Java", "Main.java"),
    ("php", "PHP", "main.php"),
    ("csharp", "C#", "Program.cs"),
    ("mysql", "MySQL", "main.sql"),
    ("mongodb", "MongoDB", "main.js"),
    ("web", "HTML, CSS and JavaScript", "index.html"),
    ("react", "React", "App.jsx"),
    ("vue", "Vue", "App.vue"),
];
const DEFAULT_LANGUAGE: &str = "java";

const HTML: &str = "text/html; charset=utf-8";
const SCRIPT: &str = include_str!("page.js");
const STYLE: &str = include_str!("page.css");

/// The routes `/`, `/embed` and the page's assets.
#[derive(Debug)]
pub(crate) struct Embed {
    /// Of the editor page.
    policy: HeaderValue,
}

/// What the editor page shows.
#[derive(Debug)]
struct EditorPage<'a> {
    /// The value of `language` in its requests.
    language: &'a str,
    title: &'a str,
    entry_file: &'a str,
    files: &'a [SourceFile],
}

impl Embed {
    pub(crate) fn new(frame_ancestors: &FrameAncestors) -> Self {
        let policy = format!(
            "default-src 'none'; script-src 'self'; style-src 'self'; \
             connect-src 'self'; base-uri 'none'; form-action 'none'; \
             frame-ancestors {}",
            frame_ancestors.as_str()
        );
        // FrameAncestors holds only what a header can.
        let policy = HeaderValue::from_str(&policy)
            .unwrap_or(HeaderValue::from_static("default-src 'none'"));
        Self { policy }
    }

    /// `/embed`, with the query of its URL.
    pub(crate) fn editor(
        &self,
        method: &Method,
        query: Option<&str>,
        catalog: &Catalog,
    ) -> Answer {
        let (status, text) = if is_read(method) {
            editor(query.unwrap_or_default(), catalog)
        } else {
            let message = "method not allowed on /embed";
            (StatusCode::METHOD_NOT_ALLOWED, page::failure(message))
        };
        let mut answer = html(status, text);
        let headers = answer.headers_mut();
        if status == StatusCode::METHOD_NOT_ALLOWED {
            headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        headers.insert(CONTENT_SECURITY_POLICY, self.policy.clone());
        let referrer = HeaderValue::from_static("no-referrer");
        headers.insert(REFERRER_POLICY, referrer);
        answer
    }
}

/// `/`.
pub(crate) fn index() -> Answer {
    let languages = LANGUAGES.map(|(id, title, _)| (id, title));
    html(StatusCode::OK, page::index(&languages))
}

/// The editor page's script.
pub(crate) fn script() -> Answer {
    asset("text/javascript; charset=utf-8", SCRIPT)
}

/// The editor page's style sheet.
pub(crate) fn style() -> Answer {
    asset("text/css; charset=utf-8", STYLE)
}

/// Whether a method only reads.
pub(crate) fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

fn editor(query: &str, catalog: &Catalog) -> (StatusCode, String) {
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    let asked = pairs.find(|(name, _)| name == "lang");
    let asked = asked.map(|(_, value)| value).unwrap_or_default();
    let wanted = if asked.is_empty() { DEFAULT_LANGUAGE } else { &asked };
    let found = LANGUAGES.iter().find(|(id, ..)| *id == wanted);
    let Some((language, title, file)) = found.copied() else {
        let known = LANGUAGES.map(|(id, ..)| id).join(", ");
        let message =
            format!("unknown lang {wanted:?}: the languages are {known}");
        return (StatusCode::BAD_REQUEST, page::failure(&message));
    };
    let empty = [SourceFile { path: file.to_owned(), content: String::new() }];
    let starter = catalog.starter(language);
    let (entry_file, files) = match starter {
        Some(starter) => {
            (starter.submission.entry_file(), starter.submission.files())
        }
        None => (file, empty.as_slice()),
    };
    let page = EditorPage { language, title, entry_file, files };
    (StatusCode::OK, page::editor(&page))
}

fn html(status: StatusCode, text: String) -> Answer {
    answer(Page { status, content_type: HTML, text: text.into() })
}

fn asset(content_type: &'static str, text: &'static str) -> Answer {
    let text = text.as_bytes().into();
    answer(Page { status: StatusCode::OK, content_type, text })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str, expected: Result<&str, &str>) {
        let (status, text) = editor(query, &Catalog::load([]).unwrap());
        match expected {
            Ok(title) => {
                assert_eq!(status, StatusCode::OK, "{query}");
                let title = format!("<title>{title} editor</title>");
                assert!(text.contains(&title), "{query}: {text}");
            }
            Err(value) => {
                assert_eq!(status, StatusCode::BAD_REQUEST, "{query}");
                assert!(text.contains(value), "{query}: {text}");
                for (id, ..) in LANGUAGES {
                    assert!(text.contains(id), "{query}: {id}");
                }
            }
        }
    }

    #[test]
    fn lang_is_one_of_eleven_exact_values() {
        for (id, title, _) in LANGUAGES {
            check(&format!("lang={id}"), Ok(title));
        }
        check("", Ok("Java"));
        check("lang=", Ok("Java"));
        check("lang", Ok("Java"));
        check("other=c", Ok("Java"));
        check("a=b&lang=c", Ok("C"));
        check("lang=%63pp", Ok("C++"));
        check("lang=c&lang=vue", Ok("C"));
        check("lang=Python", Err("Python"));
        check("lang=py", Err("py"));
        check("lang=c++", Err("c  "));
        check("lang=%20c", Err(" c"));
        check("lang=rust", Err("rust"));
        check("lang=%3Cscript%3E", Err("&lt;script&gt;"));
        check("lang=%ff", Err("\u{fffd}"));
    }

    #[test]
    fn the_languages_are_those_of_the_service() {
        let ids = LANGUAGES.map(|(id, ..)| id);
        assert_eq!(ids, sandpiper_engine::languages::SERVICE_LANGUAGES);
    }
}
