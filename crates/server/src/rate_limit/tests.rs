//! The limiter on a clock of the test's own.

mod shared;
mod with_valkey;

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

const SECOND: Duration = Duration::from_secs(1);
const MINUTE: Duration = Duration::from_secs(60);

/// Of clients that all have this limit, in a minute.
fn limiter(limit: u32) -> LocalLimiter {
    LocalLimiter::new(limit, Vec::new(), MINUTE)
}

fn client(text: &str) -> IpAddr {
    text.parse().unwrap()
}

fn admitted(limiter: &LocalLimiter, client: IpAddr, at: Duration) -> bool {
    let verdict = limiter.admit(client, limiter.start + at);
    matches!(verdict, None | Some(Verdict::Admitted(_)))
}

/// How many of `count` requests at once pass.
fn burst(
    limiter: &LocalLimiter,
    client: IpAddr,
    at: Duration,
    count: usize,
) -> usize {
    (0..count).filter(|_| admitted(limiter, client, at)).count()
}

#[test]
fn a_client_has_its_limit_and_gets_it_back() {
    let limiter = limiter(20);
    let one = client("192.0.2.1");
    assert_eq!(burst(&limiter, one, Duration::ZERO, 25), 20);
    assert_eq!(burst(&limiter, one, SECOND * 59, 5), 0);
    assert_eq!(burst(&limiter, client("192.0.2.2"), SECOND, 25), 20);
    assert_eq!(burst(&limiter, one, SECOND * 60, 25), 20);
}

#[test]
fn refusals_do_not_extend_the_wait() {
    let limiter = limiter(2);
    let one = client("192.0.2.1");
    assert_eq!(burst(&limiter, one, Duration::ZERO, 2), 2);
    for second in 1..60 {
        assert!(!admitted(&limiter, one, SECOND * second));
    }
    assert_eq!(burst(&limiter, one, SECOND * 60, 3), 2);
}

#[test]
fn the_quota_counts_down() {
    let limiter = limiter(2);
    let one = client("192.0.2.1");
    let at = |seconds: u64| limiter.start + Duration::from_secs(seconds);
    let quota = |remaining, reset| Quota {
        limit: 2,
        window: MINUTE,
        remaining,
        reset: Duration::from_secs(reset),
    };
    let admitted = |quota| Some(Verdict::Admitted(quota));
    assert_eq!(limiter.quota(one, at(0)), Some(quota(2, 0)));
    assert_eq!(limiter.admit(one, at(0)), admitted(quota(1, 60)));
    assert_eq!(limiter.quota(one, at(7)), Some(quota(1, 53)));
    assert_eq!(limiter.admit(one, at(10)), admitted(quota(0, 50)));
    let refused = Some(Verdict::Refused(quota(0, 19)));
    assert_eq!(limiter.admit(one, at(41)), refused);
    assert_eq!(limiter.admit(one, at(60)), admitted(quota(0, 10)));
}

#[test]
fn whoever_waits_for_the_reset_is_admitted() {
    let limiter = limiter(3);
    let one = client("192.0.2.1");
    let wait = |seconds: u32| match limiter
        .admit(one, limiter.start + SECOND * seconds)
    {
        Some(Verdict::Refused(quota)) => quota.reset,
        other => panic!("{other:?}"),
    };
    for second in [0, 10, 20] {
        assert!(admitted(&limiter, one, SECOND * second));
    }
    // Everyone behind the address waits for the same time.
    assert_eq!(
        [wait(21), wait(21), wait(30)],
        [39, 39, 30].map(|s| SECOND * s)
    );
    assert!(admitted(&limiter, one, SECOND * 60));
    assert_eq!(wait(61), SECOND * 9);
    assert!(admitted(&limiter, one, SECOND * 70));
}

#[test]
fn an_admission_that_is_taken_back_was_none() {
    let limiter = limiter(2);
    let one = client("2001:db8::1");
    let at = |seconds: u32| limiter.start + SECOND * seconds;
    let left = |seconds| limiter.quota(one, at(seconds)).unwrap().remaining;
    limiter.admit(one, at(1));
    limiter.record(one, at(2));
    assert_eq!(left(3), 0);
    limiter.take_back(one, at(1));
    // The other one leaves the window in its own time.
    assert_eq!([left(3), left(61), left(62)], [1, 1, 2]);
    limiter.take_back(one, at(1));
    assert_eq!(left(63), 2);
    // The prefix, too, has none left.
    let whole = burst(&limiter, client("2001:db8::2"), SECOND * 64, 2)
        + burst(&limiter, client("2001:db8::3"), SECOND * 64, 2);
    assert_eq!(whole, 4);
}

