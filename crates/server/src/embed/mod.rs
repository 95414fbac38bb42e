//! The editor page, for one language, and the files around it.

mod assets;
mod completions;
mod data_file;
mod explanations;
mod index;
mod locales;
mod page;
mod preview;
mod script;

use std::borrow::Cow;
use std::path::PathBuf;

use http::header::{ALLOW, CONTENT_SECURITY_POLICY, REFERRER_POLICY, VARY};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use sandpiper_engine::languages::{Catalog, Language, Submission};

use crate::http::{Answer, Page, failure, page as answer};
use crate::settings::{FrameAncestors, PreviewOrigin};
use assets::{Assets, PageFiles};
use completions::Completions;
use explanations::Explanations;
use locales::{Locale, Locales};
use script::EmbedScript;

/// The value of `lang` if the request has none, unless it is not served.
const DEFAULT_LANGUAGE: &str = "java";

/// The features of the browser that a page may use: the clipboard, to write.
const PERMISSIONS: &str = "accelerometer=(), camera=(), \
    display-capture=(), geolocation=(), gyroscope=(), hid=(), \
    idle-detection=(), magnetometer=(), microphone=(), midi=(), payment=(), \
    publickey-credentials-get=(), screen-wake-lock=(), serial=(), usb=(), \
    xr-spatial-tracking=(), clipboard-write=(self)";

/// The answer of a program that was built before the editor page.
const NOT_BUILT: &str = "this program was built without the editor page: \
    run `make web`, then build the program again";

const HTML: &str = "text/html; charset=utf-8";

/// The routes `/`, `/embed`, `/embed.js` and the page's assets.
#[derive(Debug)]
pub(crate) struct Embed {
    frame_ancestors: FrameAncestors,
    preview_origin: Option<PreviewOrigin>,
    catalog: Catalog,
    abilities: Abilities,
    assets: Assets,
    script: EmbedScript,
    explanations: Explanations,
    completions: Completions,
    locales: Locales,
}

/// What the server can do beside `/api/compile`, for the page to offer it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Abilities {
    /// Returns the files that programs leave.
    pub(crate) artifacts: bool,
    /// Takes input while programs run.
    pub(crate) live: bool,
}

/// The contents of an editor page.
#[derive(Debug)]
struct EditorPage<'a> {
    language: &'a Language,
    starter: &'a Submission,
    /// Every language that is served, for its names.
    catalog: &'a Catalog,
    abilities: Abilities,
    /// Scripts and styles.
    page_files: PageFiles,
    /// The words of the page.
    locale: &'a Locale,
    /// Allows the styles that the editor makes, and its first script.
    nonce: &'a str,
    /// The address of its explanations, if it has any.
    explanations: Option<&'a str>,
    /// The address of its snippets and members, if it has any.
    completions: Option<&'a str>,
    /// The address of the frame that shows documents.
    preview_url: &'a str,
}

impl Embed {
    pub(crate) fn new(
        frame_ancestors: FrameAncestors,
        preview_origin: Option<PreviewOrigin>,
        catalog: Catalog,
        abilities: Abilities,
    ) -> Self {
        Self {
            frame_ancestors,
            preview_origin,
            script: EmbedScript::new(&catalog),
            explanations: Explanations::new(&catalog),
            completions: Completions::new(&catalog),
            catalog,
            abilities,
            assets: Assets::load(),
            locales: Locales::load(),
        }
    }

    /// `/`.
    pub(crate) fn index(&self) -> Answer {
        index::page(&self.catalog, self.abilities)
    }

    /// `/embed.js`, which any page may load.
    pub(crate) fn script(&self, headers: &HeaderMap) -> Answer {
        if !self.assets.are_built() {
            return failure(StatusCode::SERVICE_UNAVAILABLE, NOT_BUILT);
        }
        self.script.answer(headers)
    }

