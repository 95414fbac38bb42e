//! Clients that write to the catalogue of a fleet and read it while parts die, and
//! what they may see.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::Scope;
use std::time::Instant;

use sandpiper_testkit::{Reply, eventually};
use serde_json::{Value, json};

use crate::catalogue::UNREACHABLE;
use crate::client::{Client, word};
use crate::clients::Failures;

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
pub(crate) struct History {
    /// By name, which no two products have in common.
    products: Mutex<BTreeMap<String, Product>>,
    lists: Mutex<Vec<List>>,
    /// Answers that the catalogue cannot be reached.
    refused: AtomicUsize,
    ends: AtomicBool,
}

/// A client of the catalogue.
#[derive(Clone, Copy)]
struct Visitor<'a> {
    history: &'a History,
    client: Client,
    to: SocketAddr,
    failures: &'a Failures,
}

impl History {
    /// Starts the clients, which use these balancers in turns.
    pub(crate) fn start<'scope>(
        &'scope self,
        scope: &'scope Scope<'scope, '_>,
        balancers: &[SocketAddr],
        failures: &'scope Failures,
    ) {
        let visitor = |number: usize| {
            let to = balancers[number % balancers.len()];
            Visitor { history: self, client: Client::new(), to, failures }
        };
        for visitor in (0..WRITERS).map(visitor) {
            scope.spawn(move || visitor.write());
        }
        for visitor in (0..LISTERS).map(visitor) {
            scope.spawn(move || visitor.read());
        }
    }

    fn has_ended(&self) -> bool {
        self.ends.load(Ordering::Relaxed)
    }

    /// Waits until there are more products and more lists.
    pub(crate) fn advances(&self) {
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

    /// Waits until a client reads that the catalogue cannot be reached.
    pub(crate) fn is_refused(&self) {
        let before = self.refusals();
        eventually("a client is refused", || self.refusals() > before);
    }

    /// Returns how often a client has read that the catalogue cannot be reached.
    pub(crate) fn refusals(&self) -> usize {
        self.refused.load(Ordering::Relaxed)
    }

    pub(crate) fn end(&self) {
        self.ends.store(true, Ordering::Relaxed);
    }

    /// Fails if what they saw is not what one catalogue shows, whose products are
    /// these at last.
    pub(crate) fn check(self, to: SocketAddr) {
        let failures = Failures::default();
        let visitor = Visitor {
            history: &self,
            client: Client::new(),
            to,
            failures: &failures,
        };
        let last = visitor.list().expect("all is up again");
        let products = self.products.into_inner().unwrap();
        let lists = self.lists.into_inner().unwrap();
        println!(
            "{} products, {} lists, {} refusals",
            products.len(),
            lists.len(),
            self.refused.into_inner()
        );
        for list in &lists {
            assert_is_a_state(list, &products);
        }
        assert_all_is_kept(&last, &products);
    }
}

impl Visitor<'_> {
    /// Creates products, and deletes every third of them.
    fn write(self) {
        while !self.history.has_ended() {
            let name = word();
            let mut product = self.create(&name);
            if let Some(id) = product.id.filter(|id| id % 3 == 0) {
                product.deleted = Some(self.delete(id));
            }
            self.history.products.lock().unwrap().insert(name, product);
        }
    }

    fn read(self) {
        while !self.history.has_ended() {
            let begun = Instant::now();
            if let Some(products) = self.list() {
                let done = Instant::now();
                let list = List { begun, done, products };
                self.history.lists.lock().unwrap().push(list);
            }
        }
    }

    /// Asks the service. Returns no answer if the connection is cut, or if the
    /// answer is that the catalogue cannot be reached.
    fn ask(self, head: &str, body: &str) -> Option<Reply> {
        let begun = Instant::now();
        let reply = self.failures.send(self.client, self.to, head, body)?;
        if reply.status == 503 {
            reply.assert_failure(503, UNREACHABLE);
            assert_eq!(reply.header("retry-after"), Some("1"));
            self.history.refused.fetch_add(1, Ordering::Relaxed);
            self.failures.add(self.to, begun, UNREACHABLE);
            return None;
        }
        Some(reply)
    }

    fn create(self, name: &str) -> Product {
        let begun = Instant::now();
        let body = json!({"name": name, "price": 1}).to_string();
        let reply = self.ask("POST /products", &body);
        let id = reply.map(|reply| {
            assert_eq!(reply.status, 201, "{reply:?}");
            let product = reply.json();
            assert_eq!(product["name"], name);
            product["id"].as_u64().unwrap()
        });
        let done = id.map(|_| Instant::now());
        Product { id, created: Change { begun, done }, deleted: None }
    }

    fn delete(self, id: u64) -> Change {
        let begun = Instant::now();
        let reply = self.ask(&format!("DELETE /products/{id}"), "");
        let done = reply.map(|reply| {
            assert_eq!(reply.status, 204, "{reply:?}");
            Instant::now()
        });
        Change { begun, done }
    }

    /// Returns the ids of all products by their names.
    fn list(self) -> Option<BTreeMap<String, u64>> {
        let reply = self.ask("GET /products", "")?;
        assert_eq!(reply.status, 200, "{reply:?}");
        let list = reply.json();
        let all = list.as_array().unwrap();
        let count = all.len();
        let named = |it: &Value| {
            let name = it["name"].as_str().unwrap().to_owned();
            (name, it["id"].as_u64().unwrap())
        };
        let products: BTreeMap<String, u64> = all.iter().map(named).collect();
        assert_eq!(products.len(), count, "a product is there twice");
        Some(products)
    }
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