#[test]
fn the_wait_ends_when_client_and_prefix_have_room() {
    let limiter = limiter(1);
    let at = |host: u32, second| {
        let address = client(&format!("2001:db8::{host:x}"));
        limiter.admit(address, limiter.start + SECOND * second)
    };
    // The prefix is full, and its first request was the client's own.
    for host in 1..=10 {
        assert!(matches!(at(host, host), Some(Verdict::Admitted(_))));
    }
    let wait = |host, second| match at(host, second) {
        Some(Verdict::Refused(quota)) => quota.reset,
        other => panic!("{other:?}"),
    };
    assert_eq!(wait(1, 20), SECOND * 41);
    assert_eq!(wait(5, 20), SECOND * 45);
    assert_eq!(wait(11, 20), SECOND * 41);
}

#[test]
fn a_prefix_has_ten_times_a_clients_limit() {
    let limiter = limiter(20);
    let passed: usize = (0..100)
        .map(|host| {
            let address = client(&format!("2001:db8:0:1:{:x}::", host << 9));
            burst(&limiter, address, Duration::ZERO, 20)
        })
        .sum();
    assert_eq!(passed, 200);
    // The last bit of the 64, and the first, tell another.
    for other in ["2001:db8::1", "a001:db8:0:1::1"] {
        let other = client(other);
        assert_eq!(burst(&limiter, other, Duration::ZERO, 25), 20);
    }
    let fresh = client("2001:db8:0:1:ffff::");
    let quota = limiter.quota(fresh, limiter.start + SECOND).unwrap();
    assert_eq!((quota.remaining, quota.reset), (0, SECOND * 59));
    assert_eq!(burst(&limiter, fresh, SECOND * 60, 25), 20);
}

#[test]
fn networks_have_limits_of_their_own() {
    let exceptions = vec![
        ("10.0.0.0/8".parse().unwrap(), 3),
        ("10.1.0.0/16".parse().unwrap(), 0),
        ("10.1.1.0/24".parse().unwrap(), 5),
    ];
    let limiter = LocalLimiter::new(1, exceptions, MINUTE);
    let passed = |text| burst(&limiter, client(text), Duration::ZERO, 50);
    assert_eq!(passed("192.0.2.1"), 1);
    assert_eq!(passed("10.9.9.9"), 3);
    assert_eq!(passed("10.1.2.3"), 50);
    assert_eq!(passed("10.1.1.1"), 5);
    let unlimited = limiter.admit(client("10.1.2.3"), limiter.start);
    assert_eq!(unlimited, None);
}

#[test]
fn zero_lifts_the_limit() {
    let exceptions = vec![("10.0.0.0/8".parse().unwrap(), 2)];
    let limiter = LocalLimiter::new(0, exceptions, MINUTE);
    let passed = |text| burst(&limiter, client(text), Duration::ZERO, 50);
    assert_eq!(passed("192.0.2.1"), 50);
    assert_eq!(passed("10.0.0.1"), 2);
}

/// A window, a limit and the gaps between requests, in ms.
fn requests() -> impl Strategy<Value = (u64, u32, Vec<u64>)> {
    (prop_oneof![Just(60_000), 1..60_000_u64], 1..25_u32).prop_flat_map(
        |(window, limit)| {
            let gap = prop_oneof![
                Just(0),
                0..=window / 600,
                0..=window / 6,
                Just(window - 1),
                Just(window),
            ];
            let gaps = proptest::collection::vec(gap, 1..200);
            (Just(window), Just(limit), gaps)
        },
    )
}

proptest! {
    #[test]
    fn no_window_holds_more_than_the_limit((window, limit, gaps) in requests()) {
        let window = Duration::from_millis(window);
        let limiter = LocalLimiter::new(limit, Vec::new(), window);
        let one = client("192.0.2.1");
        let mut now = Duration::ZERO;
        let mut passed: VecDeque<Duration> = VecDeque::new();
        for gap in gaps {
            now += Duration::from_millis(gap);
            passed.retain(|at| *at + window > now);
            let has_room = passed.len() < limit as usize;
            // Neither too many nor too few.
            match limiter.admit(one, limiter.start + now) {
                Some(Verdict::Admitted(_)) => prop_assert!(has_room),
                Some(Verdict::Refused(quota)) => {
                    prop_assert!(!has_room);
                    // The first who comes then is admitted, and none before.
                    prop_assert_eq!(now + quota.reset, passed[0] + window);
                }
                None => prop_assert!(false, "it has a limit"),
            }
            if has_room {
                passed.push_back(now);
            }
        }
    }
}
