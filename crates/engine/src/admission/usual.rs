//! What a run lasts, on average: of those who came lately, each alike, however
//! many runs it had. One client's long runs then say little of the others'.

use std::collections::VecDeque;
use std::net::IpAddr;
use std::time::Duration;

/// What a run is taken to last before any has ended.
const FIRST_GUESS: Duration = Duration::from_secs(1);
/// So many subscribers count.
const MOST: u32 = 16;

/// The average of each subscriber who had a run lately, the last at the end.
#[derive(Debug, Default)]
pub(super) struct UsualRun(VecDeque<(IpAddr, Duration)>);

impl UsualRun {
    /// A run of `subscriber` has ended.
    pub(super) fn add(&mut self, subscriber: IpAddr, lasted: Duration) {
        let known = self.0.iter().position(|(who, _)| *who == subscriber);
        let before = known.and_then(|place| self.0.remove(place));
        // Recent runs weigh more: an eighth each.
        let average =
            before.map_or(lasted, |(_, average)| average * 7 / 8 + lasted / 8);
        self.0.push_back((subscriber, average));
        if self.0.len() > MOST as usize {
            self.0.pop_front();
        }
    }

    pub(super) fn get(&self) -> Duration {
        let sum: Duration = self.0.iter().map(|(_, average)| average).sum();
        match u32::try_from(self.0.len()) {
            Ok(0) | Err(_) => FIRST_GUESS,
            Ok(count) => sum / count,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_count_alike() {
        let check = |runs: &[(u8, u64)], expected: u64| {
            let mut usual = UsualRun::default();
            for (number, seconds) in runs {
                let lasted = Duration::from_secs(*seconds);
                usual.add([192, 0, 2, *number].into(), lasted);
            }
            assert_eq!(usual.get().as_secs(), expected, "{runs:?}");
        };
        check(&[], 1);
        check(&[(1, 8)], 8);
        check(&[(1, 8), (1, 16)], 9);
        check(&[(1, 30), (2, 2)], 16);
        check(&[(2, 2), (1, 30), (1, 30), (1, 30), (1, 30)], 16);
        // Who came long ago is forgotten.
        let others = (2..18).map(|number| (number, 3));
        let all: Vec<_> = [(1, 300)].into_iter().chain(others).collect();
        check(&all[..16], 21);
        check(&all, 3);
    }
}
