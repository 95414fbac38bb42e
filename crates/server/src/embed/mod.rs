//! The editor page, for one language, and the files around it. `/embed` has the
//! languages of the service description, `/editor` has all that are served.

mod assets;
mod completions;
mod data_file;
mod encoded;
mod explanations;
mod frameworks;
mod image_file;
mod index;
mod locales;
mod page;
mod preview;
mod script;

use std::borrow::Cow;
use std::fs::File;

use http::header::{ALLOW, CONTENT_SECURITY_POLICY, REFERRER_POLICY, VARY};
use http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode};
use sandpiper_engine::languages::{Catalog, Language, Submission};

use crate::http::{Answer, Page, failure, page as answer};
use crate::settings::{FrameAncestors, PreviewOrigin};
use assets::{Assets, PageFiles};
use completions::Completions;
use explanations::Explanations;
pub(crate) use frameworks::{Framework, Frameworks};
use locales::{Locale, Locales};
use script::EmbedScript;

/// The value of `lang` if the request has none, unless it is not served.
const DEFAULT_LANGUAGE: &str = "java";

/// The languages of `/embed`, which the service description names.
const EMBED_LANGUAGES: [&str; 11] = [
    "python", "c", "cpp", "java", "php", "csharp", "mysql", "mongodb", "web",
    "react", "vue",
];

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

/// The routes `/`, `/embed`, `/editor`, `/embed.js` and the page's assets.
#[derive(Debug)]
pub(crate) struct Embed {
    frame_ancestors: FrameAncestors,
    preview_origin: Option<PreviewOrigin>,
    catalog: Catalog,
    /// The languages of `/embed`.
    embedded: Catalog,
    abilities: Abilities,
    assets: Assets,
    script: EmbedScript,
    explanations: Explanations,
    completions: Completions,
    locales: Locales,
}

/// The abilities of the server beside `/api/compile`, which the page offers.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Abilities {
    /// Returns the files that programs leave.
    pub(crate) artifacts: bool,
    /// Takes input while programs run.
    pub(crate) live: bool,
}

/// An address of the editor page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Address {
    /// `/embed`.
    Embed,
    /// `/editor`.
    Editor,
}

/// The contents of an editor page.
#[derive(Debug)]
struct EditorPage<'a> {
    language: &'a Language,
    /// The languages that a reader can switch to; none without a switcher.
    switcher: &'a [&'a Language],
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
            embedded: Address::Embed.catalog(&catalog),
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

    /// `/embed/assets/{name}`. `open` opens a file of a language's image.
    pub(crate) fn asset(
        &self,
        name: &str,
        headers: &HeaderMap,
        open: impl Fn(&Language, &str) -> Option<File>,
    ) -> Answer {
        let explanations = || self.explanations.answer(name, headers);
        let languages = self.catalog.languages();
        self.completions
            .answer(name, headers, languages, open)
            .or_else(explanations)
            .unwrap_or_else(|| assets::asset(name, headers))
    }

    /// `/embed/preview`.
    pub(crate) fn preview(&self) -> Answer {
        preview::page(&self.frame_ancestors, self.preview_origin.is_some())
    }

    /// `/embed` or `/editor`, with the query of its URL. `open` opens a file
    /// of a language's image.
    pub(crate) fn editor(
        &self,
        address: Address,
        method: &Method,
        query: Option<&str>,
        request: &HeaderMap,
        open: impl Fn(&Language, &str) -> Option<File>,
    ) -> Answer {
        let nonce = nonce();
        let (status, text) = if is_read(method) {
            let query = query.unwrap_or_default();
            self.page(address, query, request, &nonce, open)
        } else {
            let message = format!("method not allowed on /{}", address.name());
            (StatusCode::METHOD_NOT_ALLOWED, page::failure(&message, &nonce))
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
        address: Address,
        query: &str,
        request: &HeaderMap,
        nonce: &str,
        open: impl Fn(&Language, &str) -> Option<File>,
    ) -> (StatusCode, String) {
        let catalog = match address {
            Address::Embed => &self.embedded,
            Address::Editor => &self.catalog,
        };
        let unknown = |id: &str| {
            let page = page::unknown(id, catalog, nonce);
            (StatusCode::BAD_REQUEST, page)
        };
        let asked = parameter(query, "lang");
        let others = match address {
            Address::Embed => Cow::default(),
            Address::Editor => parameter(query, "languages"),
        };
        let others: Vec<&str> =
            others.split(',').filter(|id| !id.is_empty()).collect();
        let wanted = if !asked.is_empty() {
            &asked
        } else if let Some(first) = others.first() {
            first
        } else {
            default_language(catalog).unwrap_or_default()
        };
        let starter = catalog.starter(wanted);
        let (Some(language), Some(starter)) = (exact(catalog, wanted), starter)
        else {
            return unknown(wanted);
        };
        let switcher = match switcher(catalog, language, &others) {
            Ok(switcher) => switcher,
            Err(id) => return unknown(id),
        };
        if !self.assets.are_built() {
            let page = page::failure(NOT_BUILT, nonce);
            return (StatusCode::SERVICE_UNAVAILABLE, page);
        }
        let starter = &starter.submission;
        let grammar = language.editor().grammar(starter.entry_file());
        let explanations = self.explanations.address(language.id());
        let completions = self.completions.address(language, open);
        let locale = self.locales.find(&parameter(query, "ui"), request);
        let is_right_to_left = locale.is_right_to_left();
        let page = EditorPage {
            language,
            switcher: &switcher,
            starter,
            catalog: &self.catalog,
            abilities: self.abilities,
            page_files: self.assets.page_files(grammar, is_right_to_left),
            locale,
            nonce,
            explanations: explanations.as_deref(),
            completions: completions.as_deref(),
            preview_url: &preview::url(self.preview_origin.as_ref()),
        };
        (StatusCode::OK, page::editor(&page))
    }
}

