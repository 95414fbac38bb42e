//! More runs than can be done: what the refused are told, and what holds then.

use std::collections::VecDeque;
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::Instant;

use super::{Admission, Cause, Entering, Full, Slot, WAIT};
use super::{client, enter, poll, refused, take};

/// One slot that is never free and a queue that is full of two clients' runs,
/// each `lasting` so long.
async fn full_house(
    lasting: Duration,
) -> (Admission, Slot, [VecDeque<Entering>; 2]) {
    let admission = Admission::new(1, 4, Duration::from_secs(60));
    let mut slot = take(&admission, 1).await;
    let mut places = [VecDeque::new(), VecDeque::new()];
    for _ in 0..2 {
        for (number, own) in (1..).zip(&mut places) {
            own.push_back(enter(&admission, number).await);
        }
    }
    // The averages forget their first guess.
    for number in (1..=2).cycle().take(200) {
        slot = pass_on(&admission, slot, &mut places, lasting, number).await;
    }
    (admission, slot, places)
}

/// Ends the run that has the slot: the next is one of client `number`, whose
/// place is taken again at once.
async fn pass_on(
    admission: &Admission,
    slot: Slot,
    places: &mut [VecDeque<Entering>; 2],
    lasting: Duration,
    number: u8,
) -> Slot {
    tokio::time::sleep(lasting).await;
    drop(slot);
    let own = &mut places[usize::from(number) - 1];
    let mut first = own.pop_front().unwrap();
    let slot = poll(&mut first).await.expect("its turn").unwrap();
    own.push_back(enter(admission, number).await);
    slot
}

#[tokio::test(start_paused = true)]
async fn the_refused_are_told_times_as_far_apart_as_runs_end() {
    let check = async |run: u64, expected: [u64; 4]| {
        let run = Duration::from_millis(run);
        let (admission, _slot, _places) = full_house(run).await;
        let mut told = Vec::new();
        for number in [3, 4, 5, 3] {
            let full = refused(&admission, number).await;
            assert_eq!(full.cause, Cause::Queue);
            let after = full.retry_after.as_secs_f64() * 10.0;
            told.push(after.round().to_string());
        }
        assert_eq!(told, expected.map(|tenths| tenths.to_string()), "{run:?}");
    };
    // A quarter more than a run each, from when both clients have had a turn
    // or from a second on. Client 3 is told the same again.
    check(1, [10, 10, 10, 10]).await;
    check(400, [10, 15, 20, 10]).await;
    check(8_000, [200, 300, 400, 200]).await;
}

#[tokio::test(start_paused = true)]
async fn who_would_wait_in_vain_is_told_so_at_once() {
    let check = async |run: u64, most: u64| {
        let run = Duration::from_millis(run);
        let admission = Admission::new(2, 64, WAIT);
        // The average forgets its first guess.
        for _ in 0..100 {
            let _slot = take(&admission, 1).await;
            tokio::time::sleep(run).await;
        }
        let _slots = [take(&admission, 1).await, take(&admission, 2).await];
        let mut places = Vec::new();
        for number in 3..67 {
            let admission = admission.clone();
            let entered = async move { admission.enter(client(number)).await };
            let mut entered: Entering = Box::pin(entered);
            match poll(&mut entered).await {
                None => places.push(entered),
                Some(full) => {
                    assert_eq!(full.unwrap_err().cause, Cause::Queue);
                }
            }
        }
        assert_eq!(places.len() as u64, most, "{run:?}");
    };
    // Two slots: as many as start within 15 s, and the first of all.
    check(100, 64).await;
    check(1_000, 25).await;
    check(10_000, 3).await;
}

/// A crowd that asks ten times more than can be done, and never waits; beside
/// it some who come back when they are told to.
#[tokio::test(start_paused = true)]
async fn who_waits_as_told_is_admitted_then() {
    let admission = Admission::new(2, 64, WAIT);
    let run = async |admission: Admission, number: u8| {
        let slot = admission.enter(client(number)).await?;
        tokio::time::sleep(Duration::from_millis(487)).await;
        drop(slot);
        Ok::<(), Full>(())
    };
    let mut crowd = JoinSet::new();
    let mut patient = JoinSet::new();
    for request in 0..4_000 {
        let number = u8::try_from(request % 100).unwrap();
        crowd.spawn(run(admission.clone(), number));
        if request % 80 == 0 {
            let number = 150 + u8::try_from(request / 80).unwrap();
            let admission = admission.clone();
            patient.spawn(async move {
                let Err(full) = run(admission.clone(), number).await else {
                    return false;
                };
                tokio::time::sleep(full.retry_after).await;
                let wait = Instant::now();
                run(admission, number).await.expect("it was promised");
                // Before those who wait: the queue holds eight seconds.
                assert!(wait.elapsed() < Duration::from_secs(3));
                true
            });
        }
        tokio::time::sleep(Duration::from_millis(25)).await;
    }
    let patient = patient.join_all().await;
    let returned = patient.into_iter().filter(|returned| *returned).count();
    assert!(returned > 30, "{returned} were refused at first");
    let crowd = crowd.join_all().await;
    let in_vain = crowd.iter().filter(|ended| {
        ended.as_ref().is_err_and(|full| full.cause == Cause::Wait(WAIT))
    });
    let in_vain = in_vain.count();
    let ran = crowd.into_iter().flatten().count();
    // Almost nobody: runs do not end as regularly as they are counted.
    assert!(in_vain * 20 < ran, "{in_vain} waited for nothing");
    // The crowd has what the others leave: places are not kept in vain.
    assert!(ran > 400, "{ran} of the crowd ran");
}

/// Many came once, were refused, and are never seen again.
#[tokio::test(start_paused = true)]
async fn who_does_not_come_back_keeps_nobody_out() {
    let (admission, slot, places) = full_house(Duration::from_secs(1)).await;
    for number in 3..203 {
        refused(&admission, number).await;
    }
    drop((places, slot));
    // As many as are late by then tell how it is with the rest.
    tokio::time::sleep(Duration::from_secs(100)).await;
    let _slot = take(&admission, 210).await;
    let mut places = Vec::new();
    for number in 211..215 {
        places.push(enter(&admission, number).await);
    }
}

/// It has all that one client can have, and its runs last long.
#[tokio::test(start_paused = true)]
async fn a_hostile_client_keeps_nobody_out() {
    let admission = Admission::new(2, 64, WAIT);
    let run = async |admission: &Admission, number: u8, lasting: u64| {
        let slot = admission.enter(client(number)).await?;
        tokio::time::sleep(Duration::from_millis(lasting)).await;
        drop(slot);
        Ok::<(), Full>(())
    };
    let mut hostile = JoinSet::new();
    for _ in 0..64 {
        let admission = admission.clone();
        hostile.spawn(async move {
            loop {
                let _ = run(&admission, 1, 10_000).await;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        });
    }
    tokio::time::sleep(Duration::from_secs(60)).await;
    let mut honest = JoinSet::new();
    for number in 2..6 {
        let admission = admission.clone();
        honest.spawn(async move {
            for _ in 0..60 {
                let wait = Instant::now();
                run(&admission, number, 200).await.expect("it is admitted");
                assert!(wait.elapsed() < Duration::from_secs(2));
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
        });
    }
    honest.join_all().await;
}
