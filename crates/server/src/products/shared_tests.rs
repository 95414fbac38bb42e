//! Shared products with a real Valkey.

use std::sync::Arc;

use sandpiper_testkit::Valkey;
use tokio::time::timeout;

use crate::http::AnswerMemory;

use super::super::ProductFields;
use super::*;

const PATIENCE: Duration = Duration::from_secs(60);

/// A catalogue that always has one more batch.
const ENDLESS: &str = "#!lua name=sandpiper_catalogue3
server.register_function('sp3_catalogue_open', function() return '1' end)
server.register_function('sp3_changes', function()
  return { '1', '1', '1', 1, 0 }
end)
";

/// A node of `capacity` bytes.
async fn node(valkey: &Valkey, capacity: u64) -> (SharedCatalogue, Store) {
    let url = valkey.url("").parse().unwrap();
    let catalogue = Catalogue::start(url, Arc::new(|_, _| {}));
    timeout(PATIENCE, catalogue.link().until_up()).await.unwrap();
    let mirror = Store::new(capacity, AnswerMemory::new(u64::MAX));
    (SharedCatalogue::new(catalogue), mirror)
}

#[tokio::test]
#[ignore = "needs Valkey"]
async fn a_catalogue_beyond_the_capacity_stays_in_valkey() {
    let valkey = Valkey::start(&[]);
    let (large, large_mirror) = node(&valkey, 10_000).await;
    let (small, small_mirror) = node(&valkey, 1_000).await;
    let fields = ProductFields { name: "n".to_owned(), price: 1.0 };
    for request in 0..20 {
        let create = Action::Create(fields.clone());
        let request = request.to_string();
        large.execute(&large_mirror, &request, create).await.unwrap();
    }
    assert!(large.list(&large_mirror, PATIENCE).await.is_ok());
    let list = small.list(&small_mirror, PATIENCE).await;
    assert_eq!(list, Err(ProductError::Foreign));
    assert!(small_mirror.size().await.1 <= 2_000);
}

#[tokio::test]
#[ignore = "needs Valkey"]
async fn a_list_ends_in_time() {
    let valkey = Valkey::start(&[]);
    let (store, mirror) = node(&valkey, u64::MAX).await;
    let loaded = valkey.cli(&["FUNCTION", "LOAD", "REPLACE", ENDLESS]);
    assert_eq!(loaded, "sandpiper_catalogue3\n");
    for _ in 0..2 {
        let list = store.list(&mirror, Duration::from_millis(200));
        let list = timeout(PATIENCE, list).await.unwrap();
        assert_eq!(list, Err(ProductError::Unreachable));
    }
    // It got batches.
    assert_ne!(store.progress.lock().await.cursor, Cursor::default());
}