impl Address {
    /// Returns the last segment of its path.
    fn name(self) -> &'static str {
        match self {
            Self::Embed => "embed",
            Self::Editor => "editor",
        }
    }

    /// Returns the languages that it has, of those that are served.
    pub(crate) fn catalog(self, served: &Catalog) -> Catalog {
        served.only(|language| {
            self == Self::Editor || EMBED_LANGUAGES.contains(&language.id())
        })
    }
}

/// Returns the address of a language's editor, relative to the server's.
fn address_of(id: &str) -> String {
    let is_embedded = EMBED_LANGUAGES.contains(&id);
    let address = if is_embedded { Address::Embed } else { Address::Editor };
    format!("{}?lang={id}", address.name())
}

/// Returns the first value of a parameter; empty if it has none.
fn parameter<'a>(query: &'a str, name: &str) -> Cow<'a, str> {
    let mut pairs = form_urlencoded::parse(query.as_bytes());
    let found = pairs.find(|(own, _)| own == name);
    found.map(|(_, value)| value).unwrap_or_default()
}

/// Returns the languages of the list that switches to another: `language` is one
/// of them. None if no other was named; the error is an id without a language.
fn switcher<'a, 'q>(
    catalog: &'a Catalog,
    language: &'a Language,
    others: &[&'q str],
) -> Result<Vec<&'a Language>, &'q str> {
    let mut switcher = Vec::new();
    for id in others {
        let other = exact(catalog, id).ok_or(*id)?;
        if !switcher.iter().any(|it: &&Language| it.id() == other.id()) {
            switcher.push(other);
        }
    }
    let has = |id| switcher.iter().any(|it| it.id() == id);
    if !switcher.is_empty() && !has(language.id()) {
        switcher.insert(0, language);
    }
    Ok(switcher)
}

/// Returns the language with exactly this id.
fn exact<'a>(catalog: &'a Catalog, id: &str) -> Option<&'a Language> {
    catalog.languages().find(|language| language.id() == id)
}

/// Returns the values of `lang`.
pub(crate) fn languages_of(catalog: &Catalog) -> Vec<&str> {
    catalog.languages().map(Language::id).collect()
}

/// Returns the value of `lang` if a request has none; `None` if no language is
/// served.
pub(crate) fn default_language(catalog: &Catalog) -> Option<&str> {
    let ids = languages_of(catalog);
    let usual = ids.iter().find(|id| **id == DEFAULT_LANGUAGE);
    usual.or(ids.first()).copied()
}

/// Returns whether a method only reads.
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
mod tests;
