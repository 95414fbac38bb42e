//! Admission under a paused clock: shares, turns, deadlines, and runs that give
//! up.

use std::future::Future;
use std::net::{IpAddr, Ipv4Addr};
use std::pin::Pin;
use std::task::Poll;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, timeout};

use super::{Admission, Busy, BusyCause, RunPermit};

mod checks;
mod overload;

const WAIT: Duration = Duration::from_secs(15);

type Entering = Pin<Box<dyn Future<Output = Result<RunPermit, Busy>> + Send>>;

fn client(number: u8) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(192, 0, 2, number))
}

/// A run of a client that asks for a slot; it has been polled once.
async fn enter(admission: &Admission, number: u8) -> Entering {
    enter_as(admission, client(number)).await
}

async fn enter_as(admission: &Admission, client: IpAddr) -> Entering {
    let admission = admission.clone();
    let mut entering: Entering =
        Box::pin(async move { admission.enter(client).await });
    assert!(poll(&mut entering).await.is_none(), "must wait");
    entering
}

async fn poll(entering: &mut Entering) -> Option<Result<RunPermit, Busy>> {
    std::future::poll_fn(|context| {
        Poll::Ready(match entering.as_mut().poll(context) {
            Poll::Ready(answer) => Some(answer),
            Poll::Pending => None,
        })
    })
    .await
}

/// Takes a slot that must be free.
async fn take(admission: &Admission, number: u8) -> RunPermit {
    let start = Instant::now();
    let slot = admission.enter(client(number)).await.unwrap();
    assert_eq!(start.elapsed(), Duration::ZERO, "must not wait");
    slot
}

/// The runs that have a slot, and those that wait.
fn load(admission: &Admission) -> (usize, usize) {
    let load = admission.load();
    (load.running, load.waiting)
}

async fn refused(admission: &Admission, number: u8) -> Busy {
    let start = Instant::now();
    let full = admission.enter(client(number)).await.unwrap_err();
    assert_eq!(start.elapsed(), Duration::ZERO, "must not wait");
    full
}

#[tokio::test(start_paused = true)]
async fn a_client_holds_at_most_half_of_the_live_slots_rounded_down() {
    let check = async |slots: usize, share: usize| {
        let admission = Admission::of_live_runs(slots);
        let mut held = Vec::new();
        for _ in 0..share {
            held.push(take(&admission, 1).await);
        }
        let _refused = refused(&admission, 1).await;
        for other in 0..slots - share {
            held.push(take(&admission, 2 + u8::try_from(other).unwrap()).await);
        }
        let _refused = refused(&admission, 100).await;
        assert_eq!(load(&admission), (slots, 0));
    };
    check(0, 0).await;
    check(1, 1).await;
    check(2, 1).await;
    check(3, 1).await;
    check(4, 2).await;
    check(5, 2).await;
}

#[tokio::test(start_paused = true)]
async fn a_client_holds_at_most_half_of_the_slots_rounded_up() {
    let check = async |slots: usize, share: usize| {
        let admission = Admission::new(slots, 64, WAIT);
        let mut held = Vec::new();
        for _ in 0..share {
            held.push(take(&admission, 1).await);
        }
        drop(enter(&admission, 1).await);
        for other in 0..slots - share {
            held.push(take(&admission, 2 + u8::try_from(other).unwrap()).await);
        }
        assert_eq!(load(&admission), (slots, 0));
        drop(enter(&admission, 100).await);
        drop(held);
        assert_eq!(load(&admission), (0, 0));
    };
    check(1, 1).await;
    check(2, 1).await;
    check(3, 2).await;
    check(4, 2).await;
    check(16, 8).await;
}

