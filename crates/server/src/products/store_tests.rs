//! The store against a model, under concurrency, and at its bound.

use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt;
use proptest::prelude::*;
use proptest::test_runner::TestCaseResult;

use super::super::ProductFields;
use super::*;

fn store(capacity: u64) -> Store {
    Store::new(capacity, AnswerMemory::new(u64::MAX))
}

fn product(name: &str, price: f64) -> ProductFields {
    ProductFields { name: name.to_owned(), price }
}

fn text(id: i64, name: &str, price: f64) -> String {
    serde_json::json!({ "id": id, "name": name, "price": price }).to_string()
}

/// Does what a request asks for. An answer without a text is empty.
async fn execute(store: &Store, action: Action) -> Result<Bytes> {
    Ok(store.execute(action).await?.unwrap_or_default())
}

async fn create(store: &Store, fields: &ProductFields) -> Result<Bytes> {
    execute(store, Action::Create(fields.clone())).await
}

async fn get(store: &Store, id: i64) -> Result<Bytes> {
    execute(store, Action::Get(id)).await
}

async fn replace(
    store: &Store,
    id: i64,
    fields: &ProductFields,
) -> Result<Bytes> {
    execute(store, Action::Replace(id, fields.clone())).await
}

async fn remove(store: &Store, id: i64) -> Result<()> {
    let answer = store.execute(Action::Remove(id)).await?;
    assert_eq!(answer, None);
    Ok(())
}

async fn list(store: &Store) -> Bytes {
    execute(store, Action::List).await.unwrap()
}

async fn listed(store: &Store) -> Vec<serde_json::Value> {
    serde_json::from_slice(&list(store).await).unwrap()
}

