//! How many boxes of each kind are made ahead: the memory budget, shared out
//! by recent demand.

use std::time::{Duration, Instant};

/// After this long a request counts half.
const HALF_LIFE: Duration = Duration::from_secs(120);
/// Recent requests for which one more box is made ahead, beyond the first.
const REQUESTS_PER_BOX: f64 = 2.0;

/// How much was asked for lately.
#[derive(Clone, Copy, Debug)]
pub(super) struct Demand {
    requests: f64,
    at: Instant,
}

impl Demand {
    pub(super) fn new(now: Instant) -> Self {
        Self { requests: 0.0, at: now }
    }

    pub(super) fn add(&mut self, now: Instant) {
        *self = Self { requests: self.at(now) + 1.0, at: now };
    }

    /// Recent requests, of which older ones count less.
    pub(super) fn at(&self, now: Instant) -> f64 {
        let age = now.saturating_duration_since(self.at).as_secs_f64();
        self.requests * (-age / HALF_LIFE.as_secs_f64()).exp2()
    }
}

/// One kind of box, and what speaks for making it ahead.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wish {
    /// Recent requests.
    pub(super) demand: f64,
    /// Memory of one box that is ready, in bytes.
    pub(super) cost: u64,
}

/// How many boxes of each kind fit into `budget` bytes and `places`, `most` of
/// a kind. A first one of every kind comes before a second of any; then each
/// goes where most requests come to one box (D'Hondt's method).
pub(super) fn shares(
    wishes: &[Wish],
    budget: u64,
    places: usize,
    most: usize,
) -> Vec<usize> {
    let mut shares = vec![0_usize; wishes.len()];
    let mut left = budget;
    for _ in 0..places {
        let next = (0..wishes.len())
            .filter(|&kind| {
                let (wish, has) = (&wishes[kind], shares[kind]);
                wish.cost <= left && has < most && is_wanted(wish, has)
            })
            .max_by(|&a, &b| {
                let key = |kind: usize| {
                    let has = shares[kind];
                    (has == 0, per_box(&wishes[kind], has))
                };
                let (a_first, a_per_box) = key(a);
                let (b_first, b_per_box) = key(b);
                a_first
                    .cmp(&b_first)
                    .then(a_per_box.total_cmp(&b_per_box))
                    .then(wishes[b].cost.cmp(&wishes[a].cost))
            });
        let Some(next) = next else { break };
        shares[next] += 1;
        left -= wishes[next].cost;
    }
    shares
}

/// Requests for each box, were there one more.
fn per_box(wish: &Wish, has: usize) -> f64 {
    // Far below what a float holds exactly.
    wish.demand / u32::try_from(has + 1).map_or(f64::MAX, f64::from)
}

/// Whether there is work for one more than `has`.
fn is_wanted(wish: &Wish, has: usize) -> bool {
    let has = u32::try_from(has).map_or(f64::MAX, f64::from);
    wish.demand >= REQUESTS_PER_BOX * has
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(
        wishes: &[(f64, u64)],
        budget: u64,
        places: usize,
        expected: &[usize],
    ) {
        let wishes: Vec<_> = wishes
            .iter()
            .map(|&(demand, cost)| Wish { demand, cost })
            .collect();
        let shares = shares(&wishes, budget, places, 4);
        assert_eq!(shares, expected, "{wishes:?} {budget} {places}");
    }

    #[test]
    fn the_budget_is_shared_by_demand() {
        // Without demand, one of each; the cheapest first where not all fit.
        check(&[(0.0, 10), (0.0, 10)], 100, 9, &[1, 1]);
        check(&[(0.0, 50), (0.0, 10), (0.0, 20)], 30, 9, &[0, 1, 1]);
        check(&[(0.0, 50), (0.0, 10), (0.0, 20)], 100, 1, &[0, 1, 0]);
        // Demand decides who comes first, and who gets more.
        check(&[(1.0, 50), (0.0, 10)], 50, 9, &[1, 0]);
        check(&[(9.0, 10), (0.0, 10)], 100, 9, &[4, 1]);
        check(&[(5.0, 10), (0.0, 10)], 100, 9, &[3, 1]);
        check(&[(9.0, 10), (3.0, 10)], 50, 9, &[4, 1]);
        check(&[(9.0, 10), (3.0, 10)], 60, 9, &[4, 2]);
        check(&[(9.0, 10), (3.0, 10)], 30, 9, &[2, 1]);
        // A first one of each comes before a second of any.
        check(&[(99.0, 10), (0.0, 10)], 20, 9, &[1, 1]);
        // What does not fit is passed over.
        check(&[(9.0, 200), (0.0, 10)], 100, 9, &[0, 1]);
        check(&[(9.0, 10)], 0, 9, &[0]);
        check(&[(9.0, 10)], 100, 0, &[0]);
        check(&[], 100, 9, &[]);
    }

    #[test]
    fn demand_fades() {
        let start = Instant::now();
        let mut demand = Demand::new(start);
        for _ in 0..8 {
            demand.add(start);
        }
        let later = |half_lives| demand.at(start + HALF_LIFE * half_lives);
        assert!((later(0) - 8.0).abs() < 1e-6);
        assert!((later(1) - 4.0).abs() < 1e-6);
        assert!((later(3) - 1.0).abs() < 1e-6);
    }
}
