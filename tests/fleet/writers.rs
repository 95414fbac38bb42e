//! Clients write to the catalogue of a fleet and read it while parts are killed.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use sandpiper_testkit::{Reply, eventually};
use serde_json::{Value, json};

use crate::Test;
use crate::client::{Client, word};
use crate::fleet::{Fleet, Setup};

pub(crate) const TESTS: &[(&str, Test)] =
    &[("killed/each-part-under-writes", each_part)];

const WRITERS: usize = 12;
const LISTERS: usize = 3;

/// A change of the catalogue, from before it was asked for to its answer.
#[derive(Clone, Copy, Debug)]
struct Change {
    begun: Instant,
    /// Nothing if it is not known whether it was made.
    done: Option<Instant>,
}

/// A product that a client wanted.
#[derive(Clone, Debug)]
struct Product {
    id: Option<u64>,
    created: Change,
    deleted: Option<Change>,
}

/// A list, and the time between its request and its answer.
struct List {
    begun: Instant,
    done: Instant,
    products: BTreeMap<String, u64>,
}

/// All that clients saw.
#[derive(Default)]
struct History {
    /// By name, which no two products have in common.
    products: Mutex<BTreeMap<String, Product>>,
    lists: Mutex<Vec<List>>,
    ends: AtomicBool,
}

impl History {
    fn goes_on(&self) -> bool {
        !self.ends.load(Ordering::Relaxed)
    }

    /// Creates products, and deletes every third of them.
    fn write(&self, to: SocketAddr) {
        let client = Client::new();
        while self.goes_on() {
            let name = word();
            let mut product = create(client, to, &name);
            if let Some(id) = product.id.filter(|id| id % 3 == 0) {
                product.deleted = Some(delete(client, to, id));
            }
            self.products.lock().unwrap().insert(name, product);
        }
    }

    fn list(&self, to: SocketAddr) {
        let client = Client::new();
        while self.goes_on() {
            let begun = Instant::now();
            if let Some(products) = list(client, to) {
                let done = Instant::now();
                let list = List { begun, done, products };
                self.lists.lock().unwrap().push(list);
            }
        }
    }

    /// Waits until there are more products and more lists.
    fn advances(&self) {
        let count = || {
            let products = self.products.lock().unwrap();
            let made = products.values().filter(|it| it.id.is_some()).count();
            (made, self.lists.lock().unwrap().len())
        };
        let before = count();
        eventually("there are more products and lists", || {
            let now = count();
            now.0 >= before.0 + WRITERS && now.1 >= before.1 + LISTERS
        });
    }
}

/// Asks the service. Returns no answer if the balancer is dead, or if the answer
/// is that the catalogue cannot be reached.
fn ask(
    client: Client,
    to: SocketAddr,
    head: &str,
    body: &str,
) -> Option<Reply> {
    let reply = client.try_send(to, head, &[], body).ok()?;
    if reply.status == 503 {
        reply.assert_failure_about(503, &[]);
        assert!(reply.header("retry-after").is_some(), "{reply:?}");
        return None;
    }
    Some(reply)
}

fn create(client: Client, to: SocketAddr, name: &str) -> Product {
    let begun = Instant::now();
    let body = json!({"name": name, "price": 1}).to_string();
    let reply = ask(client, to, "POST /products", &body);
    let id = reply.map(|reply| {
        assert_eq!(reply.status, 201, "{reply:?}");
        let product = reply.json();
        assert_eq!(product["name"], name);
        product["id"].as_u64().unwrap()
    });
    let done = id.map(|_| Instant::now());
    Product { id, created: Change { begun, done }, deleted: None }
}

fn delete(client: Client, to: SocketAddr, id: u64) -> Change {
    let begun = Instant::now();
    let reply = ask(client, to, &format!("DELETE /products/{id}"), "");
    let done = reply.map(|reply| {
        assert_eq!(reply.status, 204, "{reply:?}");
        Instant::now()
    });
    Change { begun, done }
}