#[tokio::test(start_paused = true)]
async fn the_addresses_of_a_network_have_one_share() {
    let admission = Admission::new(4, 4, WAIT);
    let from = async |address: &str| {
        let client: IpAddr = address.parse().unwrap();
        timeout(Duration::from_secs(1), admission.enter(client)).await
    };
    let mut held = Vec::new();
    for address in ["2001:db8::1", "2001:db8::ffff:0:0:2"] {
        held.push(from(address).await.unwrap().unwrap());
    }
    assert!(from("2001:db8::3").await.is_err(), "must wait");
    // Their places in the queue are shared too.
    let third = enter_as(&admission, "2001:db8::3".parse().unwrap());
    let fourth = enter_as(&admission, "2001:db8::4".parse().unwrap());
    let mut waiting = [third.await, fourth.await];
    let full = from("2001:db8::5").await.unwrap().unwrap_err();
    assert_eq!(full.cause, BusyCause::Share);
    // A neighbour's network is another.
    for address in ["2001:db8:0:1::1", "192.0.2.1"] {
        held.push(from(address).await.unwrap().unwrap());
    }
    held.remove(0);
    held.push(poll(&mut waiting[0]).await.unwrap().unwrap());
    assert!(poll(&mut waiting[1]).await.is_none(), "must wait");
}

#[tokio::test(start_paused = true)]
async fn no_slots_means_one() {
    let admission = Admission::new(0, 0, WAIT);
    let _slot = take(&admission, 1).await;
    assert_eq!(refused(&admission, 2).await.cause, BusyCause::Queue);
}

#[tokio::test(start_paused = true)]
async fn clients_take_turns_and_each_keeps_its_order() {
    let admission = Admission::new(1, 64, WAIT);
    let mut slot = Some(take(&admission, 9).await);
    let mut waiting = Vec::new();
    for (number, run) in
        [(1, "a"), (1, "b"), (1, "c"), (2, "d"), (2, "e"), (3, "f")]
    {
        waiting.push((run, enter(&admission, number).await));
    }
    let mut order = String::new();
    while !waiting.is_empty() {
        drop(slot.take());
        let mut granted = None;
        for (index, (run, entering)) in waiting.iter_mut().enumerate() {
            if let Some(answer) = poll(entering).await {
                assert!(granted.is_none(), "one slot, two runs");
                slot = Some(answer.unwrap());
                order.push_str(run);
                granted = Some(index);
            }
        }
        drop(waiting.remove(granted.expect("someone must start")));
        assert_eq!(load(&admission).1, waiting.len());
    }
    assert_eq!(order, "adfbec");
}

