//! The service on the public listeners: it passes each route to its module.

use std::fs::File;
use std::sync::Arc;
use std::time::Instant;

use bytes::Bytes;
use http::StatusCode;
use http::request::Parts;
use sandpiper_engine::languages::Language;
use sandpiper_shared::Catalogue;

use crate::about;
use crate::embed::{self, Abilities, Address, Embed};
use crate::execution::{self, Execution, Form, Runner};
use crate::health;
use crate::http::{
    AllowedHosts, Answer, AnswerMemory, ClientAddresses, ClientGone, Proxies,
    RequestContext, Service, failure, json, method_not_allowed, misdirected,
};
use crate::limits;
use crate::metrics::{Metrics, Snapshot};
use crate::openapi;
use crate::products::Products;
use crate::rate_limit::{LocalLimiter, RequestLimiter};
use crate::routes::{self, Endpoint, Route};
use crate::settings::ServerSettings;

/// Answers everything on the public listeners.
#[derive(Debug)]
pub(crate) struct App<R> {
    products: Products,
    execution: Arc<Execution<R>>,
    embed: Embed,
    runner: Arc<R>,
    metrics: Arc<Metrics>,
    /// Of all answers but those of products, so that no list makes runs wait.
    memory: AnswerMemory,
    hosts: AllowedHosts,
    description: Bytes,
}

impl<R: Runner> App<R> {
    pub(crate) fn new(
        runner: R,
        settings: ServerSettings,
        proxies: Arc<Proxies>,
    ) -> Self {
        let runner = Arc::new(runner);
        let metrics = Arc::new(Metrics::new(
            routes::all().map(|route| route.path),
            runner.catalog().languages().map(Language::id),
            &execution::REFUSALS,
            &settings.shared_parts(),
        ));
        let hosts = settings.hosts();
        let limiter = LocalLimiter::new(
            settings.compile_rate_limit,
            settings.rate_limit_for,
            limits::RATE_LIMIT_WINDOW,
        );
        let limiter = RequestLimiter::new(
            limiter,
            settings.shared_limits,
            metrics.shared(),
        );
        let addresses =
            ClientAddresses::new(Arc::clone(&proxies), settings.client_header);
        let memory = AnswerMemory::new(settings.answers_bytes);
        Self {
            products: Products::new(
                settings.products_bytes,
                settings.answers_bytes,
                settings.shared_products.map(|url| {
                    Catalogue::start(
                        url,
                        metrics.shared().observe(&Catalogue::CALLS),
                    )
                }),
                Arc::clone(&proxies),
            ),
            execution: Arc::new(Execution::new(
                Arc::clone(&runner),
                limiter,
                addresses,
                Arc::clone(&metrics),
                memory.clone(),
                settings.artifact_bytes,
                settings.node_tag,
            )),
            embed: Embed::new(
                settings.frame_ancestors,
                settings.preview_origin,
                runner.catalog().clone(),
                Abilities {
                    artifacts: settings.artifact_bytes > 0,
                    live: runner.live_load().boxes > 0,
                },
            ),
            description: openapi::document(runner.catalog()),
            runner,
            metrics,
            memory,
            hosts,
        }
    }

    pub(crate) fn hosts(&self) -> &AllowedHosts {
        &self.hosts
    }

    /// Returns the metrics as text.
    pub(crate) async fn metrics_text(&self) -> String {
        let (products, products_memory) = self.products.size().await;
        let snapshot = Snapshot {
            load: self.runner.load(),
            live_load: self.runner.live_load(),
            pool_state: self.runner.pool_state(),
            compile_cache: self.runner.compile_cache(),
            languages: self.runner.languages(),
            answer_memory: [
                ("products", self.products.memory()),
                ("others", &self.memory),
            ]
            .map(|(answers, memory)| (answers, memory.held(), memory.limit())),
            products,
            products_memory,
            shared: [
                self.execution.shared_limits(),
                self.products.shared_state(),
            ]
            .into_iter()
            .flatten()
            .collect(),
        };
        self.metrics.text(snapshot, Instant::now())
    }

