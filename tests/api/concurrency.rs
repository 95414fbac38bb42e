//! Many clients at once.

use std::collections::BTreeSet;

use sandpiper_testkit::Server;

#[test]
fn writers_at_once_get_every_id_once() {
    const WRITERS: usize = 64;
    const EACH: usize = 5;
    let server = Server::start();
    let ids: BTreeSet<u64> = std::thread::scope(|scope| {
        let writers: Vec<_> = (0..WRITERS)
            .map(|writer| {
                let server = &server;
                scope.spawn(move || {
                    let body = format!(r#"{{"name":"w{writer}"}}"#);
                    let ids = (0..EACH).map(|_| {
                        let reply =
                            server.send("POST", "/products", &[], &body);
                        assert_eq!(reply.status, 201);
                        // A refused one in between uses up no id.
                        server.send("POST", "/products", &[], "{}");
                        reply.json()["id"].as_u64().unwrap()
                    });
                    let ids: Vec<u64> = ids.collect();
                    assert!(ids.is_sorted());
                    ids
                })
            })
            .collect();
        writers.into_iter().flat_map(|writer| writer.join().unwrap()).collect()
    });
    let all = (WRITERS * EACH) as u64;
    assert_eq!(ids, (1..=all).collect());
    let list = server.ask("GET", "/products").json();
    let listed: Vec<u64> = list
        .as_array()
        .unwrap()
        .iter()
        .map(|product| product["id"].as_u64().unwrap())
        .collect();
    assert_eq!(listed.len() as u64, all);
    assert_eq!(listed.into_iter().collect::<BTreeSet<_>>(), ids);
}

#[test]
fn readers_and_writers_at_once_see_whole_products() {
    let server = Server::start();
    for _ in 0..4 {
        server.send("POST", "/products", &[], r#"{"name":"aaaa","price":1}"#);
    }
    std::thread::scope(|scope| {
        for writer in 0..4 {
            let server = &server;
            scope.spawn(move || {
                for round in 1..=20_u32 {
                    let name = "b".repeat(round as usize * 100);
                    let body =
                        format!(r#"{{"name":"{name}","price":{round}}}"#);
                    let target = format!("/products/{}", writer + 1);
                    let reply = server.send("PUT", &target, &[], body);
                    assert_eq!(reply.status, 200);
                }
            });
            scope.spawn(move || {
                for _ in 0..20 {
                    let list = server.ask("GET", "/products").json();
                    for product in list.as_array().unwrap() {
                        let name = product["name"].as_str().unwrap();
                        let price = product["price"].as_u64().unwrap();
                        let whole =
                            name == "aaaa" || name.len() as u64 == price * 100;
                        assert!(whole, "{price}: {} bytes", name.len());
                    }
                }
            });
        }
    });
}
