//! The metrics that the admin listener shows, in the text format of Prometheus.
//! docs/monitoring.md describes each metric, and is tested against this.

mod boxes;
mod measured;
mod process;
mod requests;
mod run_end;
mod shared;

use std::sync::atomic::AtomicU64;
use std::time::{Duration, Instant};

use http::Method;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::metrics::info::Info;
use prometheus_client::registry::{Registry, Unit};
use sandpiper_engine::{LanguageState, Load, Outcome, PoolState};

use boxes::Boxes;
use measured::Measured;
use process::Process;
use requests::Requests;
pub(crate) use run_end::RunEnd;
pub(crate) use shared::Shared;

/// Bounds of the histograms, in seconds: from a box that is made at once to
/// the longest limit.
const SECONDS: [f64; 15] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0,
    10.0, 20.0, 30.0,
];

type Number = Gauge<u64, AtomicU64>;
type Histograms<L> = Family<L, Histogram, fn() -> Histogram>;

/// Every metric of the server.
#[derive(Debug)]
pub(crate) struct Metrics {
    registry: Registry,
    requests: Requests,
    connections: Gauge,
    connections_refused: Counter,
    runs: Family<RunLabels, Counter>,
    limits: Family<LimitLabels, Counter>,
    stages: Histograms<StageLabels>,
    queue_wait: Histogram,
    refused: Family<ReasonLabels, Counter>,
    boxes: Boxes,
    shared: Shared,
    now: Measured,
}