    /// Passes a request on to its endpoint.
    async fn dispatch(
        &self,
        request: RequestContext<'_>,
    ) -> Result<Answer, ClientGone> {
        let RequestContext { head, route, path, .. } = request;
        let parameter = route.parameter(path).unwrap_or_default();
        Ok(match route.endpoint {
            Endpoint::Products => self.products.answer(None, request).await,
            Endpoint::Product => {
                self.products.answer(Some(parameter), request).await
            }
            // Its state is large, and other requests need not carry it along.
            Endpoint::Compile => {
                Box::pin(self.execution.answer(Form::Compile, request)).await?
            }
            Endpoint::Run => {
                Box::pin(self.execution.answer(Form::Run, request)).await?
            }
            Endpoint::RunInput => {
                self.execution.input(parameter, request).await
            }
            Endpoint::RunStop => self.execution.stop(parameter, &request),
            Endpoint::Embed => self.editor(Address::Embed, head),
            Endpoint::Editor => self.editor(Address::Editor, head),
            Endpoint::Unknown => failure(StatusCode::NOT_FOUND, "not found"),
            _ if !embed::is_read(&head.method) => {
                method_not_allowed(route.path, "GET, HEAD")
            }
            Endpoint::Preview => self.embed.preview(),
            Endpoint::EmbedScript => self.embed.script(&head.headers),
            Endpoint::EmbedAsset => {
                let name = std::str::from_utf8(parameter).unwrap_or_default();
                let frameworks = self.execution.frameworks();
                match frameworks.answer(name, &head.headers).await {
                    Some(answer) => answer,
                    None => {
                        let open = self.opener();
                        self.embed.asset(name, &head.headers, open)
                    }
                }
            }
            Endpoint::About => {
                let id = std::str::from_utf8(parameter).unwrap_or_default();
                about::answer(&*self.runner, id)
            }
            Endpoint::Index => self.embed.index(),
            Endpoint::Description => {
                json(StatusCode::OK, self.description.clone())
            }
            Endpoint::Health => health::alive(),
            Endpoint::Readiness => health::readiness(
                &self.runner.languages(),
                self.execution.is_stopping(),
                Instant::now(),
            ),
        })
    }

    /// Returns the editor page at this address.
    fn editor(&self, at: Address, head: &Parts) -> Answer {
        let (query, open) = (head.uri.query(), self.opener());
        self.embed.editor(at, &head.method, query, &head.headers, open)
    }

    /// Opens files of the images of languages.
    fn opener(&self) -> impl Fn(&Language, &str) -> Option<File> {
        |language, path| self.runner.open_file(language, path)
    }
}

impl<R: Runner> Service for App<R> {
    fn route(&self, path: &[u8]) -> &'static Route {
        routes::find(path)
    }

    fn answer_memory(&self, route: &Route) -> &AnswerMemory {
        match route.endpoint {
            Endpoint::Products | Endpoint::Product => self.products.memory(),
            _ => &self.memory,
        }
    }

    fn metrics(&self) -> Option<&Metrics> {
        Some(&self.metrics)
    }

    fn begin_stop(&self) {
        self.execution.begin_stop();
    }

    async fn answer(
        &self,
        request: RequestContext<'_>,
    ) -> Result<Answer, ClientGone> {
        let RequestContext { head, route, .. } = request;
        let answer = if self.hosts.contains(head) {
            self.dispatch(request).await?
        } else {
            misdirected()
        };
        #[cfg(test)]
        assert!(
            openapi::describes(route, &head.method, answer.status()),
            "{} {} {} is not described",
            head.method,
            route.path,
            answer.status()
        );
        let status = answer.status().as_u16();
        self.metrics.request(route.endpoint as usize, &head.method, status);
        Ok(answer)
    }
}
