//! One client that wants all, or that nobody else gets any: what the others
//! are told then.

use std::time::Duration;

use tokio::time::sleep;

use super::{Admission, Cause, Entering, Slot, WAIT};
use super::{enter, poll, refused, take};

const SECOND: Duration = Duration::from_secs(1);

/// Two slots, of which client 1 has one and waits for more, after `lasts` has
/// become what a run lasts on average.
async fn besieged(lasts: Duration) -> (Admission, Vec<Entering>, Slot) {
    let admission = Admission::new(2, 64, WAIT);
    for _ in 0..100 {
        let _slot = take(&admission, 1).await;
        sleep(lasts).await;
    }
    let held = take(&admission, 1).await;
    let waiting = vec![enter(&admission, 1).await];
    (admission, waiting, held)
}

#[tokio::test(start_paused = true)]
async fn who_waits_for_its_own_slots_is_in_nobodys_way() {
    let check = async |seconds: u32| {
        let (admission, _waiting, _held) = besieged(SECOND * seconds).await;
        let _other = take(&admission, 2).await;
        // The next to get the slot of client 2, whatever client 1 wants.
        drop(enter(&admission, 3).await);
    };
    check(1).await;
    check(10).await;
    check(30).await;
}

#[tokio::test(start_paused = true)]
async fn where_all_wait_for_their_own_slots_they_are_in_the_way() {
    let (admission, _waiting, _held) = besieged(30 * SECOND).await;
    let _other = take(&admission, 2).await;
    let _more = enter(&admission, 2).await;
    assert_eq!(refused(&admission, 3).await.cause, Cause::Queue);
}

#[tokio::test(start_paused = true)]
async fn a_promise_of_who_has_its_share_is_in_nobodys_way() {
    let (admission, mut waiting, _held) = besieged(30 * SECOND).await;
    // It waits in vain, and is promised a place.
    sleep(WAIT).await;
    let full = poll(&mut waiting[0]).await.unwrap().unwrap_err();
    assert_eq!(full.retry_after, SECOND);
    let _other = take(&admission, 2).await;
    drop(enter(&admission, 3).await);
}

#[tokio::test(start_paused = true)]
async fn long_runs_of_one_client_say_little_of_the_others() {
    let (admission, _waiting, _held) = besieged(30 * SECOND).await;
    for number in 2..17 {
        let _slot = take(&admission, number).await;
        sleep(SECOND / 20).await;
    }
    let _other = take(&admission, 2).await;
    let mut class = Vec::new();
    for number in 20..32 {
        class.push(enter(&admission, number).await);
    }
}

#[tokio::test(start_paused = true)]
async fn who_waits_is_gone_when_its_wait_is_over() {
    let (admission, waiting, _held) = besieged(30 * SECOND).await;
    drop(waiting);
    let _other = take(&admission, 2).await;
    let _first = enter(&admission, 3).await;
    let told = refused(&admission, 4).await.retry_after;
    assert_eq!(told, WAIT);
}
