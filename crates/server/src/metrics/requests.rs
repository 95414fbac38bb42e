//! Requests by route, method and status: counted without a lock or an
//! allocation, for a product is answered in microseconds.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use http::Method;
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
        self.add(route, method_index(method), status);
    }

    /// Counts an answer to what was no request.
    pub(super) fn count_malformed(&self, status: u16) {
        self.add(self.0.routes.len() - 1, METHODS.len() - 1, status);
    }

    fn add(&self, route: usize, method: usize, status: u16) {
        let row = route * METHODS.len() + method;
        let cell = row * STATUSES.len() + status_index(status);
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
            if count == 0 {
                continue;
            }
            let (row, status) =
                (index / STATUSES.len(), index % STATUSES.len());
            let labels = [
                ("route", self.0.routes[row / METHODS.len()]),
                ("method", METHODS[row % METHODS.len()]),
                ("status", STATUSES[status]),
            ];
            ConstCounter::new(count).encode(family.encode_family(&labels)?)?;
        }
        Ok(())
    }
}

fn method_index(method: &Method) -> usize {
    match *method {
        Method::GET => 0,
        Method::HEAD => 1,
        Method::POST => 2,
        Method::PUT => 3,
        Method::DELETE => 4,
        Method::OPTIONS => 5,
        Method::PATCH => 6,
        _ => 7,
    }
}

fn status_index(status: u16) -> usize {
    match status {
        200 => 0,
        201 => 1,
        204 => 2,
        304 => 3,
        400 => 4,
        403 => 5,
        404 => 6,
        405 => 7,
        408 => 8,
        413 => 9,
        414 => 10,
        415 => 11,
        421 => 12,
        425 => 13,
        429 => 14,
        431 => 15,
        500 => 16,
        502 => 17,
        503 => 18,
        507 => 19,
        _ => 20,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn labels_are_where_their_numbers_say() {
        for (index, name) in METHODS.iter().enumerate() {
            let method = Method::from_bytes(name.as_bytes()).unwrap();
            assert_eq!(method_index(&method), index, "{name}");
        }
        for (index, name) in STATUSES.iter().enumerate() {
            let status = name.parse().unwrap_or(418);
            assert_eq!(status_index(status), index, "{name}");
        }
    }
}
