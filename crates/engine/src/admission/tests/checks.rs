//! Who takes a slot only where nobody wants it.

use tokio::time::timeout;

use super::{WAIT, client, enter, poll, take};
use crate::admission::Admission;

#[tokio::test(start_paused = true)]
async fn who_only_checks_takes_what_nobody_wants() {
    let admission = Admission::new(2, 64, WAIT);
    let checker = || admission.try_enter(client(9));
    let own = checker().expect("a free slot");
    assert!(checker().is_none(), "its share is used up");
    let slot = take(&admission, 1).await;
    assert!(checker().is_none(), "no slot is free");
    drop(own);
    // Its client has its share and waits: else it could do so for ever, and
    // nothing would be checked.
    let mut waiting = enter(&admission, 1).await;
    let own = checker().expect("a slot that client 1 cannot have");
    let told = || timeout(WAIT / 2, admission.contended());
    assert!(told().await.is_err(), "nobody wants it");
    let other = enter(&admission, 2).await;
    assert!(told().await.is_ok(), "client 2 does");
    drop(other);
    drop(slot);
    let slot = poll(&mut waiting).await.expect("the slot comes").unwrap();
    drop((slot, own));
    assert_eq!((admission.running(), admission.waiting()), (0, 0));
}

#[tokio::test(start_paused = true)]
async fn who_only_checks_is_told_that_somebody_waits() {
    let admission = Admission::new(1, 64, WAIT);
    let checking = admission.try_enter(client(9)).expect("a free slot");
    let told = || timeout(WAIT / 2, admission.contended());
    assert!(told().await.is_err(), "nobody waits");
    let (told_later, (mut waiting,)) = tokio::join!(told(), async {
        tokio::time::sleep(WAIT / 4).await;
        (enter(&admission, 1).await,)
    });
    assert!(told_later.is_ok(), "somebody came");
    assert!(told().await.is_ok(), "somebody is there");
    drop(checking);
    poll(&mut waiting).await.expect("the slot comes").unwrap();
}