/// The state of the server at one moment.
#[derive(Debug)]
pub(crate) struct Snapshot {
    pub(crate) load: Load,
    pub(crate) live_load: Load,
    pub(crate) pool_state: PoolState,
    /// Bytes of compile artifacts kept, and the most there may be.
    pub(crate) compile_cache: (u64, u64),
    pub(crate) languages: Vec<LanguageState>,
    /// For each kind of answers: bytes of large ones, and the most there may
    /// be.
    pub(crate) answer_memory: [(&'static str, u64, u64); 2],
    /// How many products there are.
    pub(crate) products: u64,
    /// Their bytes, and the most there may be.
    pub(crate) products_memory: (u64, u64),
    /// Of each part that several servers share.
    pub(crate) shared: Vec<sandpiper_shared::LinkState>,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RunLabels {
    language: String,
    outcome: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LimitLabels {
    stage: &'static str,
    limit: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct StageLabels {
    language: String,
    stage: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct ReasonLabels {
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct AnswerLabels {
    answers: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct LanguageLabels {
    language: String,
}

impl Metrics {
    /// Returns metrics that have counted nothing yet. The lists are the label
    /// values that there will be, so that a first event is a step from 0.
    pub(crate) fn new<'a>(
        routes: impl Iterator<Item = &'static str>,
        languages: impl Iterator<Item = &'a str>,
        reasons: &[&'static str],
        shared: &[&'static str],
    ) -> Self {
        let histogram: fn() -> Histogram = || Histogram::new(SECONDS);
        let languages: Vec<String> = languages.map(str::to_owned).collect();
        let mut metrics = Self {
            registry: Registry::default(),
            requests: Requests::new(routes),
            connections: Gauge::default(),
            connections_refused: Counter::default(),
            runs: Family::default(),
            limits: Family::default(),
            stages: Family::new_with_constructor(histogram),
            queue_wait: histogram(),
            refused: Family::default(),
            boxes: Boxes::new(languages.clone()),
            shared: Shared::default(),
            now: Measured::default(),
        };
        for language in &languages {
            for outcome in RunEnd::ALL {
                let language = language.to_owned();
                let labels = RunLabels { language, outcome };
                drop(metrics.runs.get_or_create(&labels));
            }
            for stage in ["prepare", "run"] {
                let language = language.to_owned();
                let labels = StageLabels { language, stage };
                drop(metrics.stages.get_or_create(&labels));
            }
        }
        for &reason in reasons {
            drop(metrics.refused.get_or_create(&ReasonLabels { reason }));
        }
        for stage in ["compile", "run"] {
            for limit in RunEnd::LIMITS {
                let labels = LimitLabels { stage, limit };
                drop(metrics.limits.get_or_create(&labels));
            }
        }
        metrics.register();
        if !shared.is_empty() {
            let own = metrics.registry.sub_registry_with_prefix("sandpiper");
            metrics.shared.register(own);
        }
        metrics
    }

    /// Returns the metrics of the state that several servers share.
    pub(crate) fn shared(&self) -> Shared {
        self.shared.clone()
    }

    /// Counts an answered request to the route with this number.
    pub(crate) fn request(&self, route: usize, method: &Method, status: u16) {
        self.requests.count(route, method, status);
    }

    /// Counts an answer to what was no request.
    pub(crate) fn malformed(&self, status: u16) {
        self.requests.count_malformed(status);
    }

    /// Counts a connection until the guard is dropped.
    pub(crate) fn connection(&self) -> ConnectionGuard {
        self.connections.inc();
        ConnectionGuard(self.connections.clone())
    }

    /// Counts a connection that found no place, and was closed.
    pub(crate) fn connection_refused(&self) {
        self.connections_refused.inc();
    }

    /// Counts a run that ended, or was given up: by the client, or because the
    /// sandbox failed.
    pub(crate) fn run(&self, language: &str, end: RunEnd) {
        let language = language.to_owned();
        let labels = RunLabels { language, outcome: end.word() };
        self.runs.get_or_create(&labels).inc();
    }

    /// Counts the times of a run, and the limit that ended it.
    pub(crate) fn outcome(&self, language: &str, outcome: &Outcome) {
        let end = RunEnd::of(outcome);
        self.run(language, end);
        if RunEnd::LIMITS.contains(&end.word()) {
            let stage = outcome.stage.word();
            let labels = LimitLabels { stage, limit: end.word() };
            self.limits.get_or_create(&labels).inc();
        }
        // A run that was stopped in the queue had no box.
        let Some(start) = outcome.start else { return };
        self.boxes.taken(language, start);
        let timing = &outcome.timing;
        self.queue_wait.observe(timing.queue.as_secs_f64());
        self.stage(language, "prepare", Some(timing.prepare));
        self.stage(language, "compile", timing.compile);
        self.stage(language, "run", timing.run);
    }

    /// Counts a refused compile request.
    pub(crate) fn refused(&self, reason: &'static str) {
        self.refused.get_or_create(&ReasonLabels { reason }).inc();
    }

    /// Returns all metrics as text.
    pub(crate) fn text(&self, snapshot: Snapshot, now: Instant) -> String {
        self.boxes.set(&snapshot.pool_state, snapshot.compile_cache);
        self.shared.set(&snapshot.shared);
        self.now.set(snapshot, now);
        let mut text = String::new();
        // Writing to a String cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }

    fn stage(
        &self,
        language: &str,
        stage: &'static str,
        time: Option<Duration>,
    ) {
        if let Some(time) = time {
            let labels = StageLabels { language: language.to_owned(), stage };
            let histogram = self.stages.get_or_create(&labels);
            histogram.observe(time.as_secs_f64());
        }
    }

    fn register(&mut self) {
        self.registry.register_collector(Box::new(Process::new()));
        let own = self.registry.sub_registry_with_prefix("sandpiper");
        let version = Info::new(vec![("version", env!("CARGO_PKG_VERSION"))]);
        own.register("build", "Version of Sandpiper", version);
        own.register_collector(Box::new(self.requests.clone()));
        let connections = self.connections.clone();
        own.register("connections", "Connections open", connections);
        own.register(
            "connections_refused",
            "Connections closed since there was no place for them",
            self.connections_refused.clone(),
        );
        own.register(
            "runs",
            "Runs, by language and how they ended",
            self.runs.clone(),
        );
        own.register(
            "limits_reached",
            "Runs that a limit ended, by stage and limit",
            self.limits.clone(),
        );
        own.register_with_unit(
            "stage",
            "Time of each stage of a run",
            Unit::Seconds,
            self.stages.clone(),
        );
        own.register_with_unit(
            "queue_wait",
            "Time that runs waited for a box, of runs that got one",
            Unit::Seconds,
            self.queue_wait.clone(),
        );
        own.register(
            "compile_refused",
            "Compile requests that were not run, by reason",
            self.refused.clone(),
        );
        self.boxes.register(own);
        self.now.register(own);
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
