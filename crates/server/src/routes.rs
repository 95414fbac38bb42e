//! The one table of paths, and what answers each of them.

use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::StatusCode;
use sandpiper_engine::languages::Language;

use crate::compile::{self, Compile, Runner};
use crate::embed::{self, Embed};
use crate::health;
use crate::http::{
    AllowedHosts, Answer, AnswerMemory, ClientAddresses, ClientGone, Exchange,
    Routes, failure, json, method_not_allowed, misdirected,
};
use crate::limits;
use crate::metrics::{Metrics, Snapshot};
use crate::openapi;
use crate::products::Products;
use crate::rate_limit::RateLimiter;
use crate::settings::Settings;

/// A path that means something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route<'a> {
    Products,
    /// What stands behind `/products/`, whatever it is.
    Product(&'a [u8]),
    Compile,
    Embed,
    Preview,
    /// What pages load to embed the editor.
    EmbedScript,
    /// What stands behind `/embed/assets/`.
    EmbedAsset(&'a str),
    Index,
    Description,
    Health,
    Readiness,
    Unknown,
}

/// Answers everything on the public listeners.
#[derive(Debug)]
pub(crate) struct App<R> {
    products: Products,
    compile: Compile<R>,
    embed: Embed,
    runner: Arc<R>,
    metrics: Arc<Metrics>,
    memory: AnswerMemory,
    hosts: AllowedHosts,
    description: Bytes,
}

impl<'a> Route<'a> {
    fn of(path: &'a [u8]) -> Self {
        if let Some(segment) = path.strip_prefix(b"/products/") {
            return Self::Product(segment);
        }
        if path == b"/embed/preview" {
            return Self::Preview;
        }
        let asset = path.strip_prefix(b"/embed/assets/");
        if let Some(Ok(name)) = asset.map(std::str::from_utf8) {
            return Self::EmbedAsset(name);
        }
        match path {
            b"/products" => Self::Products,
            b"/api/compile" => Self::Compile,
            b"/embed" => Self::Embed,
            b"/embed.js" => Self::EmbedScript,
            b"/" => Self::Index,
            b"/openapi.json" => Self::Description,
            b"/healthz" => Self::Health,
            b"/readyz" => Self::Readiness,
            _ => Self::Unknown,
        }
    }

    /// Every route once.
    pub(crate) fn all() -> impl Iterator<Item = Self> {
        let first = Self::Products;
        std::iter::successors(Some(first), |route| match route {
            Self::Products => Some(Self::Product(b"{id}")),
            Self::Product(_) => Some(Self::Compile),
            Self::Compile => Some(Self::Embed),
            Self::Embed => Some(Self::Preview),
            Self::Preview => Some(Self::EmbedScript),
            Self::EmbedScript => Some(Self::EmbedAsset("{asset}")),
            Self::EmbedAsset(_) => Some(Self::Index),
            Self::Index => Some(Self::Description),
            Self::Description => Some(Self::Health),
            Self::Health => Some(Self::Readiness),
            Self::Readiness => Some(Self::Unknown),
            Self::Unknown => None,
        })
    }

    /// Its place in [`Self::all`].
    fn number(self) -> usize {
        match self {
            Self::Products => 0,
            Self::Product(_) => 1,
            Self::Compile => 2,
            Self::Embed => 3,
            Self::Preview => 4,
            Self::EmbedScript => 5,
            Self::EmbedAsset(_) => 6,
            Self::Index => 7,
            Self::Description => 8,
            Self::Health => 9,
            Self::Readiness => 10,
            Self::Unknown => 11,
        }
    }

    /// The path as messages, metrics and the description have it.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Products => "/products",
            Self::Product(_) => "/products/{id}",
            Self::Compile => "/api/compile",
            Self::Embed => "/embed",
            Self::Preview => "/embed/preview",
            Self::EmbedScript => "/embed.js",
            Self::EmbedAsset(_) => "/embed/assets/{asset}",
            Self::Index => "/",
            Self::Description => "/openapi.json",
            Self::Health => "/healthz",
            Self::Readiness => "/readyz",
            Self::Unknown => "unknown",
        }
    }
}

