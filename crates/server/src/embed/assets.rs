//! The editor page's scripts and styles, as web/ builds them: embedded, found
//! by their hashed names, and sent in the coding that the client prefers.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use http::header::{
    ACCESS_CONTROL_ALLOW_ORIGIN, CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE,
    ETAG, IF_NONE_MATCH, VARY,
};
use http::{HeaderMap, HeaderValue, Response, StatusCode};
use rust_embed::{EmbeddedFile, RustEmbed};
use serde::Deserialize;

use super::encoded::{Encoded, tag};
use crate::http::{Answer, Coding, failure, no_content};

/// The module that the page starts.
const MAIN: &str = "src/main.ts";

/// The styles that a page in a language from right to left has in addition.
const RIGHT_TO_LEFT: &str = "src/styles/direction.css";

#[derive(RustEmbed)]
#[folder = "../../web/dist"]
#[allow_missing = true]
struct Files;

/// An entry of the build's manifest.
#[derive(Debug, Deserialize)]
struct ManifestChunk {
    file: String,
    #[serde(default)]
    css: Vec<String>,
    /// Modules that are loaded with it.
    #[serde(default)]
    imports: Vec<String>,
}

/// For a file whose name changes with its contents.
pub(super) const IMMUTABLE: &str = "public, max-age=31536000, immutable";

/// The files of a page, by their paths below `/embed/`.
#[derive(Debug)]
pub(super) struct PageFiles {
    pub(super) script: String,
    pub(super) styles: Vec<String>,
    /// Modules that the script imports. The page names them, so that all are
    /// loaded at once.
    pub(super) preloads: BTreeSet<String>,
}

/// The files of the editor page, by their source modules; none if it was not
/// built (`make web`).
#[derive(Debug, Default)]
pub(super) struct Assets {
    chunks: BTreeMap<String, ManifestChunk>,
}

impl Assets {
    pub(super) fn load() -> Self {
        let manifest = Files::get("manifest.json");
        let parse =
            |file: EmbeddedFile| serde_json::from_slice(&file.data).ok();
        Self { chunks: manifest.and_then(parse).unwrap_or_default() }
    }

    /// Returns whether the editor page was built before this program.
    pub(super) fn are_built(&self) -> bool {
        !self.chunks.is_empty()
    }

    /// Returns the files that a page needs for code with this grammar. A
    /// grammar that was not built needs none.
    pub(super) fn page_files(
        &self,
        grammar: Option<&str>,
        is_right_to_left: bool,
    ) -> PageFiles {
        let mut preloads = BTreeSet::new();
        self.add_with_imports(MAIN, &mut preloads);
        if let Some(grammar) = grammar {
            let module = format!("src/editor/languages/{grammar}.ts");
            self.add_with_imports(&module, &mut preloads);
        }
        let main = self.chunks.get(MAIN);
        let script = main.map(|chunk| chunk.file.clone()).unwrap_or_default();
        preloads.remove(&script);
        let mut styles =
            main.map(|chunk| chunk.css.clone()).unwrap_or_default();
        if is_right_to_left {
            let chunk = self.chunks.get(RIGHT_TO_LEFT);
            styles.extend(chunk.map(|chunk| chunk.file.clone()));
        }
        PageFiles { script, styles, preloads }
    }

    fn add_with_imports(&self, module: &str, files: &mut BTreeSet<String>) {
        let Some(chunk) = self.chunks.get(module) else { return };
        if files.insert(chunk.file.clone()) {
            for import in &chunk.imports {
                self.add_with_imports(import, files);
            }
        }
    }
}

/// Returns the text of a script that was built as one file.
pub(super) fn text(path: &str) -> String {
    let file = Files::get(path).map(|file| file.data.into_owned());
    String::from_utf8(file.unwrap_or_default()).unwrap_or_default()
}

/// Returns a file of `/embed/assets/`, whose name changes with its contents.
pub(super) fn asset(name: &str, headers: &HeaderMap) -> Answer {
    let path = format!("assets/{name}");
    file(&path, headers, IMMUTABLE)
}

