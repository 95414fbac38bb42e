//! The frameworks that documents of some languages contain, as files that
//! clients load once. A framework is a file of an image. It is read when it is
//! first needed, and again when the image has another one.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::Read;
use std::sync::{Arc, Mutex, PoisonError};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use http::HeaderMap;
use memchr::memmem;
use sandpiper_engine::languages::Language;
use sha2::{Digest, Sha256};
use tokio::task::spawn_blocking;

use super::assets::{Content, IMMUTABLE};
use super::encoded::Encodings;
use super::image_file::Version;
use crate::execution::Runner;
use crate::http::{Answer, Coding};

/// A larger file is no framework.
const MAX_BYTES: u64 = 8 << 20;
/// The names of all frameworks begin so.
const PREFIX: &str = "framework-";

/// The frameworks of all languages that have one.
#[derive(Debug)]
pub(crate) struct Frameworks<R> {
    runner: Arc<R>,
    /// By the ids of the languages.
    last: BTreeMap<String, Arc<Mutex<LastFramework>>>,
}

/// The framework that a language had last.
#[derive(Debug, Default)]
struct LastFramework {
    version: Option<Version>,
    framework: Option<Arc<Framework>>,
}

/// The framework of one language.
#[derive(Debug)]
pub(crate) struct Framework {
    /// It changes with the contents.
    name: String,
    integrity: String,
    content: Encodings,
}

impl<R: Runner> Frameworks<R> {
    pub(crate) fn new(runner: Arc<R>) -> Self {
        let languages = runner.catalog().languages();
        let last = languages
            .filter(|language| language.framework().is_some())
            .map(|language| (Language::id(language).to_owned(), Arc::default()))
            .collect();
        Self { runner, last }
    }

    /// Returns the framework of the language with this id. Returns `None` if it
    /// has none, or if its image is not there.
    pub(crate) async fn of(&self, language: &str) -> Option<Arc<Framework>> {
        let last = Arc::clone(self.last.get(language)?);
        let (runner, language) =
            (Arc::clone(&self.runner), language.to_owned());
        // This goes on even if the client does not wait for it.
        let found = spawn_blocking(move || {
            let language = runner.catalog().find(&language)?;
            let file = runner.open_file(language, language.framework()?)?;
            // No panic leaves it half changed.
            let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
            last.renew(language.id(), file)
        });
        found.await.ok().flatten()
    }

    /// Answers a request for the asset with this name, if it is a framework.
    pub(crate) async fn answer(
        &self,
        name: &str,
        request: &HeaderMap,
    ) -> Option<Answer> {
        let (language, _) = name.strip_prefix(PREFIX)?.rsplit_once('-')?;
        let framework = self.of(language).await?;
        if framework.name != name {
            return None;
        }
        let coding = Coding::best(request);
        let encode = move || framework.content.encoded(coding).clone();
        let encoded = spawn_blocking(encode).await.ok()?;
        let content = Content {
            content_type: "text/javascript; charset=utf-8",
            coding,
            encoded,
        };
        Some(content.answer(request, IMMUTABLE))
    }
}

impl LastFramework {
    /// Returns the framework in a file, which is read if it is another one.
    fn renew(&mut self, language: &str, file: File) -> Option<Arc<Framework>> {
        let version = Some(Version::of(&file).ok()?);
        if self.version != version {
            let framework = Framework::read(language, file).map(Arc::new);
            *self = Self { version, framework };
        }
        self.framework.clone()
    }
}

impl Framework {
    /// Reads a framework. Returns `None` if the file is empty, too large or no
    /// text.
    fn read(language: &str, file: File) -> Option<Self> {
        let mut text = String::new();
        file.take(MAX_BYTES + 1).read_to_string(&mut text).ok()?;
        if text.is_empty() || text.len() as u64 > MAX_BYTES {
            return None;
        }
        let hash = BASE64_STANDARD.encode(Sha256::digest(&text));
        let content = Encodings::new(text.into_bytes());
        Some(Self {
            name: content.plain.named(&format!("{PREFIX}{language}"), "js"),
            integrity: format!("sha256-{hash}"),
            content,
        })
    }

    /// Returns its address, relative to that of the service.
    pub(crate) fn path(&self) -> String {
        format!("embed/assets/{}", self.name)
    }

    /// Returns its hash in the form that browsers check.
    pub(crate) fn integrity(&self) -> &str {
        &self.integrity
    }

    /// Returns the parts of a document before and behind it. Returns `None` if
    /// the document does not contain it, byte by byte.
    pub(crate) fn split<'a>(
        &self,
        document: &'a [u8],
    ) -> Option<(&'a [u8], &'a [u8])> {
        let framework = &self.content.plain.bytes;
        let at = memmem::find(document, framework)?;
        Some((&document[..at], &document[at + framework.len()..]))
    }
}
