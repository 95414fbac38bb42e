//! A shared limit whose Valkey cannot be reached: this server's own decides.

use std::net::TcpListener;

use super::*;

/// A server's limiter, of a limit in a minute, with these Valkeys.
pub(super) fn shared(limit: u32, urls: &[&str]) -> SharedLimiter {
    let within = Duration::from_secs(60);
    let urls = urls.iter().map(|url| url.parse().unwrap()).collect();
    SharedLimiter::start(limiter(limit), urls, within, Shared::default())
}

/// An id that no other request has.
pub(super) fn id() -> IdempotencyKey {
    IdempotencyKey::Own(rand::random())
}

/// The requests that are left after a request, or `None` if it was refused.
pub(super) async fn left(
    shared: &SharedLimiter,
    client: IpAddr,
) -> Option<u32> {
    left_of(shared, client, &id()).await
}

pub(super) async fn left_of(
    shared: &SharedLimiter,
    client: IpAddr,
    id: &IdempotencyKey,
) -> Option<u32> {
    match shared.admit(client, id).await.unwrap() {
        Verdict::Admitted(quota) => Some(quota.remaining),
        Verdict::Refused(_) => None,
    }
}

async fn check_own(shared: &SharedLimiter) {
    let one = client("192.0.2.1");
    assert_eq!(shared.quota(one).await.unwrap().remaining, 2);
    let again = id();
    assert_eq!(left_of(shared, one, &again).await, Some(1));
    assert_eq!(left_of(shared, one, &again).await, Some(0));
    assert_eq!(left(shared, one).await, None);
    assert_eq!(left(shared, client("192.0.2.2")).await, Some(1));
    assert_eq!(shared.quota(one).await.unwrap().remaining, 0);
    assert!(!shared.limits.state().is_up);
}

#[tokio::test]
async fn a_valkey_that_is_not_there() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    check_own(&shared(2, &[&format!("valkey://{address}")])).await;
}

#[tokio::test]
async fn a_valkey_that_never_answers() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = silent.local_addr().unwrap();
    check_own(&shared(2, &[&format!("valkey://{address}")])).await;
}

#[tokio::test]
async fn a_client_without_a_limit_is_not_asked_about() {
    let shared = shared(0, &["valkey://127.0.0.1:1"]);
    let one = client("192.0.2.1");
    assert_eq!(shared.admit(one, &id()).await, None);
    assert_eq!(shared.quota(one).await, None);
}
