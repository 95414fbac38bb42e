//! Requests by route, method and status: counted without a lock or an
//! allocation, for a product is answered in microseconds.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http::{Method, StatusCode};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::ConstCounter;

/// Methods with a label of their own; the last is for all others.
const METHODS: [&str; 8] =
    ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH", "other"];
/// Statuses with a label of their own; the last is for all others.
const STATUSES: [&str; 21] = [
    "200", "201", "204", "304", "400", "403", "404", "405", "408", "413",
    "414", "415", "421", "425", "429", "431", "500", "502", "503", "507",
    "other",
];
/// The statuses that an alert waits for. They are there for these methods before
/// there is a request, so that a first failure is a step from 0.
const FAILURES: [&str; 2] = ["500", "other"];
const CALLS: [&str; 4] = ["GET", "POST", "PUT", "DELETE"];
/// The route of what is no request at all.
const MALFORMED: &str = "malformed";

/// A counter for each route, method and status. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Requests(Arc<Counts>);

#[derive(Debug)]
struct Counts {
    routes: Vec<&'static str>,
    /// By route, then method, then status.
    cells: Box<[AtomicU64]>,
}

impl Requests {
    pub(super) fn new(routes: impl Iterator<Item = &'static str>) -> Self {
        let routes: Vec<_> = routes.chain([MALFORMED]).collect();
        let cells = routes.len() * METHODS.len() * STATUSES.len();
        let cells = (0..cells).map(|_| AtomicU64::new(0)).collect();
        Self(Arc::new(Counts { routes, cells }))
    }

    /// Counts an answer of the route with this number.
    pub(super) fn count(&self, route: usize, method: &Method, status: u16) {
        self.add(route, index(&METHODS, method.as_str()), status);
    }

    /// Counts an answer to what was no request.
    pub(super) fn count_malformed(&self, status: u16) {
        self.add(self.0.routes.len() - 1, METHODS.len() - 1, status);
    }

    fn add(&self, route: usize, method: usize, status: u16) {
        let status = StatusCode::from_u16(status);
        let status = status.as_ref().map_or("", StatusCode::as_str);
        let row = route * METHODS.len() + method;
        let cell = row * STATUSES.len() + index(&STATUSES, status);
        if let Some(cell) = self.0.cells.get(cell) {
            cell.fetch_add(1, Ordering::Relaxed);
        }
    }
}

impl Collector for Requests {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let mut family = encoder.encode_descriptor(
            "http_requests",
            "Requests answered, by route, method and status.",
            None,
            MetricType::Counter,
        )?;
        for (index, cell) in self.0.cells.iter().enumerate() {
            let count = cell.load(Ordering::Relaxed);
            let (row, status) =
                (index / STATUSES.len(), STATUSES[index % STATUSES.len()]);
            let method = METHODS[row % METHODS.len()];
            if count == 0
                && !(FAILURES.contains(&status) && CALLS.contains(&method))
            {
                continue;
            }
            let labels = [
                ("route", self.0.routes[row / METHODS.len()]),
                ("method", method),
                ("status", status),
            ];
            ConstCounter::new(count).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

/// Returns the place of a label, or that of all others.
fn index(labels: &[&str], label: &str) -> usize {
    let found = labels.iter().position(|own| *own == label);
    found.unwrap_or(labels.len() - 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn others_have_the_last_place() {
        let check = |labels: &[&str], label: &str, expected: &str| {
            assert_eq!(labels[index(labels, label)], expected, "{label}");
        };
        check(&METHODS, "GET", "GET");
        check(&METHODS, "PATCH", "PATCH");
        check(&METHODS, "get", "other");
        check(&STATUSES, "200", "200");
        check(&STATUSES, "507", "507");
        check(&STATUSES, "418", "other");
        check(&STATUSES, "406", "other");
    }
}