    /// `/embed/assets/{name}`. `rootfs` finds the image of a language.
    pub(crate) fn asset(
        &self,
        name: &str,
        headers: &HeaderMap,
        rootfs: impl Fn(&Language) -> Option<PathBuf>,
    ) -> Answer {
        let explanations = || self.explanations.answer(name, headers);
        let languages = self.catalog.languages();
        self.completions
            .answer(name, headers, languages, rootfs)
            .or_else(explanations)
            .unwrap_or_else(|| assets::asset(name, headers))
    }

    /// `/embed/preview`.
    pub(crate) fn preview(&self) -> Answer {
        preview::page(&self.frame_ancestors, self.preview_origin.is_some())
    }

    /// `/embed`, with the query of its URL. `rootfs` finds the image of a
    /// language.
    pub(crate) fn editor(
        &self,
        method: &Method,
        query: Option<&str>,
        request: &HeaderMap,
        rootfs: impl Fn(&Language) -> Option<PathBuf>,
    ) -> Answer {
        let nonce = nonce();
        let (status, text) = if is_read(method) {
            self.page(query.unwrap_or_default(), request, &nonce, rootfs)
        } else {
            let message = "method not allowed on /embed";
            (StatusCode::METHOD_NOT_ALLOWED, page::failure(message, &nonce))
        };
        let mut answer = html(status, text);
        let headers = answer.headers_mut();
        if status == StatusCode::METHOD_NOT_ALLOWED {
            headers.insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        }
        headers.insert(VARY, HeaderValue::from_static("accept-language"));
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
        // FrameAncestors has only characters that a header may have.
        HeaderValue::from_str(&policy)
            .unwrap_or(HeaderValue::from_static("default-src 'none'"))
    }

    fn page(
        &self,
        query: &str,
        request: &HeaderMap,
        nonce: &str,
        rootfs: impl Fn(&Language) -> Option<PathBuf>,
    ) -> (StatusCode, String) {
        let asked = parameter(query, "lang");
        let wanted = if asked.is_empty() {
            default_language(&self.catalog).unwrap_or_default()
        } else {
            &asked
        };
        let mut languages = self.catalog.languages();
        let found = languages.find(|language| language.id() == wanted);
        let starter = self.catalog.starter(wanted);
        let (Some(language), Some(starter)) = (found, starter) else {
            let page = page::unknown(wanted, &self.catalog, nonce);
            return (StatusCode::BAD_REQUEST, page);
        };
        if !self.assets.are_built() {
            let page = page::failure(NOT_BUILT, nonce);
            return (StatusCode::SERVICE_UNAVAILABLE, page);
        }
        let starter = &starter.submission;
        let grammar = language.editor().grammar(starter.entry_file());
        let explanations = self.explanations.address(language.id());
        let completions = self.completions.address(language, rootfs);
        let page = EditorPage {
            language,
            starter,
            catalog: &self.catalog,
            abilities: self.abilities,
            page_files: self.assets.page_files(grammar),
            locale: self.locales.find(&parameter(query, "ui"), request),
            nonce,
            explanations: explanations.as_deref(),
            completions: completions.as_deref(),
            preview_url: &preview::url(self.preview_origin.as_ref()),
        };
        (StatusCode::OK, page::editor(&page))
    }
}

/// The first value of a parameter; empty if it has none.
fn parameter<'a>(query: &'a str, name: &str) -> Cow<'a, str> {
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    let found = pairs.find(|(own, _)| own == name);
    found.map(|(_, value)| value).unwrap_or_default()
}

/// The values of `lang`.
pub(crate) fn languages_of(catalog: &Catalog) -> Vec<&str> {
    catalog.languages().map(Language::id).collect()
}

/// The value of `lang` if a request has none; `None` if no language is served.
pub(crate) fn default_language(catalog: &Catalog) -> Option<&str> {
    let ids = languages_of(catalog);
    let usual = ids.iter().find(|id| **id == DEFAULT_LANGUAGE);
    usual.or(ids.first()).copied()
}

/// Whether a method only reads.
pub(crate) fn is_read(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD)
}

