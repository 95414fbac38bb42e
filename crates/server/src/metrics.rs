//! What the admin listener shows, in the text format of Prometheus.

use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;
use sandpiper_engine::{End, LimitReached, Outcome};

/// Bounds of the histograms, in seconds: from a warm run to the longest wait.
const SECONDS: [f64; 12] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0, 2.5, 10.0, 30.0];

/// Every metric of the server.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    connections: Gauge,
    runs: Family<RunLabels, Counter>,
    run_seconds: Family<StageLabels, Histogram>,
    clients_gone: Counter,
    products: Gauge<u64, AtomicU64>,
    products_bytes: Gauge<u64, AtomicU64>,
    language_ready: Family<LanguageLabels, Gauge>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    route: &'static str,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RunLabels {
    language: String,
    end: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StageLabels {
    language: String,
    stage: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LanguageLabels {
    language: String,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut metrics = Self {
            registry: Registry::with_prefix("sandpiper"),
            requests: Family::default(),
            connections: Gauge::default(),
            runs: Family::default(),
            run_seconds: Family::new_with_constructor(|| {
                Histogram::new(SECONDS)
            }),
            clients_gone: Counter::default(),
            products: Gauge::default(),
            products_bytes: Gauge::default(),
            language_ready: Family::default(),
        };
        metrics.register();
        metrics
    }
}

impl Metrics {
    /// A request to `route` was answered.
    pub(crate) fn request(&self, route: &'static str, status: u16) {
        self.requests.get_or_create(&RequestLabels { route, status }).inc();
    }

    /// A connection was opened; it counts until the guard is dropped.
    pub(crate) fn connection(&self) -> ConnectionGuard {
        self.connections.inc();
        ConnectionGuard(self.connections.clone())
    }

    /// A run ended.
    pub(crate) fn run(&self, language: &str, outcome: &Outcome) {
        let end = end_word(outcome.end);
        let labels = RunLabels { language: language.to_owned(), end };
        self.runs.get_or_create(&labels).inc();
        let timing = &outcome.timing;
        self.observe(language, "queue", Some(timing.queue));
        self.observe(language, "prepare", Some(timing.prepare));
        self.observe(language, "compile", timing.compile);
        self.observe(language, "run", timing.run);
    }

    /// A client went away before its run ended.
    pub(crate) fn client_gone(&self) {
        self.clients_gone.inc();
    }

    /// Everything as text. The arguments are what is measured only now: the
    /// products, their bytes, and whether each language is ready.
    pub(crate) fn text(
        &self,
        (products, bytes): (u64, u64),
        languages: impl IntoIterator<Item = (String, bool)>,
    ) -> String {
        self.products.set(products);
        self.products_bytes.set(bytes);
        for (language, ready) in languages {
            let gauge = self
                .language_ready
                .get_or_create_owned(&LanguageLabels { language });
            gauge.set(ready.into());
        }
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }

    fn observe(
        &self,
        language: &str,
        stage: &'static str,
        time: Option<Duration>,
    ) {
        if let Some(time) = time {
            let labels = StageLabels { language: language.to_owned(), stage };
            let histogram = self.run_seconds.get_or_create(&labels);
            histogram.observe(time.as_secs_f64());
        }
    }

    fn register(&mut self) {
        let registry = &mut self.registry;
        registry.register(
            "http_requests",
            "Requests answered, by route and status",
            self.requests.clone(),
        );
        registry.register(
            "connections",
            "Connections open",
            self.connections.clone(),
        );
        registry.register(
            "runs",
            "Runs that were started, by how they ended",
            self.runs.clone(),
        );
        registry.register(
            "stage_seconds",
            "Time of each stage of a run",
            self.run_seconds.clone(),
        );
        registry.register(
            "clients_gone",
            "Runs killed since their client went away",
            self.clients_gone.clone(),
        );
        registry.register("products", "Products stored", self.products.clone());
        registry.register(
            "products_bytes",
            "Memory of the products as the bound counts it",
            self.products_bytes.clone(),
        );
        registry.register(
            "language_ready",
            "1 where the language can run",
            self.language_ready.clone(),
        );
    }
}

/// Counts one open connection.
#[derive(Debug)]
pub(crate) struct ConnectionGuard(Gauge);

impl Drop for ConnectionGuard {
    fn drop(&mut self) {
        self.0.dec();
    }
}

fn end_word(end: End) -> &'static str {
    match end {
        End::Exited(0) => "ok",
        End::Exited(_) => "exit_code",
        End::Signaled(_) => "signal",
        End::Limit(LimitReached::WallTime(_)) => "wall_time",
        End::Limit(LimitReached::CpuTime(_)) => "cpu_time",
        End::Limit(LimitReached::Memory(_)) => "memory",
        End::Limit(LimitReached::Output(_)) => "output",
    }
}
