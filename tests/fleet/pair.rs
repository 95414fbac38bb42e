//! Two nodes that share a catalogue, without a balancer.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};

use sandpiper_testkit::{Reply, Server, eventually};
use serde_json::{Value, json};

use crate::valkey::Valkey;

/// Two nodes that share a catalogue.
pub(crate) struct Pair {
    pub(crate) nodes: [Server; 2],
    pub(crate) valkey: Valkey,
}

impl Pair {
    /// Starts two nodes with these flags. The catalogue may be `kept` on disk.
    pub(crate) fn start(kept: bool, flags: &[&str]) -> Self {
        let valkey = Valkey::start(kept);
        let url = format!("--shared-products={}", valkey.url());
        let proxy = ["--trusted-proxy=127.0.0.1", "--request-id-from-proxy"];
        let flags = [flags, &proxy, &[&url]].concat();
        let nodes = [Server::with(&flags), Server::with(&flags)];
        let pair = Self { nodes, valkey };
        pair.wait();
        pair
    }

    /// Waits until both nodes reach the catalogue.
    pub(crate) fn wait(&self) {
        eventually("the nodes reach the catalogue", || {
            let mut nodes = self.nodes.iter();
            nodes.all(|node| node.ask("GET", "/products/0").status == 404)
        });
    }

    /// Sends a request, and again under the same id while the catalogue is too
    /// slow for it, as on a busy machine.
    pub(crate) fn send(
        &self,
        node: usize,
        method: &str,
        target: &str,
        body: &str,
    ) -> Reply {
        static NEXT: AtomicUsize = AtomicUsize::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let id = format!("request-of-test-{number}");
        self.send_as(&id, node, method, target, body)
    }

    /// Sends a request with this id like [`Self::send`].
    pub(crate) fn send_as(
        &self,
        id: &str,
        node: usize,
        method: &str,
        target: &str,
        body: &str,
    ) -> Reply {
        let id = format!("Sandpiper-Request: {id}");
        let mut answer = None;
        eventually("the catalogue is reached", || {
            let reply = self.nodes[node].send(method, target, &[&id], body);
            answer = Some(reply).filter(|reply| reply.status != 503);
            answer.is_some()
        });
        answer.unwrap()
    }

    pub(crate) fn create(&self, node: usize, name: &str) -> Reply {
        let body = json!({ "name": name }).to_string();
        self.send(node, "POST", "/products", &body)
    }

    /// Returns all products by id, as this node lists them.
    pub(crate) fn list(&self, node: usize) -> BTreeMap<i64, Value> {
        let reply = self.send(node, "GET", "/products", "");
        assert_eq!(reply.status, 200, "{reply:?}");
        by_id(&reply)
    }
}

fn by_id(list: &Reply) -> BTreeMap<i64, Value> {
    let list = list.json();
    let products = list.as_array().unwrap();
    let found: BTreeMap<i64, Value> =
        products.iter().map(|it| (id(it), it.clone())).collect();
    assert_eq!(found.len(), products.len(), "{list}");
    found
}

pub(crate) fn id(product: &Value) -> i64 {
    product["id"].as_i64().unwrap()
}