#[tokio::test(start_paused = true)]
async fn a_client_at_its_share_keeps_its_turn() {
    let admission = Admission::new(4, 64, WAIT);
    let own = [take(&admission, 1).await, take(&admission, 1).await];
    let other = [take(&admission, 2).await, take(&admission, 2).await];
    let mut first = enter(&admission, 1).await;
    let mut second = enter(&admission, 3).await;
    let [released, _other] = other;
    drop(released);
    assert!(poll(&mut first).await.is_none(), "holds its share");
    assert!(poll(&mut second).await.is_some());
    let [released, _own] = own;
    drop(released);
    assert!(poll(&mut first).await.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_free_slot_is_not_kept_for_clients_at_their_share() {
    let admission = Admission::new(2, 64, WAIT);
    let _own = take(&admission, 1).await;
    let _waits = enter(&admission, 1).await;
    let _other = take(&admission, 2).await;
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_refuses_at_once() {
    let admission = Admission::new(1, 3, WAIT);
    let _slot = take(&admission, 1).await;
    let mut waiting =
        vec![enter(&admission, 1).await, enter(&admission, 1).await];
    assert_eq!(refused(&admission, 1).await.cause, BusyCause::Share);
    waiting.push(enter(&admission, 2).await);
    assert_eq!(refused(&admission, 1).await.cause, BusyCause::Queue);
    assert_eq!(refused(&admission, 2).await.cause, BusyCause::Queue);
    drop(waiting.remove(0));
    drop(enter(&admission, 1).await);
    assert_eq!(load(&admission).1, 2);
}

#[tokio::test(start_paused = true)]
async fn the_wait_is_bounded() {
    let admission = Admission::new(1, 64, WAIT);
    let slot = take(&admission, 1).await;
    let start = Instant::now();
    let full = admission.enter(client(2)).await.unwrap_err();
    assert_eq!(full.cause, BusyCause::Wait(WAIT));
    assert_eq!(full.to_string(), "no box became free within 15 s");
    let waited = start.elapsed();
    // The clock of the runtime counts whole milliseconds.
    assert!(waited >= WAIT && waited - WAIT <= Duration::from_millis(1));
    assert_eq!(load(&admission), (1, 0));
    drop(slot);
    take(&admission, 2).await;
}

#[tokio::test(start_paused = true)]
async fn a_refused_client_gets_an_estimate() {
    // Two slots, of which a client can have one; half of the queue is a
    // client's share.
    let check = async |run_ms: u64, capacity: usize, expected: [u64; 2]| {
        let admission = Admission::new(2, capacity, WAIT);
        // The mean forgets its first value.
        for _ in 0..100 {
            let _slot = take(&admission, 1).await;
            tokio::time::sleep(Duration::from_millis(run_ms)).await;
        }
        let _slots = [take(&admission, 1).await, take(&admission, 2).await];
        let mut places = Vec::new();
        let mut found = Vec::new();
        for (number, cause) in [(3, BusyCause::Share), (4, BusyCause::Queue)] {
            for _ in 0..capacity / 2 {
                places.push(enter(&admission, number).await);
            }
            // Client 3 alone is refused by its share, then any is.
            let busy = refused(&admission, 3).await;
            assert_eq!(busy.cause, cause);
            let tenths = busy.retry_after.as_secs_f64() * 10.0;
            found.push(tenths.round().to_string());
        }
        let expected = expected.map(|tenths| tenths.to_string());
        assert_eq!(found, expected, "{run_ms} ms, {capacity}");
    };
    // At least a second.
    check(0, 10, [10, 10]).await;
    check(400, 4, [10, 10]).await;
    check(400, 10, [20, 20]).await;
    check(2_000, 6, [60, 60]).await;
    // At most the longest wait: nobody who waits now is there after it.
    check(10_000, 10, [150, 150]).await;
}

#[tokio::test(start_paused = true)]
async fn a_dropped_waiter_leaves_the_queue() {
    let admission = Admission::new(1, 64, WAIT);
    let slot = take(&admission, 1).await;
    let gone = enter(&admission, 2).await;
    let mut next = enter(&admission, 3).await;
    drop(gone);
    assert_eq!(load(&admission).1, 1);
    drop(slot);
    assert!(poll(&mut next).await.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_slot_granted_to_one_who_goes_is_not_lost() {
    let admission = Admission::new(1, 64, WAIT);
    let slot = take(&admission, 1).await;
    let going = enter(&admission, 2).await;
    let mut next = enter(&admission, 3).await;
    drop(slot);
    assert_eq!(load(&admission), (1, 1));
    drop(going);
    let slot = poll(&mut next).await.expect("the slot comes").unwrap();
    assert_eq!(load(&admission), (1, 0));
    drop(slot);
    assert_eq!(load(&admission), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_storm_keeps_the_rules_and_leaves_nothing() {
    let admission = Admission::new(5, 1_000, Duration::from_secs(3));
    let mut tasks = JoinSet::new();
    for run in 0_u64..2_000 {
        let admission = admission.clone();
        tasks.spawn(async move {
            // Some give up while they wait, at every moment of a run.
            let patience = Duration::from_millis(run * 37 % 5_000);
            tokio::time::sleep(Duration::from_millis(run * 13 % 7_000)).await;
            let number = u8::try_from(run % 7).unwrap();
            let entered = timeout(patience, admission.enter(client(number)));
            let Ok(Ok(_slot)) = entered.await else { return 0 };
            let (running, waiting) = load(&admission);
            assert!(running <= 5 && waiting <= 1_000);
            let lasts = Duration::from_millis(run * 7 % 50);
            tokio::time::sleep(lasts).await;
            1
        });
    }
    let ran: u32 = tasks.join_all().await.into_iter().sum();
    assert!((500..2_000).contains(&ran), "{ran} ran");
    assert_eq!(load(&admission), (0, 0));
    let queue = &admission.inner.lock().queue;
    assert!(queue.is_empty(), "{queue:?}");
}

#[tokio::test(start_paused = true)]
async fn as_many_boxes_as_slots_are_in_removal_without_one() {
    let admission = Admission::new(2, 4, WAIT);
    // Whether slots are taken makes no difference.
    let _slot = take(&admission, 1).await;
    let mut removals = [admission.try_remove(), admission.try_remove()];
    assert!(removals.iter().all(Option::is_some));
    assert!(admission.try_remove().is_none());
    removals[0].take();
    assert!(admission.try_remove().is_some());
}
