//! Shared products with a real Valkey.

use std::sync::Arc;

use sandpiper_testkit::Valkey;
use tokio::time::timeout;

use super::*;

const PATIENCE: Duration = Duration::from_secs(60);

/// A catalogue that always has one more batch.
const ENDLESS: &str = "#!lua name=sandpiper_catalogue2
server.register_function('sp2_catalogue_open', function() return '1' end)
server.register_function('sp2_changes', function()
  return { '1', '1', '1', 1, 0 }
end)
";

#[tokio::test]
#[ignore = "needs Valkey"]
async fn a_list_ends_in_time() {
    let valkey = Valkey::start(&[]);
    let url = valkey.url("").parse().unwrap();
    let catalogue = shared::Catalogue::start(url, Arc::new(|_, _| {}));
    timeout(PATIENCE, catalogue.link().until_up()).await.unwrap();
    let memory = AnswerMemory::new(u64::MAX);
    let store = SharedStore {
        list_timeout: Duration::from_millis(200),
        ..SharedStore::new(catalogue, u64::MAX, memory)
    };
    let loaded = valkey.cli(&["FUNCTION", "LOAD", "REPLACE", ENDLESS]);
    assert_eq!(loaded, "sandpiper_catalogue2\n");
    for _ in 0..2 {
        let list = timeout(PATIENCE, store.list()).await.unwrap();
        assert_eq!(list, Err(CatalogueError::Unreachable));
    }
    // It got batches.
    assert_ne!(store.progress.lock().await.cursor, Cursor::default());
}
