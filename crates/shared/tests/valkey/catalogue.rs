//! The catalogue in a Valkey whose memory is used up.

use std::sync::Arc;

use sandpiper_shared::{Catalogue, Cursor, Observe, Replaced};
use sandpiper_testkit::Valkey;
use tokio::time::timeout;

use super::PATIENCE;

const CAPACITY: u64 = 1 << 20;
const TEXT: &[u8] = b",\"name\":\"a\"}";

/// A server's view of this catalogue.
async fn catalogue(valkey: &Valkey) -> Catalogue {
    let observe: Observe = Arc::new(|_, _| {});
    let catalogue = Catalogue::start(valkey.url("").parse().unwrap(), observe);
    timeout(PATIENCE, catalogue.link().until_up()).await.unwrap();
    catalogue
}

/// Whoever connects when the memory is used up can remove products, too.
#[tokio::test]
#[ignore = "needs Valkey"]
async fn a_full_valkey_gives_room_back() {
    let valkey = Valkey::start(&[]);
    let before = catalogue(&valkey).await;
    for request in ["a", "b"] {
        let id = before.create(request, CAPACITY, TEXT).await.unwrap();
        assert!(id.is_some());
    }
    assert_eq!(valkey.cli(&["CONFIG", "SET", "maxmemory", "1"]), "OK\n");
    for (node, id) in [(before, 1), (catalogue(&valkey).await, 2)] {
        let created = node.create("c", CAPACITY, TEXT).await;
        assert_eq!(created, Ok(None));
        let replaced = node.replace("d", CAPACITY, id, TEXT).await;
        assert_eq!(replaced, Ok(Replaced::Full));
        assert!(node.get(id).await.unwrap().is_some());
        let changes = node.changes(&Cursor::default()).await.unwrap();
        assert_eq!(changes.products.len(), 2);
        assert_eq!(node.remove("e", id).await, Ok(true));
        assert!(node.link().is_up());
    }
}
