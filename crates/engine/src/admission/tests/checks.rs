//! Self-tests: they take a slot only if no client wants it.

use tokio::time::timeout;

use super::{WAIT, client, enter, load, poll, take};
use crate::admission::Admission;

#[tokio::test(start_paused = true)]
async fn a_check_takes_a_slot_that_no_client_wants() {
    let admission = Admission::new(2, 64, WAIT);
    let checker = || admission.try_enter(client(9));
    let own = checker().expect("a free slot");
    assert!(checker().is_none(), "its share is used up");
    let slot = take(&admission, 1).await;
    assert!(checker().is_none(), "no slot is free");
    drop(own);
    // A client that holds its share may wait for ever. If its wait counted,
    // nothing would be checked.
    let mut waiting = enter(&admission, 1).await;
    let own = checker().expect("a slot that client 1 cannot have");
    let noticed = || timeout(WAIT / 2, admission.contended());
    assert!(noticed().await.is_err(), "nobody wants it");
    let other = enter(&admission, 2).await;
    assert!(noticed().await.is_ok(), "client 2 does");
    drop(other);
    drop(slot);
    let slot = poll(&mut waiting).await.expect("the slot comes").unwrap();
    drop((slot, own));
    assert_eq!(load(&admission), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn a_check_learns_that_a_client_waits() {
    let admission = Admission::new(1, 64, WAIT);
    let checking = admission.try_enter(client(9)).expect("a free slot");
    let noticed = || timeout(WAIT / 2, admission.contended());
    assert!(noticed().await.is_err(), "nobody waits");
    let (noticed_later, (mut waiting,)) = tokio::join!(noticed(), async {
        tokio::time::sleep(WAIT / 4).await;
        (enter(&admission, 1).await,)
    });
    assert!(noticed_later.is_ok(), "somebody came");
    assert!(noticed().await.is_ok(), "somebody is there");
    drop(checking);
    poll(&mut waiting).await.expect("the slot comes").unwrap();
}