/// Keeps facts about the person and their machine from the page and from others.
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
    use sandpiper_engine::languages::LanguageFolder;

    use super::*;

    /// A language of the page, with these lines in its definition.
    pub(super) fn source(id: &str, lines: &str) -> LanguageFolder {
        let definition = format!(
            "name = \"The {id}\"\nimage = \"x\"\n{lines}\n\
             [run]\ncommand = [\"/x\"]\n[starter]\nentry = \"m.{id}\""
        );
        let starter = format!("starter/m.{id}");
        let files = [
            ("language.toml", definition.as_str()),
            (&starter, "int b;\n"),
            ("starter-expected.txt", "1\n"),
        ];
        let files = files.map(|(path, text)| (path.to_owned(), text.into()));
        let (id, path) = (id.to_owned(), format!("languages/{id}"));
        LanguageFolder { id, path, files: files.into() }
    }

    pub(super) fn catalog() -> Catalog {
        Catalog::load([
            source("c", "order = 2"),
            source("java", "order = 3\ntitle = \"J & J\""),
            source("python", "order = 1\naliases = [\"py\", \"python3\"]"),
        ])
        .unwrap()
    }

    fn page_of(catalog: Catalog) -> Embed {
        let abilities = Abilities::default();
        Embed::new(FrameAncestors::default(), None, catalog, abilities)
    }

    fn check(catalog: &Catalog, query: &str, expected: Result<&str, &str>) {
        let embed = page_of(catalog.clone());
        let (status, text) =
            embed.page(query, &HeaderMap::new(), "0", |_| None);
        match expected {
            Ok(title) => {
                assert_eq!(status, StatusCode::OK, "{query}");
                let title = format!("<title>{title} editor</title>");
                assert!(text.contains(&title), "{query}: {text}");
            }
            Err(value) => {
                assert_eq!(status, StatusCode::BAD_REQUEST, "{query}");
                assert!(text.contains(value), "{query}: {text}");
                for id in languages_of(catalog) {
                    let link = format!("<a href=\"embed?lang={id}\">");
                    assert!(text.contains(&link), "{query}: {id}");
                }
            }
        }
    }

    #[test]
    fn a_program_without_the_page_says_how_to_build_it() {
        let mut embed = page_of(catalog());
        embed.assets = Assets::default();
        let (status, text) =
            embed.page("lang=c", &HeaderMap::new(), "0", |_| None);
        assert_eq!(status, StatusCode::SERVICE_UNAVAILABLE);
        assert!(text.contains("make web"), "{text}");
        let script = embed.script(&HeaderMap::new());
        assert_eq!(script.status(), StatusCode::SERVICE_UNAVAILABLE);
    }

    #[test]
    #[cfg_attr(not(editor), ignore = "needs the editor page: make web")]
    fn lang_is_the_exact_id_of_a_language() {
        let all = catalog();
        let check = |query, expected| check(&all, query, expected);
        check("lang=python", Ok("The python"));
        check("lang=java", Ok("J &amp; J"));
        check("", Ok("J &amp; J"));
        check("lang=", Ok("J &amp; J"));
        check("lang", Ok("J &amp; J"));
        check("other=c", Ok("J &amp; J"));
        check("a=b&lang=c", Ok("The c"));
        check("lang=%63", Ok("The c"));
        check("lang=c&lang=vue", Ok("The c"));
        check("lang=Python", Err("Python"));
        check("lang=py", Err("py"));
        check("lang=c++", Err("c  "));
        check("lang=%20c", Err(" c"));
        check("lang=rust", Err("rust"));
        check("lang=%3Cscript%3E", Err("&lt;script&gt;"));
        check("lang=%ff", Err("\u{fffd}"));
    }

    #[test]
    #[cfg_attr(not(editor), ignore = "needs the editor page: make web")]
    fn without_java_the_first_language_is_the_default() {
        let some = Catalog::load([
            source("lua", ""),
            source("c", "order = 9"),
            source("python", "order = 1"),
        ]);
        check(&some.unwrap(), "", Ok("The python"));
        check(&Catalog::load([]).unwrap(), "", Err("Unknown language"));
    }
}
