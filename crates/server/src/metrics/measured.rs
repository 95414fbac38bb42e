//! Gauges that are measured when the metrics are read.

use std::sync::atomic::AtomicU64;
use std::time::Instant;

use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::{Registry, Unit};
use sandpiper_engine::{Load, Readiness};

use super::{AnswerLabels, LanguageLabels, Number, Snapshot};

/// The gauges, as they were at the last reading.
#[derive(Debug, Default)]
pub(super) struct Measured {
    boxes: Number,
    boxes_in_use: Number,
    live_boxes: Number,
    live_boxes_in_use: Number,
    queue_places: Number,
    runs_waiting: Number,
    answer_memory: Family<AnswerLabels, Number>,
    answer_memory_limit: Family<AnswerLabels, Number>,
    products: Number,
    products_bytes: Number,
    products_limit: Number,
    language_ready: Family<LanguageLabels, Number>,
    language_proof_age: Family<LanguageLabels, Gauge<f64, AtomicU64>>,
}

impl Measured {
    pub(super) fn register(&self, own: &mut Registry) {
        let numbers = [
            ("boxes", "Boxes that can be in use at once", &self.boxes),
            ("boxes_in_use", "Boxes in use", &self.boxes_in_use),
            ("live_boxes", "Boxes of live runs", &self.live_boxes),
            (
                "live_boxes_in_use",
                "Boxes of live runs in use",
                &self.live_boxes_in_use,
            ),
            ("queue_places", "Runs that may wait", &self.queue_places),
            ("runs_waiting", "Runs that wait for a box", &self.runs_waiting),
            ("products", "Products stored", &self.products),
        ];
        for (name, help, gauge) in numbers {
            own.register(name, help, gauge.clone());
        }
        let bytes = [
            (
                "products",
                "Memory of the products as its limit counts it",
                &self.products_bytes,
            ),
            (
                "products_limit",
                "Maximum memory of the products; beyond it creating one fails",
                &self.products_limit,
            ),
        ];
        for (name, help, gauge) in bytes {
            own.register_with_unit(name, help, Unit::Bytes, gauge.clone());
        }
        let answers = [
            (
                "answer_memory",
                "Large answers that clients have not taken, large products, \
                 and the list of products if it is kept",
                &self.answer_memory,
            ),
            (
                "answer_memory_limit",
                "Maximum memory of these answers; beyond it requests are refused",
                &self.answer_memory_limit,
            ),
        ];
        for (name, help, family) in answers {
            own.register_with_unit(name, help, Unit::Bytes, family.clone());
        }
        own.register(
            "language_ready",
            "1 if the language can run",
            self.language_ready.clone(),
        );
        own.register_with_unit(
            "language_proof_age",
            "Time since a program of the language last ran correctly",
            Unit::Seconds,
            self.language_proof_age.clone(),
        );
    }

    pub(super) fn set(&self, snapshot: Snapshot, now: Instant) {
        self.live_boxes.set(snapshot.live_load.boxes as u64);
        self.live_boxes_in_use.set(snapshot.live_load.running as u64);
        let Load { running, boxes, waiting, queue_capacity } = snapshot.load;
        self.boxes_in_use.set(running as u64);
        self.boxes.set(boxes as u64);
        self.runs_waiting.set(waiting as u64);
        self.queue_places.set(queue_capacity as u64);
        for (answers, held, limit) in snapshot.answer_memory {
            let labels = AnswerLabels { answers };
            self.answer_memory.get_or_create_owned(&labels).set(held);
            self.answer_memory_limit.get_or_create_owned(&labels).set(limit);
        }
        self.products.set(snapshot.products);
        let (held, limit) = snapshot.products_memory;
        self.products_bytes.set(held);
        self.products_limit.set(limit);
        for state in snapshot.languages {
            let labels = LanguageLabels { language: state.id };
            let is_ready = state.readiness == Readiness::Ready;
            let ready = self.language_ready.get_or_create_owned(&labels);
            ready.set(is_ready.into());
            if let Some(last_success) = state.last_success {
                let age = now.saturating_duration_since(last_success);
                let gauge =
                    self.language_proof_age.get_or_create_owned(&labels);
                gauge.set(age.as_secs_f64());
            }
        }
    }
}