impl<R: Runner> App<R> {
    pub(crate) fn new(runner: R, settings: Settings) -> Self {
        let runner = Arc::new(runner);
        let metrics = Arc::new(Metrics::new(
            Route::all().map(Route::name),
            runner.catalog().languages().map(Language::id),
            &compile::REFUSALS,
        ));
        let hosts = settings.hosts();
        let limiter = RateLimiter::new(
            settings.compile_rate_limit,
            settings.rate_limit_for,
            limits::RATE_LIMIT_WINDOW,
        );
        let addresses = ClientAddresses::new(
            settings.trusted_proxies,
            settings.client_header,
        );
        // What the store holds is in answers as well, but not besides.
        let products = settings.products_bytes;
        let memory =
            AnswerMemory::new(products.saturating_add(settings.answers_bytes));
        Self {
            products: Products::new(products, memory.clone()),
            compile: Compile::new(
                Arc::clone(&runner),
                limiter,
                addresses,
                Arc::clone(&metrics),
                memory.clone(),
            ),
            embed: Embed::new(
                settings.frame_ancestors,
                settings.preview_origin,
                runner.catalog().clone(),
            ),
            description: openapi::document(runner.catalog()),
            runner,
            metrics,
            memory,
            hosts,
        }
    }

    pub(crate) fn metrics(&self) -> &Metrics {
        &self.metrics
    }

    pub(crate) fn hosts(&self) -> &AllowedHosts {
        &self.hosts
    }

    /// The metrics as text.
    pub(crate) fn metrics_text(&self) -> String {
        let (products, bytes) = self.products.size();
        let snapshot = Snapshot {
            load: self.runner.load(),
            supply: self.runner.supply(),
            artifacts: self.runner.artifacts(),
            languages: self.runner.languages(),
            answer_memory: (self.memory.held(), self.memory.limit()),
            products,
            products_memory: (bytes, self.products.capacity()),
        };
        self.metrics.text(snapshot, Instant::now())
    }

    /// What answers the requests of a route.
    async fn route(
        &self,
        route: Route<'_>,
        exchange: Exchange<'_>,
    ) -> Result<Answer, ClientGone> {
        let head = exchange.head;
        Ok(match route {
            Route::Products => {
                self.products.collection(head, exchange.body).await
            }
            Route::Product(segment) => {
                self.products.single(head, segment, exchange.body).await
            }
            // Its state is large, and other requests need not carry it along.
            Route::Compile => Box::pin(self.compile.answer(exchange)).await?,
            Route::Embed => {
                let query = head.uri.query();
                self.embed.editor(&head.method, query)
            }
            Route::Unknown => failure(StatusCode::NOT_FOUND, "not found"),
            _ if !embed::is_read(&head.method) => {
                method_not_allowed(route.name(), "GET, HEAD")
            }
            Route::Preview => self.embed.preview(),
            Route::EmbedScript => self.embed.script(&head.headers),
            Route::EmbedAsset(name) => embed::asset(name, &head.headers),
            Route::Index => self.embed.index(),
            Route::Description => {
                json(StatusCode::OK, self.description.clone())
            }
            Route::Health => health::alive(),
            Route::Readiness => {
                health::readiness(&self.runner.languages(), Instant::now())
            }
        })
    }
}

impl<R: Runner> Routes for App<R> {
    fn body_limit(&self, path: &[u8]) -> u64 {
        match Route::of(path) {
            Route::Products | Route::Product(_) => limits::PRODUCT_BODY_BYTES,
            _ => limits::COMPILE_BODY_BYTES,
        }
    }

    fn is_compressed(&self, path: &[u8]) -> bool {
        // Products are written to be answered without a copy.
        !matches!(Route::of(path), Route::Products | Route::Product(_))
    }

    fn answer_memory(&self) -> &AnswerMemory {
        &self.memory
    }

    fn malformed(&self, status: u16) {
        self.metrics.malformed(status);
    }

    async fn answer(
        &self,
        exchange: Exchange<'_>,
    ) -> Result<Answer, ClientGone> {
        let route = Route::of(exchange.path);
        let head = exchange.head;
        let answer = if self.hosts.contains(head) {
            self.route(route, exchange).await?
        } else {
            misdirected()
        };
        #[cfg(test)]
        assert!(
            openapi::describes(route, &head.method, answer.status()),
            "{} {} {} is not described",
            head.method,
            route.name(),
            answer.status()
        );
        let status = answer.status().as_u16();
        self.metrics.request(route.number(), &head.method, status);
        Ok(answer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_of_a_route_leads_to_it() {
        for (number, route) in Route::all().enumerate() {
            assert_eq!(Route::of(route.name().as_bytes()), route);
            assert_eq!(route.number(), number, "{route:?}");
        }
    }
}
