//! The store against a model, under concurrency, and at its bound.

use std::pin::pin;
use std::sync::Arc;

use futures_util::FutureExt;
use proptest::prelude::*;
use tokio::sync::Mutex;

use super::*;

fn store(capacity: u64) -> Mutex<Store> {
    counting(capacity, AnswerMemory::new(u64::MAX))
}

fn counting(capacity: u64, memory: AnswerMemory) -> Mutex<Store> {
    Mutex::new(Store::new(capacity, memory))
}

fn product(name: &str, price: f64) -> ProductFields {
    ProductFields { name: name.to_owned(), price }
}

fn text(id: i64, name: &str, price: f64) -> String {
    serde_json::json!({ "id": id, "name": name, "price": price }).to_string()
}

async fn list(store: &Mutex<Store>) -> Bytes {
    store.lock().await.list().await.unwrap()
}

async fn listed(store: &Mutex<Store>) -> Vec<serde_json::Value> {
    serde_json::from_slice(&list(store).await).unwrap()
}

#[tokio::test]
async fn a_product_is_created_read_replaced_and_removed() {
    let store = store(1 << 20);
    assert_eq!(list(&store).await, "[]");
    let json = store.lock().await.create(&product("a \"b\"", 9.99)).unwrap();
    assert_eq!(json, r#"{"id":1,"name":"a \"b\"","price":9.99}"#);
    assert_eq!(store.lock().await.get(1).unwrap(), json);
    let json = store.lock().await.replace(1, &product("", -0.0)).unwrap();
    assert_eq!(json, r#"{"id":1,"name":"","price":0}"#);
    assert_eq!(list(&store).await, r#"[{"id":1,"name":"","price":0}]"#);
    assert_eq!(store.lock().await.remove(1), Ok(()));
    let missing = Err(ProductError::NotFound);
    assert_eq!(store.lock().await.remove(1), Err(ProductError::NotFound));
    assert_eq!(store.lock().await.get(1), missing);
    assert_eq!(store.lock().await.replace(1, &product("a", 1.0)), missing);
    assert_eq!(list(&store).await, "[]");
    assert_eq!(store.lock().await.size().1, 0);
    let next = store.lock().await.create(&product("b", 1.0)).unwrap();
    assert!(next.starts_with(b"{\"id\":2,"));
}

#[tokio::test]
async fn texts_are_put_and_all_are_cleared() {
    let store = store(1_000);
    let large = vec![b'x'; 500];
    assert_eq!(store.lock().await.put(7, large), Err(ProductError::Full));
    store.lock().await.put(7, b"seven".to_vec()).unwrap();
    store.lock().await.put(3, b"three".to_vec()).unwrap();
    store.lock().await.put(7, b"7".to_vec()).unwrap();
    assert_eq!(list(&store).await, "[three,7]");
    store.lock().await.clear();
    assert_eq!(list(&store).await, "[]");
    let store = store.lock().await;
    assert_eq!((store.get(7).is_ok(), store.size()), (false, (0, 0)));
}

#[tokio::test]
async fn a_full_store_changes_nothing_and_uses_no_id() {
    let store = store(2_000);
    let mut stored = 0;
    while store.lock().await.create(&product("name", 1.0)).is_ok() {
        stored += 1;
    }
    assert!(stored > 0);
    let before = list(&store).await;
    let long = product(&"x".repeat(5_000), 1.0);
    assert_eq!(store.lock().await.replace(1, &long), Err(ProductError::Full));
    assert_eq!(list(&store).await, before);
    assert!(store.lock().await.replace(1, &product("n", 2.0)).is_ok());
    assert_eq!(store.lock().await.remove(1), Ok(()));
    let next = store.lock().await.create(&product("n", 1.0)).unwrap();
    assert_eq!(next, text(stored + 1, "n", 1.0).replace("1.0", "1"));
}

#[tokio::test]
async fn the_list_is_made_once_for_each_change() {
    let memory = AnswerMemory::new(u64::MAX);
    let store = counting(1 << 20, memory.clone());
    // No text is large but that of the list.
    let large = product(&"x".repeat(3_000), 1.0);
    store.lock().await.create(&large).unwrap();
    store.lock().await.create(&large).unwrap();
    let [before, same] = [list(&store).await, list(&store).await];
    assert_eq!(memory.held(), before.len() as u64);
    drop(same);
    store.lock().await.create(&large).unwrap();
    assert_eq!(listed(&store).await.len(), 3);
    // A client that still reads the list before has it as it was.
    let old: Vec<serde_json::Value> = serde_json::from_slice(&before).unwrap();
    assert_eq!(old.len(), 2);
    assert_eq!(memory.held(), (before.len() + list(&store).await.len()) as u64);
    drop(before);
    store.lock().await.remove(1).unwrap();
    assert_eq!(memory.held(), 0);
}

#[tokio::test]
async fn lists_share_and_others_wait_for_one() {
    let store = store(8 << 20);
    let part = product(&"x".repeat(4_000), 1.0);
    for _ in 0..2 * TURN_BYTES / 4_000 {
        store.lock().await.create(&part).unwrap();
    }
    let mut first = pin!(list(&store));
    assert!(first.as_mut().now_or_never().is_none(), "it is being made");
    // A change waits for that list, which does not have it. Those who ask
    // meanwhile share the next one.
    let mut removed = pin!(async { store.lock().await.remove(1) });
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
    let store = counting(1 << 20, AnswerMemory::new(5_000));
    for _ in 0..2 {
        store.lock().await.create(&part).unwrap();
    }
    let slow = store.lock().await.list().await.unwrap();
    // No other has to be made.
    assert_eq!(store.lock().await.list().await, Ok(slow.clone()));
    store.lock().await.create(&part).unwrap();
    assert_eq!(
        store.lock().await.list().await,
        Err(ProductError::AnswerMemoryFull)
    );
    drop(slow);
    assert!(store.lock().await.list().await.is_ok());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writers_at_once_get_every_id_once() {
    const WRITERS: i64 = 64;
    const EACH: i64 = 50;
    let store = Arc::new(store(64 << 20));
    let write = async |store: Arc<Mutex<Store>>| {
        let mut ids = Vec::new();
        for _ in 0..EACH {
            let json = store.lock().await.create(&product("a", 1.0)).unwrap();
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

async fn does_what_a_map_does(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let store = store(u64::MAX);
    let mut model = BTreeMap::new();
    let mut next_id = 1;
    for step in steps {
        match step {
            Step::Create(name, price) => {
                store.lock().await.create(&product(&name, price)).unwrap();
                model.insert(next_id, (name, price));
                next_id += 1;
            }
            Step::Replace(id, name, price) => {
                let replaced =
                    store.lock().await.replace(id, &product(&name, price));
                prop_assert_eq!(replaced.is_ok(), model.contains_key(&id));
                if replaced.is_ok() {
                    model.insert(id, (name, price));
                }
            }
            Step::Remove(id) => {
                prop_assert_eq!(
                    store.lock().await.remove(id).is_ok(),
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
            serde_json::from_slice(&store.lock().await.get(*id).unwrap())
                .unwrap();
        prop_assert_eq!(&one, found);
    }
    for id in model.into_keys() {
        prop_assert_eq!(store.lock().await.remove(id), Ok(()));
    }
    prop_assert_eq!(store.lock().await.size().1, 0);
    Ok(())
}

#[test]
fn a_shared_catalogue_is_full_at_the_same_size() {
    let lua = include_str!("../../../shared/src/catalogue.lua");
    let line = format!("\nlocal PRODUCT_BYTES = {PRODUCT_BYTES}\n");
    assert!(lua.contains(&line), "{line}");
}
