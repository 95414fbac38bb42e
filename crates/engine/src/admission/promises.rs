//! Promises to clients that were refused: come back then, and there is a
//! place for you.

use std::collections::{BTreeSet, HashMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use tokio::time::Instant;

/// How late one may come.
const KEPT: Duration = Duration::from_secs(10);
/// Between two that fall due.
const LEAST_PACE: Duration = Duration::from_millis(1);

/// Who may come back and when. One falls due after the other, no faster than
/// runs end; so all can be kept, however many were made.
#[derive(Debug)]
pub(super) struct Promises {
    /// So many are remembered.
    most: usize,
    /// So far ahead.
    horizon: Duration,
    by_time: BTreeSet<(Instant, IpAddr)>,
    by_client: HashMap<IpAddr, VecDeque<Instant>>,
    /// How many of `ALL` came lately.
    come: usize,
}

/// A share of everyone.
const ALL: usize = 1_024;
/// The newest counts for one in so many.
const LATELY: usize = 16;

impl Promises {
    pub(super) fn new(most: usize, horizon: Duration) -> Self {
        Self {
            most,
            horizon,
            by_time: BTreeSet::new(),
            by_client: HashMap::new(),
            come: ALL,
        }
    }

    /// When `client` is to come back: not before `soonest`, and `pace` after
    /// the last that is still to be kept. Those that were kept or forgotten
    /// do not count, else who asks and comes back again and again would put
    /// off everyone after. A client that has `own_most` promises is told of the
    /// last again. Beyond what can be remembered, it is a guess.
    pub(super) fn make(
        &mut self,
        client: IpAddr,
        own_most: usize,
        soonest: Instant,
        pace: Duration,
    ) -> Instant {
        let own = self.by_client.get(&client);
        if let Some(own) = own.filter(|own| own.len() >= own_most)
            && let Some(time) = own.back()
        {
            return soonest.max(*time);
        }
        // One client's are never at the same moment.
        let pace = pace.max(LEAST_PACE);
        let last = self.by_time.last();
        let next = last.map_or(soonest, |(last, _)| *last + pace);
        let time = soonest.max(next);
        let is_far = time > soonest + self.horizon;
        if self.by_time.len() >= self.most || is_far {
            return time.min(soonest + self.horizon);
        }
        self.by_time.insert((time, client));
        self.by_client.entry(client).or_default().push_back(time);
        time
    }

    /// Whether `client` was told to come back by now.
    pub(super) fn is_due(&self, client: IpAddr, now: Instant) -> bool {
        let own = self.by_client.get(&client);
        let first = own.and_then(VecDeque::front);
        first.is_some_and(|time| *time <= now)
    }

    /// Forgets those who did not come.
    pub(super) fn expire(&mut self, now: Instant) {
        while let Some((time, client)) = self.by_time.first().copied()
            && time + KEPT < now
        {
            self.come -= self.come / LATELY;
            self.forget_first(client);
        }
    }

    /// How many of those that `counts` are likely to come until `time`: of
    /// those who are told to, as many as came lately.
    pub(super) fn until(
        &self,
        time: Instant,
        counts: impl Fn(IpAddr) -> bool,
    ) -> usize {
        let due = self.by_time.iter().take_while(|(due, _)| *due <= time);
        let due = due.filter(|(_, client)| counts(*client));
        due.count() * self.come / ALL
    }

    /// `client` came and was let in: so it has what it was promised, if it was.
    pub(super) fn keep(&mut self, client: IpAddr) {
        if self.by_client.contains_key(&client) {
            self.come += (ALL - self.come) / LATELY;
            self.forget_first(client);
        }
    }

    fn forget_first(&mut self, client: IpAddr) {
        let Some(own) = self.by_client.get_mut(&client) else { return };
        if let Some(time) = own.pop_front() {
            self.by_time.remove(&(time, client));
        }
        if own.is_empty() {
            self.by_client.remove(&client);
        }
    }

    /// Whether nobody is remembered.
    #[cfg(test)]
    pub(super) fn is_empty(&self) -> bool {
        self.by_time.is_empty() && self.by_client.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HORIZON: Duration = Duration::from_secs(60);
    const SECOND: Duration = Duration::from_secs(1);

    fn client(number: u8) -> IpAddr {
        [192, 0, 2, number].into()
    }

    /// The seconds from `now` that each client is told, in this order.
    fn told(
        promises: &mut Promises,
        own_most: usize,
        now: Instant,
        clients: &[u8],
    ) -> Vec<u64> {
        let mut make = |number: &u8| {
            let soonest = now + SECOND;
            let pace = 2 * SECOND;
            let time = promises.make(client(*number), own_most, soonest, pace);
            (time - now).as_secs()
        };
        clients.iter().map(&mut make).collect()
    }

    #[test]
    fn one_falls_due_after_the_other() {
        let check = |own_most, clients: &[u8], expected: &[u64]| {
            let mut promises = Promises::new(100, HORIZON);
            let told = told(&mut promises, own_most, Instant::now(), clients);
            assert_eq!(told, expected, "{clients:?}");
        };
        check(1, &[1], &[1]);
        check(1, &[1, 2, 3], &[1, 3, 5]);
        // One who asks again and again does not keep the others out.
        check(1, &[1, 1, 1, 2, 1, 2], &[1, 1, 1, 3, 1, 3]);
        check(2, &[1, 1, 1, 2, 1, 2], &[1, 3, 3, 5, 3, 7]);
    }

    #[test]
    fn what_was_kept_puts_nobody_off() {
        let check = |rounds, expected: [u64; 2]| {
            let now = Instant::now();
            let mut promises = Promises::new(100, HORIZON);
            for _ in 0..rounds {
                told(&mut promises, 1, now, &[1]);
                promises.keep(client(1));
            }
            let told = told(&mut promises, 1, now, &[2, 3]);
            assert_eq!(told, expected, "after {rounds}");
        };
        check(1, [1, 3]);
        check(100, [1, 3]);
    }

    #[test]
    fn what_is_not_remembered_is_guessed() {
        let now = Instant::now();
        let mut promises = Promises::new(2, HORIZON);
        assert_eq!(told(&mut promises, 1, now, &[1, 2, 3, 4]), [1, 3, 5, 5]);
        assert!(!promises.is_due(client(3), now + HORIZON));
        let mut promises = Promises::new(2, 2 * SECOND);
        assert_eq!(told(&mut promises, 1, now, &[1, 2, 3]), [1, 3, 3]);
        assert!(!promises.is_due(client(3), now + HORIZON));
    }

    #[test]
    fn a_promise_holds_from_its_time_on_and_for_a_while() {
        let now = Instant::now();
        let mut promises = Promises::new(100, HORIZON);
        assert_eq!(told(&mut promises, 1, now, &[1, 2]), [1, 3]);
        let mut check = |millis, first, second| {
            let at = now + Duration::from_millis(millis);
            promises.expire(at);
            let is_late = millis > 11_000;
            let count = usize::from(first) + usize::from(second);
            if !is_late {
                let found = promises.until(at, |_| true);
                assert_eq!(found, count, "{millis} ms");
            }
            let due = [1, 2].map(|number| promises.is_due(client(number), at));
            assert_eq!(due, [first, second], "{millis} ms");
        };
        check(999, false, false);
        check(1_000, true, false);
        check(3_000, true, true);
        check(11_000, true, true);
        check(11_001, false, true);
        check(13_001, false, false);
        assert!(promises.is_empty(), "{promises:?}");
    }

    #[test]
    fn a_promise_is_kept_once() {
        let now = Instant::now();
        let mut promises = Promises::new(100, HORIZON);
        told(&mut promises, 2, now, &[1, 1]);
        let later = now + 5 * SECOND;
        for _ in 0..2 {
            assert!(promises.is_due(client(1), later));
            promises.keep(client(1));
        }
        assert!(!promises.is_due(client(1), later));
        assert!(promises.is_empty(), "{promises:?}");
    }

    #[test]
    fn who_never_comes_is_not_expected() {
        let mut now = Instant::now();
        let mut promises = Promises::new(100, HORIZON);
        let mut check = |comes: bool, expected: usize| {
            for number in 0..60 {
                told(&mut promises, 1, now, &[number]);
                now += 2 * SECOND;
                if comes {
                    assert!(promises.is_due(client(number), now));
                    promises.keep(client(number));
                }
            }
            now += KEPT + SECOND;
            promises.expire(now);
            told(&mut promises, 1, now, &[100, 101, 102, 103]);
            assert_eq!(
                promises.until(now + HORIZON, |_| true),
                expected,
                "{comes}"
            );
            now += HORIZON;
        };
        check(true, 4);
        check(false, 0);
        check(true, 3);
    }
}
