//! The number of boxes that are made ahead for each key: the memory of the
//! pool, allocated by recent demand.

use std::time::{Duration, Instant};

/// A request counts half after this time.
const HALF_LIFE: Duration = Duration::from_secs(120);
/// The recent requests for which one more box is made ahead, beyond the first.
const REQUESTS_PER_BOX: f64 = 2.0;

/// A count of recent requests, in which older requests count less.
#[derive(Clone, Copy, Debug)]
pub(super) struct RecentRequests {
    count: f64,
    at: Instant,
}

impl RecentRequests {
    pub(super) fn new(now: Instant) -> Self {
        Self { count: 0.0, at: now }
    }

    pub(super) fn add(&mut self, now: Instant) {
        *self = Self { count: self.at(now) + 1.0, at: now };
    }

    /// Returns the count at `now`.
    pub(super) fn at(&self, now: Instant) -> f64 {
        let age = now.saturating_duration_since(self.at).as_secs_f64();
        self.count * (-age / HALF_LIFE.as_secs_f64()).exp2()
    }
}

/// The demand for boxes with one key.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand {
    /// Recent requests.
    pub(super) requests: f64,
    /// Memory of one box that waits, in bytes.
    pub(super) cost: u64,
}

/// Returns how many boxes each demand gets, out of `budget` bytes and at most
/// `capacity` boxes, `max_per_key` for each demand.
///
/// A first box for every key comes before a second one for any. Each further
/// box goes to the demand with the most requests for each box (the D'Hondt
/// method).
pub(super) fn allocate(
    demands: &[Demand],
    budget: u64,
    capacity: usize,
    max_per_key: usize,
) -> Vec<usize> {
    let mut allocation = vec![0_usize; demands.len()];
    let mut left = budget;
    for _ in 0..capacity {
        let next = (0..demands.len())
            .filter(|&key| {
                let (demand, has) = (&demands[key], allocation[key]);
                demand.cost <= left
                    && has < max_per_key
                    && has_use_for_another(demand, has)
            })
            .max_by(|&a, &b| {
                let rank = |key: usize| {
                    let has = allocation[key];
                    (has == 0, requests_per_box(&demands[key], has))
                };
                let (a_first, a_per_box) = rank(a);
                let (b_first, b_per_box) = rank(b);
                a_first
                    .cmp(&b_first)
                    .then(a_per_box.total_cmp(&b_per_box))
                    .then(demands[b].cost.cmp(&demands[a].cost))
            });
        let Some(next) = next else { break };
        allocation[next] += 1;
        left -= demands[next].cost;
    }
    allocation
}

/// Returns the requests for each box, if there were one more box.
fn requests_per_box(demand: &Demand, has: usize) -> f64 {
    // The number is far below the largest integer that an f64 holds exactly.
    demand.requests / u32::try_from(has + 1).map_or(f64::MAX, f64::from)
}

/// Returns whether one more box than `has` would be used.
fn has_use_for_another(demand: &Demand, has: usize) -> bool {
    let has = u32::try_from(has).map_or(f64::MAX, f64::from);
    demand.requests >= REQUESTS_PER_BOX * has
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(
        demands: &[(f64, u64)],
        budget: u64,
        capacity: usize,
        expected: &[usize],
    ) {
        let demands: Vec<_> = demands
            .iter()
            .map(|&(requests, cost)| Demand { requests, cost })
            .collect();
        let allocation = allocate(&demands, budget, capacity, 4);
        assert_eq!(allocation, expected, "{demands:?} {budget} {capacity}");
    }

    #[test]
    fn the_budget_is_allocated_by_demand() {
        // Without demand, one for each; the cheapest first if not all fit.
        check(&[(0.0, 10), (0.0, 10)], 100, 9, &[1, 1]);
        check(&[(0.0, 50), (0.0, 10), (0.0, 20)], 30, 9, &[0, 1, 1]);
        check(&[(0.0, 50), (0.0, 10), (0.0, 20)], 100, 1, &[0, 1, 0]);
        // Demand decides which key comes first, and which gets more.
        check(&[(1.0, 50), (0.0, 10)], 50, 9, &[1, 0]);
        check(&[(9.0, 10), (0.0, 10)], 100, 9, &[4, 1]);
        check(&[(5.0, 10), (0.0, 10)], 100, 9, &[3, 1]);
        check(&[(9.0, 10), (3.0, 10)], 50, 9, &[4, 1]);
        check(&[(9.0, 10), (3.0, 10)], 60, 9, &[4, 2]);
        check(&[(9.0, 10), (3.0, 10)], 30, 9, &[2, 1]);
        // A first box for each key comes before a second one for any.
        check(&[(99.0, 10), (0.0, 10)], 20, 9, &[1, 1]);
        // A box that does not fit is passed over.
        check(&[(9.0, 200), (0.0, 10)], 100, 9, &[0, 1]);
        check(&[(9.0, 10)], 0, 9, &[0]);
        check(&[(9.0, 10)], 100, 0, &[0]);
        check(&[], 100, 9, &[]);
    }

    #[test]
    fn of_many_languages_those_that_are_asked_for_come_first() {
        // Nineteen, of which the two largest are asked for.
        let mut demands = vec![(0.0, 40); 19];
        demands[3] = (1.0, 160);
        demands[18] = (5.0, 150);
        let mut expected = vec![1; 19];
        expected[18] = 3;
        // 24 boxes, 16 and 4 for each of two that may run, are enough for all.
        check(&demands, 2_000, 24, &expected);
        // One box of each, and then the budget is used up.
        expected[18] = 1;
        check(&demands, 990, 24, &expected);
        // The two, and as many of the others as there is memory for.
        for (index, boxes) in expected.iter_mut().enumerate() {
            *boxes = usize::from(index == 3 || index >= 16);
        }
        check(&demands, 399, 24, &expected);
        check(&demands, 2_000, 4, &expected);
    }

    #[test]
    fn demand_fades() {
        let start = Instant::now();
        let mut requests = RecentRequests::new(start);
        for _ in 0..8 {
            requests.add(start);
        }
        let later = |half_lives| requests.at(start + HALF_LIFE * half_lives);
        assert!((later(0) - 8.0).abs() < 1e-6);
        assert!((later(1) - 4.0).abs() < 1e-6);
        assert!((later(3) - 1.0).abs() < 1e-6);
    }
}
