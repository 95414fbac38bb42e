//! More runs than the slots can take, of many clients or of one.

use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use super::{Admission, Busy, BusyCause, WAIT, client, enter, take};

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

/// Each of two clients has all that one can have. Two of their runs, one after
/// the other, would be longer than the longest wait.
#[tokio::test(start_paused = true)]
async fn two_hostile_clients_keep_nobody_out() {
    let admission = Admission::new(2, 64, WAIT);
    let mut hostile = JoinSet::new();
    for run_number in 0..128 {
        let admission = admission.clone();
        hostile.spawn(async move {
            loop {
                let number = 1 + run_number % 2;
                let lasting = Duration::from_secs(10);
                let _ = run(&admission, number, lasting).await;
                sleep(Duration::from_millis(100)).await;
            }
        });
    }
    sleep(Duration::from_secs(60)).await;
    let mut honest = JoinSet::new();
    for number in 3..6 {
        let admission = admission.clone();
        honest.spawn(async move {
            for _ in 0..20 {
                let lasting = Duration::from_millis(200);
                run(&admission, number, lasting).await.expect("it is admitted");
                sleep(Duration::from_secs(1)).await;
            }
        });
    }
    honest.join_all().await;
}

/// The runs that wait are of these clients, in the order in which they came.
#[tokio::test(start_paused = true)]
async fn a_full_queue_has_a_place_for_a_client_without_one() {
    let check = async |waiting: &[u8], comes: u8, gives_way: Option<usize>| {
        let admission = Admission::new(1, waiting.len(), WAIT);
        let _slot = take(&admission, 9).await;
        let mut runs = Vec::new();
        for &number in waiting {
            runs.push(enter(&admission, number).await);
        }
        let mut arrival = Box::pin(admission.enter(client(comes)));
        let answer = timeout(Duration::ZERO, arrival.as_mut()).await;
        let mut ended = Vec::new();
        for (index, entering) in runs.iter_mut().enumerate() {
            if let Some(answer) = super::poll(entering).await {
                let busy = answer.expect_err("no slot is free");
                assert_eq!(busy.cause, BusyCause::Queue);
                assert!(busy.retry_after >= Duration::from_secs(1));
                ended.push(index);
            }
        }
        let case = format!("{comes} comes to {waiting:?}");
        assert_eq!(ended, gives_way.as_slice(), "{case}");
        assert_eq!(answer.is_ok(), gives_way.is_none(), "{case}");
        assert_eq!(super::load(&admission), (1, waiting.len()), "{case}");
    };
    // The newest run of the client with the most.
    check(&[1, 1, 2, 2], 3, Some(3)).await;
    check(&[1, 2, 1, 2, 1], 3, Some(4)).await;
    check(&[1, 2, 1, 3, 4], 5, Some(2)).await;
    // A client that waits already has to wait for a place.
    check(&[1, 1, 2, 2], 1, None).await;
    check(&[1, 1, 2, 3], 3, None).await;
    // So has one if each of the others has only one.
    check(&[1, 2, 3, 4], 5, None).await;
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
    let mut clients = JoinSet::new();
    for request in 0..4_000 {
        let admission = admission.clone();
        let number = u8::try_from(request % 200).unwrap();
        clients.spawn(async move { run(&admission, number, lasting).await });
        sleep(Duration::from_millis(25)).await;
    }
    let answers = clients.join_all().await;
    let slots_seconds = begun.elapsed().as_secs_f64() * 2.0;
    let ran = answers.iter().filter(|answer| answer.is_ok()).count();
    let refused: Vec<_> = answers.into_iter().filter_map(Result::err).collect();
    let busy = ran as f64 * lasting.as_secs_f64() / slots_seconds;
    assert!(busy > 0.95, "{ran} ran, slots were used {busy:.2} of the time");
    let bounds = Duration::from_secs(1)..=WAIT;
    assert!(refused.iter().all(|busy| bounds.contains(&busy.retry_after)));
}