fn file(path: &str, headers: &HeaderMap, cache: &'static str) -> Answer {
    let content_type = match path.rsplit('.').next() {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => return not_found(),
    };
    let coding = Coding::best(headers);
    // web/compress.js makes these.
    let packed = match coding {
        Some(Coding::Brotli) => &format!("{path}.br"),
        Some(Coding::Gzip) => &format!("{path}.gz"),
        None => path,
    };
    // A page that was built earlier may lack one.
    let packed = Files::get(packed).map(|file| (file, coding));
    let plain = || Files::get(path).map(|file| (file, None));
    let Some((file, coding)) = packed.or_else(plain) else {
        return not_found();
    };
    let tag = tag(file.metadata.sha256_hash());
    let bytes = match file.data {
        Cow::Borrowed(bytes) => Bytes::from_static(bytes),
        Cow::Owned(bytes) => bytes.into(),
    };
    let encoded = Encoded { bytes, tag };
    Content { content_type, coding, encoded }.answer(headers, cache)
}

/// Another server, or this one later, may have the file.
fn not_found() -> Answer {
    let mut answer = failure(StatusCode::NOT_FOUND, "not found");
    let never = HeaderValue::from_static("no-store");
    answer.headers_mut().insert(CACHE_CONTROL, never);
    answer
}

/// The bytes of a file as they are sent, and the headers that describe them.
pub(super) struct Content {
    pub(super) content_type: &'static str,
    /// How they are compressed.
    pub(super) coding: Option<Coding>,
    pub(super) encoded: Encoded,
}

impl Content {
    pub(super) fn answer(
        self,
        request: &HeaderMap,
        cache: &'static str,
    ) -> Answer {
        let Encoded { bytes, tag } = self.encoded;
        let is_known = knows(request, &tag);
        let mut answer = if is_known {
            let mut answer = no_content();
            *answer.status_mut() = StatusCode::NOT_MODIFIED;
            answer
        } else {
            Response::new(bytes.into())
        };
        let headers = answer.headers_mut();
        if !is_known {
            let content_type = HeaderValue::from_static(self.content_type);
            headers.insert(CONTENT_TYPE, content_type);
            if let Some(coding) = self.coding {
                let coding = HeaderValue::from_static(coding.name());
                headers.insert(CONTENT_ENCODING, coding);
            }
        }
        if let Ok(tag) = HeaderValue::from_str(&tag) {
            headers.insert(ETAG, tag);
        }
        headers.insert(VARY, HeaderValue::from_static("accept-encoding"));
        headers.insert(CACHE_CONTROL, HeaderValue::from_static(cache));
        // Modules of a page in a sandboxed frame have an opaque origin.
        let any = HeaderValue::from_static("*");
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, any);
        super::add_frame_headers(headers);
        answer
    }
}

/// Returns whether the client already has the bytes with this tag (RFC 9110,
/// 13.1.2).
fn knows(headers: &HeaderMap, tag: &str) -> bool {
    let values = headers.get_all(IF_NONE_MATCH).into_iter();
    let mut known = values
        .filter_map(|value| value.to_str().ok())
        .flat_map(|value| value.split(','))
        .map(str::trim);
    // A proxy that compresses a plain answer makes its tag a weak one.
    known.any(|own| own == "*" || own.trim_start_matches("W/") == tag)
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    #[tokio::test]
    #[cfg_attr(not(editor), ignore = "needs the editor page: make web")]
    async fn every_page_has_its_files() {
        let assets = Assets::load();
        for (grammar, is_right_to_left, styles) in [
            (Some("python"), false, 1),
            (Some("cpp"), true, 2),
            (Some("none"), false, 1),
            (None, false, 1),
        ] {
            let files = assets.page_files(grammar, is_right_to_left);
            assert_eq!(files.styles.len(), styles, "{files:?}");
            let all = files.styles.iter().chain(&files.preloads);
            let all: Vec<_> = all.chain([&files.script]).collect();
            assert!(all.len() >= 3, "{grammar:?}: {files:?}");
            for path in all {
                assert!(Files::get(path).is_some(), "{grammar:?}: {path}");
                let name = path.strip_prefix("assets/").unwrap();
                let bytes = async || {
                    let answer = asset(name, &HeaderMap::new());
                    assert_eq!(answer.status(), StatusCode::OK, "{path}");
                    answer.into_body().collect().await.unwrap().to_bytes()
                };
                // No answer has a copy of its own, which no limit would count.
                let (one, other) = (bytes().await, bytes().await);
                assert_eq!(one.as_ptr(), other.as_ptr(), "{path}");
            }
        }
    }
}