#[tokio::test]
async fn a_product_is_created_read_replaced_and_removed() {
    let store = store(1 << 20);
    assert_eq!(list(&store).await, "[]");
    let json = create(&store, &product("a \"b\"", 9.99)).await.unwrap();
    assert_eq!(json, r#"{"id":1,"name":"a \"b\"","price":9.99}"#);
    assert_eq!(get(&store, 1).await.unwrap(), json);
    let json = replace(&store, 1, &product("", -0.0)).await.unwrap();
    assert_eq!(json, r#"{"id":1,"name":"","price":0}"#);
    assert_eq!(list(&store).await, r#"[{"id":1,"name":"","price":0}]"#);
    assert_eq!(remove(&store, 1).await, Ok(()));
    let missing = Err(ProductError::NotFound);
    assert_eq!(remove(&store, 1).await, Err(ProductError::NotFound));
    assert_eq!(get(&store, 1).await, missing);
    assert_eq!(replace(&store, 1, &product("a", 1.0)).await, missing);
    assert_eq!(list(&store).await, "[]");
    assert_eq!(store.size().await.1, 0);
    let next = create(&store, &product("b", 1.0)).await.unwrap();
    assert!(next.starts_with(b"{\"id\":2,"));
}

#[tokio::test]
async fn texts_are_put_and_removed() {
    let store = store(1_000);
    let put = async |id: i64, text: Option<&'static [u8]>| {
        let text = text.map(Bytes::from_static);
        let mut rows = store.rows.lock().await;
        rows.put(id, text, store.capacity)
    };
    assert_eq!(put(7, Some(&[b'x'; 500])).await, Err(ProductError::Full));
    put(7, Some(b"seven")).await.unwrap();
    put(3, Some(b"three")).await.unwrap();
    put(7, Some(b"7")).await.unwrap();
    assert_eq!(list(&store).await, "[three,7]");
    put(3, None).await.unwrap();
    put(4, None).await.unwrap();
    assert_eq!(list(&store).await, "[7]");
    put(7, None).await.unwrap();
    assert_eq!(list(&store).await, "[]");
    assert_eq!(store.size().await, (0, 0));
}

#[tokio::test]
async fn a_full_store_changes_nothing_and_uses_no_id() {
    let store = store(2_000);
    let mut stored = 0;
    while create(&store, &product("name", 1.0)).await.is_ok() {
        stored += 1;
    }
    assert!(stored > 0);
    let before = list(&store).await;
    let long = product(&"x".repeat(5_000), 1.0);
    assert_eq!(replace(&store, 1, &long).await, Err(ProductError::Full));
    assert_eq!(list(&store).await, before);
    assert!(replace(&store, 1, &product("n", 2.0)).await.is_ok());
    assert_eq!(remove(&store, 1).await, Ok(()));
    let next = create(&store, &product("n", 1.0)).await.unwrap();
    assert_eq!(next, text(stored + 1, "n", 1.0).replace("1.0", "1"));
}

#[tokio::test]
async fn the_list_is_made_once_for_each_change() {
    let memory = AnswerMemory::new(u64::MAX);
    let store = Store::new(1 << 20, memory.clone());
    // No text is large but that of the list.
    let large = product(&"x".repeat(3_000), 1.0);
    create(&store, &large).await.unwrap();
    create(&store, &large).await.unwrap();
    let [before, same] = [list(&store).await, list(&store).await];
    assert_eq!(memory.held(), before.len() as u64);
    drop(same);
    create(&store, &large).await.unwrap();
    assert_eq!(listed(&store).await.len(), 3);
    // A client that still reads the list before has it as it was.
    let old: Vec<serde_json::Value> = serde_json::from_slice(&before).unwrap();
    assert_eq!(old.len(), 2);
    assert_eq!(memory.held(), (before.len() + list(&store).await.len()) as u64);
    drop(before);
    remove(&store, 1).await.unwrap();
    assert_eq!(memory.held(), 0);
}

#[tokio::test]
async fn lists_share_and_others_wait_for_one() {
    let store = store(8 << 20);
    let part = product(&"x".repeat(4_000), 1.0);
    for _ in 0..2 * TURN_BYTES / 4_000 {
        create(&store, &part).await.unwrap();
    }
    let mut first = pin!(list(&store));
    assert!(first.as_mut().now_or_never().is_none(), "it is being made");
    // A change waits for that list, which does not have it. Those who ask
    // meanwhile share the next one.
    let mut removed = pin!(remove(&store, 1));
    assert!(removed.as_mut().now_or_never().is_none());
    let (mut second, mut third) = (pin!(list(&store)), pin!(list(&store)));
    for list in [&mut second, &mut third] {
        assert!(list.as_mut().now_or_never().is_none());
    }
    assert!(first.await.starts_with(b"[{\"id\":1,"));
    removed.await.unwrap();
    let (second, third) = tokio::join!(second, third);
    assert!(second.starts_with(b"[{\"id\":2,"));
    assert_eq!(second.as_ptr(), third.as_ptr());
}

#[tokio::test]
async fn no_list_is_made_beyond_the_limit_of_memory() {
    let part = product(&"x".repeat(3_000), 1.0);
    let store = Store::new(1 << 20, AnswerMemory::new(5_000));
    for _ in 0..2 {
        create(&store, &part).await.unwrap();
    }
    let slow = execute(&store, Action::List).await.unwrap();
    // No other has to be made.
    assert_eq!(execute(&store, Action::List).await, Ok(slow.clone()));
    create(&store, &part).await.unwrap();
    assert_eq!(
        execute(&store, Action::List).await,
        Err(ProductError::AnswerMemoryFull)
    );
    drop(slow);
    assert!(execute(&store, Action::List).await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writers_at_once_get_every_id_once() {
    const WRITERS: i64 = 64;
    const EACH: i64 = 50;
    let store = Arc::new(store(64 << 20));
    let write = async |store: Arc<Store>| {
        let mut ids = Vec::new();
        for _ in 0..EACH {
            let json = create(&store, &product("a", 1.0)).await.unwrap();
            let json: serde_json::Value =
                serde_json::from_slice(&json).unwrap();
            ids.push(json["id"].as_i64().unwrap());
            assert!(list(&store).await.len() >= 3);
        }
        assert!(ids.is_sorted());
        ids
    };
    let writers = (0..WRITERS).map(|_| tokio::spawn(write(Arc::clone(&store))));
    let mut ids = Vec::new();
    for one in writers.collect::<Vec<_>>() {
        ids.extend(one.await.unwrap());
    }
    ids.sort_unstable();
    assert_eq!(ids, (1..=WRITERS * EACH).collect::<Vec<_>>());
    let listed: Vec<i64> = listed(&store)
        .await
        .iter()
        .map(|product| product["id"].as_i64().unwrap())
        .collect();
    assert_eq!(listed, ids);
}

#[derive(Clone, Debug)]
enum Step {
    Create(String, f64),
    Replace(i64, String, f64),
    Remove(i64),
    List,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let name =
        prop_oneof!["[a-z]{0,8}", Just("x".repeat(4_096)), "\\PC{0,20}",];
    let price = prop_oneof![Just(0.0), -1e6..1e6];
    let step = prop_oneof![
        4 => (name.clone(), price.clone())
            .prop_map(|(name, price)| Step::Create(name, price)),
        2 => (-1..300_i64, name, price)
            .prop_map(|(id, name, price)| Step::Replace(id, name, price)),
        2 => (-1..300_i64).prop_map(Step::Remove),
        1 => Just(Step::List),
    ];
    proptest::collection::vec(step, 0..600)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn the_store_does_what_a_map_does(steps in steps()) {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        runtime.unwrap().block_on(does_what_a_map_does(steps))?;
    }
}

async fn does_what_a_map_does(steps: Vec<Step>) -> TestCaseResult {
    let store = store(u64::MAX);
    let mut model = BTreeMap::new();
    let mut next_id = 1;
    for step in steps {
        match step {
            Step::Create(name, price) => {
                create(&store, &product(&name, price)).await.unwrap();
                model.insert(next_id, (name, price));
                next_id += 1;
            }
            Step::Replace(id, name, price) => {
                let replaced =
                    replace(&store, id, &product(&name, price)).await;
                prop_assert_eq!(replaced.is_ok(), model.contains_key(&id));
                if replaced.is_ok() {
                    model.insert(id, (name, price));
                }
            }
            Step::Remove(id) => {
                prop_assert_eq!(
                    remove(&store, id).await.is_ok(),
                    model.remove(&id).is_some()
                );
            }
            Step::List => {
                prop_assert_eq!(listed(&store).await.len(), model.len());
            }
        }
    }
    let found = listed(&store).await;
    prop_assert_eq!(found.len(), model.len());
    for (found, (id, (name, price))) in found.iter().zip(&model) {
        prop_assert_eq!(found["id"].as_i64(), Some(*id));
        prop_assert_eq!(found["name"].as_str(), Some(name.as_str()));
        prop_assert_eq!(found["price"].as_f64(), Some(*price));
        let one: serde_json::Value =
            serde_json::from_slice(&get(&store, *id).await.unwrap()).unwrap();
        prop_assert_eq!(&one, found);
    }
    for id in model.into_keys() {
        prop_assert_eq!(remove(&store, id).await, Ok(()));
    }
    prop_assert_eq!(store.size().await.1, 0);
    Ok(())
}

#[test]
fn a_shared_catalogue_is_full_at_the_same_size() {
    let lua = include_str!("../../../shared/src/catalogue.lua");
    let line = format!("\nlocal PRODUCT_BYTES = {PRODUCT_BYTES}\n");
    assert!(lua.contains(&line), "{line}");
}
