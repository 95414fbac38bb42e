//! Metrics of the state that several servers share. They are shown only if there
//! is any.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};
use sandpiper_shared::{LinkState, Observe};

use super::{Histograms, Number};

/// Bounds of the histogram, in seconds: from a Valkey beside the server to
/// one that does not answer.
const SECONDS: [f64; 11] = [
    0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.25, 1.0,
];

/// The metrics of calls to Valkeys. A clone counts the same.
#[derive(Clone, Debug)]
pub(crate) struct Shared {
    up: Family<PartLabels, Number>,
    failures: Family<PartLabels, Counter<u64, AtomicU64>>,
    seconds: Histograms<CallLabels>,
    limited_locally: Counter,
    repeated: Counter,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct PartLabels {
    part: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct CallLabels {
    call: &'static str,
}

impl Shared {
    /// Returns a function that counts the calls of these functions that were
    /// answered.
    pub(crate) fn observe(&self, calls: &[&'static str]) -> Observe {
        let seconds = self.seconds.clone();
        for &call in calls {
            drop(seconds.get_or_create(&CallLabels { call }));
        }
        Arc::new(move |call, took| {
            let histogram = seconds.get_or_create(&CallLabels { call });
            histogram.observe(took.as_secs_f64());
        })
    }

    /// The server's own limit decided on a request alone.
    pub(crate) fn limited_locally(&self) {
        self.limited_locally.inc();
    }

    /// A try of a request came that was admitted before.
    pub(crate) fn repeated(&self) {
        self.repeated.inc();
    }

    pub(super) fn set(&self, states: &[LinkState]) {
        for LinkState { part, is_up, failures } in states {
            let labels = PartLabels { part };
            self.up.get_or_create(&labels).set((*is_up).into());
            let counter = self.failures.get_or_create(&labels);
            counter.inner().store(*failures, Ordering::Relaxed);
        }
    }

    pub(super) fn register(&self, own: &mut Registry) {
        own.register(
            "shared_up",
            "1 if all Valkeys of the part can be reached",
            self.up.clone(),
        );
        own.register(
            "shared_failures",
            "Calls of Valkeys and attempts to connect that failed",
            self.failures.clone(),
        );
        own.register_with_unit(
            "shared",
            "Time of each call that a Valkey answered",
            Unit::Seconds,
            self.seconds.clone(),
        );
        own.register(
            "limited_locally",
            "Compile requests on which this server's own limit decided alone",
            self.limited_locally.clone(),
        );
        own.register(
            "repeated",
            "Tries of requests that were admitted before, at any server",
            self.repeated.clone(),
        );
    }
}

impl Default for Shared {
    fn default() -> Self {
        let histogram: fn() -> Histogram = || Histogram::new(SECONDS);
        Self {
            up: Family::default(),
            failures: Family::default(),
            seconds: Family::new_with_constructor(histogram),
            limited_locally: Counter::default(),
            repeated: Counter::default(),
        }
    }
}
