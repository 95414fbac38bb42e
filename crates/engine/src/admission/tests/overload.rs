//! More runs than the slots can take, of many clients or of one.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep};

use super::{Admission, Busy, WAIT, client, enter, take};

/// A run that lasts so long, once it has a slot.
async fn run(
    admission: &Admission,
    number: u8,
    lasting: Duration,
) -> Result<(), Busy> {
    let slot = admission.enter(client(number)).await?;
    sleep(lasting).await;
    drop(slot);
    Ok(())
}

#[tokio::test(start_paused = true)]
async fn a_client_at_its_share_is_in_nobodys_way() {
    let admission = Admission::new(2, 64, WAIT);
    let _held = take(&admission, 1).await;
    let _waiting = enter(&admission, 1).await;
    // The next slot is that of client 2, however long client 1 has waited.
    let other = take(&admission, 2).await;
    let mut next = enter(&admission, 3).await;
    drop(other);
    assert!(super::poll(&mut next).await.is_some());
}

/// It has all that one client can have, and its runs last long.
#[tokio::test(start_paused = true)]
async fn a_hostile_client_keeps_nobody_out() {
    let admission = Admission::new(2, 64, WAIT);
    let mut hostile = JoinSet::new();
    for _ in 0..64 {
        let admission = admission.clone();
        hostile.spawn(async move {
            loop {
                let _ = run(&admission, 1, Duration::from_secs(10)).await;
                sleep(Duration::from_millis(100)).await;
            }
        });
    }
    sleep(Duration::from_secs(60)).await;
    let mut honest = JoinSet::new();
    for number in 2..6 {
        let admission = admission.clone();
        honest.spawn(async move {
            for _ in 0..60 {
                let wait = Instant::now();
                let lasting = Duration::from_millis(200);
                run(&admission, number, lasting).await.expect("it is admitted");
                assert!(wait.elapsed() < Duration::from_secs(2));
                sleep(Duration::from_secs(1)).await;
            }
        });
    }
    honest.join_all().await;
}

/// All press Run at once, and try again after `retry_after`.
#[tokio::test(start_paused = true)]
async fn a_class_behind_one_address_finishes() {
    let check = async |lasting: Duration, at_most: u32| {
        let admission = Admission::new(2, 64, WAIT);
        let mut class = JoinSet::new();
        for _ in 0..30 {
            let admission = admission.clone();
            class.spawn(async move {
                let mut asked = 1;
                while let Err(busy) = run(&admission, 1, lasting).await {
                    sleep(busy.retry_after).await;
                    asked += 1;
                }
                asked
            });
        }
        let asked = class.join_all().await.into_iter().max();
        assert!(asked.is_some_and(|asked| asked <= at_most), "{asked:?}");
    };
    // All fit into the client's share of the queue, and into the wait.
    check(Duration::from_millis(400), 1).await;
    // Half of them wait in vain once.
    check(Duration::from_secs(1), 2).await;
    check(Duration::from_secs(5), 15).await;
}

/// Ten times more than can be done, each request of another client.
#[tokio::test(start_paused = true)]
async fn under_overload_no_slot_is_idle_and_all_are_answered() {
    let admission = Admission::new(2, 64, WAIT);
    let begun = Instant::now();
    let lasting = Duration::from_millis(500);
    let mut crowd = JoinSet::new();
    for request in 0..4_000 {
        let admission = admission.clone();
        let number = u8::try_from(request % 200).unwrap();
        crowd.spawn(async move { run(&admission, number, lasting).await });
        sleep(Duration::from_millis(25)).await;
    }
    let answers = crowd.join_all().await;
    let slots_seconds = begun.elapsed().as_secs_f64() * 2.0;
    let ran = answers.iter().filter(|answer| answer.is_ok()).count();
    let refused: Vec<_> = answers.into_iter().filter_map(Result::err).collect();
    let busy = ran as f64 * lasting.as_secs_f64() / slots_seconds;
    assert!(busy > 0.95, "{ran} ran, slots were used {busy:.2} of the time");
    let bounds = Duration::from_secs(1)..=WAIT;
    assert!(refused.iter().all(|busy| bounds.contains(&busy.retry_after)));
}
