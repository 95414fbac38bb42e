//! Area B: the editor page, for one language, and what stands around it.

mod assets;
mod index;
mod page;
mod preview;

use http::header::{ALLOW, CONTENT_SECURITY_POLICY, REFERRER_POLICY};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use sandpiper_engine::languages::{Catalog, Language, Output, SourceFile};

use crate::http::{Answer, Page, page as answer};
use crate::settings::{FrameAncestors, PreviewOrigin};
use assets::{Assets, PageFiles};

pub(crate) use assets::{asset, script};
pub(crate) use index::index;

/// A language of the page.
struct PageLanguage {
    /// The value of `lang`.
    id: &'static str,
    title: &'static str,
    /// The file that the page starts with where the catalogue has no sample.
    file: &'static str,
    /// The module of web/ with the grammar of that file.
    grammar: &'static str,
}

const LANGUAGES: [PageLanguage; 11] = [
    language("python", "Python", "main.py", "python"),
    language("c", "C", "main.c", "cpp"),
    language("cpp", "C++", "main.cpp", "cpp"),
    language("java", "Java", "Main.java", "java"),
    language("php", "PHP", "main.php", "php"),
    language("csharp", "C#", "Program.cs", "csharp"),
    language("mysql", "MySQL", "main.sql", "mysql"),
    language("mongodb", "MongoDB", "main.js", "javascript"),
    language("web", "HTML, CSS and JavaScript", "index.html", "html"),
    language("react", "React", "App.jsx", "javascript"),
    language("vue", "Vue", "App.vue", "vue"),
];
/// The value of `lang` where there is none.
pub(crate) const DEFAULT_LANGUAGE: &str = "java";

/// What a page may ask the browser for: to write to the clipboard.
const PERMISSIONS: &str = "accelerometer=(), camera=(), \
    display-capture=(), geolocation=(), gyroscope=(), hid=(), \
    idle-detection=(), magnetometer=(), microphone=(), midi=(), payment=(), \
    publickey-credentials-get=(), screen-wake-lock=(), serial=(), usb=(), \
    xr-spatial-tracking=(), clipboard-write=(self)";

/// The answer of a program that was built before the editor page.
const NOT_BUILT: &str = "this program was built without the editor page: \
    run `make web`, then build the program again";

const HTML: &str = "text/html; charset=utf-8";

/// The routes `/`, `/embed` and the page's assets.
#[derive(Debug)]
pub(crate) struct Embed {
    frame_ancestors: FrameAncestors,
    preview_origin: Option<PreviewOrigin>,
    assets: Assets,
}

/// What the editor page shows.
#[derive(Debug)]
struct EditorPage<'a> {
    /// The value of `language` in its requests.
    language: &'a str,
    title: &'a str,
    entry_file: &'a str,
    files: &'a [SourceFile],
    takes_stdin: bool,
    output: Output,
    /// Scripts and styles.
    page_files: PageFiles,
    /// Lets the styles through that the editor makes, and its first script.
    nonce: &'a str,
    /// Where documents are shown.
    preview_url: &'a str,
}

const fn language(
    id: &'static str,
    title: &'static str,
    file: &'static str,
    grammar: &'static str,
) -> PageLanguage {
    PageLanguage { id, title, file, grammar }
}

impl Embed {
    pub(crate) fn new(
        frame_ancestors: FrameAncestors,
        preview_origin: Option<PreviewOrigin>,
    ) -> Self {
        Self { frame_ancestors, preview_origin, assets: Assets::load() }
    }

    /// `/embed/preview`.
    pub(crate) fn preview(&self) -> Answer {
        preview::page(&self.frame_ancestors, self.preview_origin.is_some())
    }