/// Returns the ids of all products by their names.
fn list(client: Client, to: SocketAddr) -> Option<BTreeMap<String, u64>> {
    let reply = ask(client, to, "GET /products", "")?;
    assert_eq!(reply.status, 200, "{reply:?}");
    let list = reply.json();
    let all = list.as_array().unwrap();
    let count = all.len();
    let named = |it: &Value| {
        (it["name"].as_str().unwrap().to_owned(), it["id"].as_u64().unwrap())
    };
    let products: BTreeMap<String, u64> = all.iter().map(named).collect();
    assert_eq!(products.len(), count, "a product is there twice");
    Some(products)
}

fn each_part() {
    let mut fleet = Fleet::start(Setup {
        products: Some(true),
        balancers: 2,
        ..Setup::default()
    });
    let balancers: Vec<_> =
        fleet.balancers.iter().map(|it| it.address).collect();
    let history = History::default();
    std::thread::scope(|scope| {
        for number in 0..WRITERS {
            let to = balancers[number % 2];
            let history = &history;
            scope.spawn(move || history.write(to));
        }
        for number in 0..LISTERS {
            let to = balancers[number % 2];
            let history = &history;
            scope.spawn(move || history.list(to));
        }
        let done =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                kill_each(&mut fleet, &history)
            }));
        history.ends.store(true, Ordering::Relaxed);
        done.unwrap_or_else(|it| std::panic::resume_unwind(it));
    });
    let last = list(Client::new(), balancers[0]).expect("all is up again");
    let products = history.products.into_inner().unwrap();
    let lists = history.lists.into_inner().unwrap();
    println!("{} products, {} lists", products.len(), lists.len());
    for list in &lists {
        assert_is_a_state(list, &products);
    }
    assert_all_is_kept(&last, &products);
}

fn kill_each(fleet: &mut Fleet, history: &History) {
    history.advances();
    for round in 0..3 {
        fleet.products.as_mut().unwrap().kill();
        fleet.products.as_mut().unwrap().restart();
        history.advances();
        fleet.nodes[round].kill();
        history.advances();
        fleet.nodes[round].restart();
        fleet.wait_until(round, true);
        history.advances();
    }
    fleet.balancers[1].kill();
    history.advances();
    fleet.balancers[1].restart();
    history.advances();
}

/// A list is the catalogue at one moment between its request and its answer.
fn assert_is_a_state(list: &List, products: &BTreeMap<String, Product>) {
    for (name, product) in products {
        let shown = list.products.get(name);
        let before = |it: Option<Instant>| it.is_some_and(|it| it < list.begun);
        let deleted = product.deleted;
        if before(product.created.done)
            && deleted.is_none_or(|it| it.begun > list.done)
        {
            assert_eq!(shown, product.id.as_ref(), "{name} was created");
        }
        if product.created.begun > list.done
            || before(deleted.and_then(|it| it.done))
        {
            assert_eq!(shown, None, "{name}: {product:?}");
        }
    }
}

/// Ids are dense and never given twice, and the catalogue has each product whose
/// answer was read.
fn assert_all_is_kept(
    last: &BTreeMap<String, u64>,
    products: &BTreeMap<String, Product>,
) {
    let mut ids = BTreeSet::new();
    for (name, product) in products {
        let stored = last.get(name).copied();
        let is_deleted = product.deleted.is_some_and(|it| it.done.is_some());
        match (product.id, product.deleted) {
            (Some(id), None) => assert_eq!(stored, Some(id), "{name} is lost"),
            (Some(_), _) if is_deleted => assert_eq!(stored, None, "{name}"),
            _ => {}
        }
        // A product may be there although its answer was not read.
        if let Some(id) = product.id.or(stored) {
            assert!(ids.insert(id), "{id} was given twice");
        }
    }
    let unknown = last.keys().find(|name| !products.contains_key(*name));
    assert_eq!(unknown, None);
    assert_eq!(ids.last(), Some(&(ids.len() as u64)), "an id is missing");
}
