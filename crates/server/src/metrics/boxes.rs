//! Metrics of what is there before a request: boxes, and compile artifacts.

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::registry::{Registry, Unit};
use sandpiper_engine::{PoolState, Start, StartKind};

use super::{LanguageLabels, Number};

/// The metrics of boxes and compile artifacts.
#[derive(Debug, Default)]
pub(super) struct Boxes {
    /// Every language's id.
    languages: Vec<String>,
    taken: Family<KindLabels, Counter>,
    ready: Family<LanguageLabels, Number>,
    memory: Number,
    memory_limit: Number,
    compiled_before: Family<LanguageLabels, Counter>,
    compile_cache: Number,
    compile_cache_limit: Number,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct KindLabels {
    language: String,
    r#box: &'static str,
}

impl Boxes {
    /// Nothing taken yet, in any of these languages.
    pub(super) fn new(languages: Vec<String>) -> Self {
        let boxes = Self { languages, ..Self::default() };
        for language in &boxes.languages {
            let labels = LanguageLabels { language: language.clone() };
            drop(boxes.compiled_before.get_or_create(&labels));
            for kind in StartKind::ALL {
                let labels = KindLabels::new(language, kind);
                drop(boxes.taken.get_or_create(&labels));
            }
        }
        boxes
    }

    pub(super) fn register(&self, own: &mut Registry) {
        own.register(
            "run_boxes",
            "Runs that had an outcome, by the state of their box when they came",
            self.taken.clone(),
        );
        own.register(
            "boxes_ready",
            "Boxes that wait for a run of the language",
            self.ready.clone(),
        );
        own.register_with_unit(
            "warm_memory",
            "Memory of the boxes that wait for a run",
            Unit::Bytes,
            self.memory.clone(),
        );
        own.register_with_unit(
            "warm_memory_limit",
            "Maximum memory of the boxes that wait; beyond it fewer are made",
            Unit::Bytes,
            self.memory_limit.clone(),
        );
        own.register(
            "runs_compiled_before",
            "Runs whose compile artifacts were kept from the same submission",
            self.compiled_before.clone(),
        );
        own.register_with_unit(
            "compile_cache",
            "Compile artifacts that are kept",
            Unit::Bytes,
            self.compile_cache.clone(),
        );
        own.register_with_unit(
            "compile_cache_limit",
            "Maximum memory of kept compile artifacts; beyond it the oldest go",
            Unit::Bytes,
            self.compile_cache_limit.clone(),
        );
    }

    /// A run of the language had an outcome.
    pub(super) fn taken(&self, language: &str, start: Start) {
        let labels = KindLabels::new(language, start.kind);
        self.taken.get_or_create(&labels).inc();
        if start.is_compiled {
            let labels = LanguageLabels { language: language.to_owned() };
            self.compiled_before.get_or_create(&labels).inc();
        }
    }

    pub(super) fn set(
        &self,
        pool_state: &PoolState,
        compile_cache: (u64, u64),
    ) {
        self.compile_cache.set(compile_cache.0);
        self.compile_cache_limit.set(compile_cache.1);
        self.memory.set(pool_state.memory_bytes);
        self.memory_limit.set(pool_state.memory_limit_bytes);
        let set = |language: &String, boxes: usize| {
            let labels = LanguageLabels { language: language.clone() };
            self.ready.get_or_create_owned(&labels).set(boxes as u64);
        };
        // One that can have none any more is not among those below.
        for language in &self.languages {
            set(language, 0);
        }
        for ready in &pool_state.languages {
            set(&ready.language, ready.boxes);
        }
    }
}

impl KindLabels {
    fn new(language: &str, kind: StartKind) -> Self {
        Self { language: language.to_owned(), r#box: kind.word() }
    }
}