    /// `/embed`, with the query of its URL.
    pub(crate) fn editor(
        &self,
        method: &Method,
        query: Option<&str>,
        catalog: &Catalog,
    ) -> Answer {
        let nonce = nonce();
        let (status, text) = if is_read(method) {
            self.page(query.unwrap_or_default(), catalog, &nonce)
        } else {
            let message = "method not allowed on /embed";
            (StatusCode::METHOD_NOT_ALLOWED, page::failure(message, &nonce))
        };
        let mut answer = html(status, text);
        let headers = answer.headers_mut();
        if status == StatusCode::METHOD_NOT_ALLOWED {
            headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        headers.insert(CONTENT_SECURITY_POLICY, self.policy(&nonce));
        add_page_headers(headers);
        add_frame_headers(headers);
        answer
    }

    fn policy(&self, nonce: &str) -> HeaderValue {
        let policy = format!(
            "default-src 'none'; script-src 'self' 'nonce-{nonce}'; \
             style-src 'self' 'nonce-{nonce}'; img-src 'self' data:; \
             connect-src 'self'; base-uri 'none'; form-action 'none'; \
             trusted-types 'none'; require-trusted-types-for 'script'; \
             frame-src {}; frame-ancestors {}",
            preview::frame_source(self.preview_origin.as_ref()),
            self.frame_ancestors.as_str()
        );
        // FrameAncestors holds only what a header can.
        HeaderValue::from_str(&policy)
            .unwrap_or(HeaderValue::from_static("default-src 'none'"))
    }

    fn page(
        &self,
        query: &str,
        catalog: &Catalog,
        nonce: &str,
    ) -> (StatusCode, String) {
        let mut pairs = form_urlencoded::parse(query.as_bytes());
        let asked = pairs.find(|(name, _)| name == "lang");
        let asked = asked.map(|(_, value)| value).unwrap_or_default();
        let wanted = if asked.is_empty() { DEFAULT_LANGUAGE } else { &asked };
        let mut languages = LANGUAGES.iter();
        let Some(found) = languages.find(|language| language.id == wanted)
        else {
            let known = LANGUAGES.map(|language| language.id).join(", ");
            let message =
                format!("unknown lang {wanted:?}: the languages are {known}");
            return (StatusCode::BAD_REQUEST, page::failure(&message, nonce));
        };
        if !self.assets.are_built() {
            let page = page::failure(NOT_BUILT, nonce);
            return (StatusCode::SERVICE_UNAVAILABLE, page);
        }
        let PageLanguage { id, title, file, grammar } = *found;
        let path = file.to_owned();
        let empty = [SourceFile { path, content: String::new() }];
        let starter = catalog.starter(id).map(|starter| &starter.submission);
        let (entry_file, files) = starter
            .map_or((file, empty.as_slice()), |starter| {
                (starter.entry_file(), starter.files())
            });
        let definition = catalog.find(id);
        let page = EditorPage {
            language: id,
            title,
            entry_file,
            files,
            takes_stdin: definition.is_none_or(Language::takes_stdin),
            output: definition.map(Language::output).unwrap_or_default(),
            page_files: self.assets.page_files(grammar),
            nonce,
            preview_url: &preview::url(self.preview_origin.as_ref()),
        };
        (StatusCode::OK, page::editor(&page))
    }
}

/// The values of `lang`.
pub(crate) fn languages() -> [&'static str; 11] {
    LANGUAGES.map(|language| language.id)
}

/// Whether a method only reads.
pub(crate) fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// Nothing of the person or of their machine is told to others, or asked for.
fn add_page_headers(headers: &mut HeaderMap) {
    let referrer = HeaderValue::from_static("no-referrer");
    headers.insert(REFERRER_POLICY, referrer);
    let permissions = HeaderName::from_static("permissions-policy");
    headers.insert(permissions, HeaderValue::from_static(PERMISSIONS));
}

/// Lets pages that isolate themselves (COEP) frame the editor and load its
/// files.
fn add_frame_headers(headers: &mut HeaderMap) {
    for (name, value) in [
        ("cross-origin-embedder-policy", "require-corp"),
        ("cross-origin-resource-policy", "cross-origin"),
        ("x-content-type-options", "nosniff"),
    ] {
        let name = HeaderName::from_static(name);
        headers.insert(name, HeaderValue::from_static(value));
    }
}

/// 128 random bits, as a policy's nonce is written.
fn nonce() -> String {
    let bits: u128 = rand::random();
    format!("{bits:032x}")
}

fn html(status: StatusCode, text: String) -> Answer {
    answer(Page { status, content_type: HTML, text: text.into() })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(query: &str, expected: Result<&str, &str>) {
        let embed = Embed::new(FrameAncestors::default(), None);
        let catalog = Catalog::load([]).unwrap();
        let (status, text) = embed.page(query, &catalog, "0");
        match expected {
            Ok(title) => {
                assert_eq!(status, StatusCode::OK, "{query}");
                let title = format!("<title>{title} editor</title>");
                assert!(text.contains(&title), "{query}: {text}");
            }
            Err(value) => {
                assert_eq!(status, StatusCode::BAD_REQUEST, "{query}");
                assert!(text.contains(value), "{query}: {text}");
                for PageLanguage { id, .. } in LANGUAGES {
                    assert!(text.contains(id), "{query}: {id}");
                }
            }
        }
    }

    #[test]
    fn a_program_without_the_page_says_how_to_build_it() {
        let mut embed = Embed::new(FrameAncestors::default(), None);
        embed.assets = Assets::default();
        let catalog = Catalog::load([]).unwrap();
        let (status, text) = embed.page("lang=c", &catalog, "0");
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(text.contains("make web"), "{text}");
    }

    #[test]
    #[cfg_attr(not(editor), ignore = "needs the editor page: make web")]
    fn lang_is_one_of_eleven_exact_values() {
        for PageLanguage { id, title, .. } in LANGUAGES {
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
        let ids = LANGUAGES.map(|language| language.id);
        assert_eq!(ids, sandpiper_engine::languages::SERVICE_LANGUAGES);
    }
}
