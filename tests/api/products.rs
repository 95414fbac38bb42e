//! The products, row by row: methods, paths, orders of checks and messages.

use sandpiper_testkit::Reply;
use sandpiper_testkit::Server;

const INVALID_ID: &str = "invalid product id";
const INVALID_JSON: &str = "invalid JSON body";
const NOT_FOUND: &str = "product not found";
const NOT_ALLOWED: &str = "method not allowed on /products";
const NOT_ALLOWED_ONE: &str = "method not allowed on /products/{id}";

fn create(server: &Server, body: &str) -> Reply {
    server.send("POST", "/products", &[], body)
}

#[test]
fn products_live_and_end() {
    let server = Server::start();
    server.ask("GET", "/products").assert_json(200, "[]");
    let one = r#"{"id":1,"name":"tea","price":9.99}"#;
    create(&server, r#"{"name":"tea","price":9.99}"#).assert_json(201, one);
    let two = r#"{"id":2,"name":"cup","price":10}"#;
    create(&server, r#"{"id":77,"name":"cup","price":1e1}"#)
        .assert_json(201, two);
    server.ask("GET", "/products/1").assert_json(200, one);
    let list = format!("[{one},{two}]");
    server.ask("GET", "/products").assert_json(200, &list);

    let replaced = r#"{"id":1,"name":"","price":-3.5}"#;
    server
        .send("PUT", "/products/1", &[], r#"{"price":-3.5,"id":9}"#)
        .assert_json(200, replaced);
    server.ask("GET", "/products/1").assert_json(200, replaced);

    let reply = server.ask("DELETE", "/products/1");
    assert_eq!((reply.status, reply.text()), (204, ""));
    assert_eq!(reply.header("content-type"), None);
    assert_eq!(reply.header("content-length"), None);
    for method in ["GET", "DELETE"] {
        server.ask(method, "/products/1").assert_failure(404, NOT_FOUND);
    }
    server.send("PUT", "/products/1", &[], "{}").assert_failure(404, NOT_FOUND);
    server.ask("GET", "/products").assert_json(200, &format!("[{two}]"));

    // Ids are not used again, the last one included.
    assert_eq!(server.ask("DELETE", "/products/2").status, 204);
    create(&server, r#"{"name":"pot"}"#)
        .assert_json(201, r#"{"id":3,"name":"pot","price":0}"#);
}

#[test]
fn a_refused_product_uses_up_no_id() {
    let server = Server::start();
    let message = "name is required and price must be non-negative";
    for body in [
        "{}",
        "null",
        r#"{"name":"","price":1}"#,
        r#"{"price":1}"#,
        r#"{"name":null,"price":1}"#,
        r#"{"name":"a","price":-0.01}"#,
        r#"{"name":"a","price":-1e-300}"#,
        r#"{"Name":"a"}"#,
        r#"{"name":"a","name":""}"#,
    ] {
        create(&server, body).assert_failure(400, message);
    }
    create(&server, "{").assert_failure(400, INVALID_JSON);
    create(&server, r#"{"name":"a","price":-0.0}"#)
        .assert_json(201, r#"{"id":1,"name":"a","price":0}"#);
}

#[test]
fn other_methods_are_refused_on_the_collection() {
    let server = Server::start();
    for method in ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "get", "QUERY"]
    {
        let reply = server.send(method, "/products", &[], "{");
        reply.assert_failure(405, NOT_ALLOWED);
        assert_eq!(reply.header("allow"), Some("GET, POST"));
    }
    let reply = server.ask("HEAD", "/products");
    assert_eq!((reply.status, reply.text()), (405, ""));
    assert_eq!(reply.header("allow"), Some("GET, POST"));
    assert_eq!(reply.header("content-type"), Some("application/json"));
    server.ask("GET", "/products").assert_json(200, "[]");
}

#[test]
fn other_methods_are_refused_on_one_product() {
    let server = Server::start();
    create(&server, r#"{"name":"a"}"#);
    for target in ["/products/1", "/products/2"] {
        for method in ["POST", "PATCH", "OPTIONS", "TRACE", "put"] {
            let reply = server.send(method, target, &[], "{");
            reply.assert_failure(405, NOT_ALLOWED_ONE);
            assert_eq!(reply.header("allow"), Some("GET, PUT, DELETE"));
        }
        assert_eq!(server.ask("HEAD", target).status, 405);
    }
}

#[test]
fn the_id_is_checked_before_the_method() {
    let server = Server::start();
    create(&server, r#"{"name":"a"}"#);
    for segment in [
        "",
        "/",
        "abc",
        "1.0",
        "1a",
        "a1",
        "0x1",
        "1e0",
        "+",
        "-",
        "--1",
        "1/",
        "/1",
        "1/2",
        "./1",
        "1/..",
        "1%2F2",
        "%2F1",
        "%zz",
        "%ff",
        "%",
        "1%",
        "1%00",
        "%201",
        "1%20",
        "1_000",
        "%D9%A1",
        "1;a",
        "*",
        "9223372036854775808",
        "-9223372036854775809",
        "99999999999999999999999999",
    ] {
        let target = format!("/products/{segment}");
        for method in ["GET", "PUT", "DELETE", "POST", "OPTIONS", "PATCH"] {
            server.ask(method, &target).assert_failure(400, INVALID_ID);
        }
        assert_eq!(server.ask("HEAD", &target).status, 400);
    }
}

#[test]
fn ids_are_integers_however_they_are_written() {
    let server = Server::start();
    create(&server, r#"{"name":"a"}"#);
    for target in [
        "/products/1",
        "/products/+1",
        "/products/001",
        "/products/%31",
        "/%70roducts/1",
        "/products%2F1",
        "/products/1?x=2",
        "/products/1?",
        "/products/%2B1",
    ] {
        let reply = server.ask("GET", target);
        assert_eq!(reply.status, 200, "{target}: {reply:?}");
    }
    for target in [
        "/products/0",
        "/products/-1",
        "/products/-5",
        "/products/2",
        "/products/9223372036854775807",
        "/products/-9223372036854775808",
        "/products/-0",
    ] {
        for method in ["GET", "DELETE"] {
            server.ask(method, target).assert_failure(404, NOT_FOUND);
        }
        server.send("PUT", target, &[], "{}").assert_failure(404, NOT_FOUND);
    }
}

#[test]
fn a_target_may_name_another_host() {
    let server = Server::start();
    create(&server, r#"{"name":"a"}"#);
    let reply = server.ask("GET", "http://other.example/products/1");
    assert_eq!(reply.status, 200, "{reply:?}");
}

#[test]
fn a_replacement_is_read_before_it_is_looked_for() {
    let server = Server::start();
    create(&server, r#"{"name":"a","price":1}"#);
    let put = |target: &str, body: &str| server.send("PUT", target, &[], body);
    for body in ["", "{", "[]", r#"{"name":1}"#, r#"{"price":"1"}"#] {
        put("/products/2", body).assert_failure(400, INVALID_JSON);
        put("/products/1", body).assert_failure(400, INVALID_JSON);
    }
    server
        .ask("GET", "/products/1")
        .assert_json(200, r#"{"id":1,"name":"a","price":1}"#);
    let empty = r#"{"id":1,"name":"","price":0}"#;
    put("/products/1", "null").assert_json(200, empty);
    put("/products/1", "{}").assert_json(200, empty);
    put("/products/2", "{}").assert_failure(404, NOT_FOUND);
}

#[test]
fn a_body_is_read_whatever_its_type() {
    let server = Server::start();
    for header in [
        "Content-Type: text/plain",
        "Content-Type: application/x-www-form-urlencoded",
        "Content-Type: nonsense",
        "Content-Type: application/json; charset=latin1",
        "X-None: 1",
    ] {
        let body = r#"{"name":"é","price":1}"#;
        let reply = server.send("POST", "/products", &[header], body);
        assert_eq!(reply.status, 201, "{header}: {reply:?}");
    }
}

#[test]
fn a_full_store_says_so_and_changes_nothing() {
    let server = Server::with(&["--products-memory", "4096"]);
    let mut stored = 0;
    let full = loop {
        let reply = create(&server, r#"{"name":"a","price":1}"#);
        if reply.status != 201 {
            break reply;
        }
        stored += 1;
    };
    full.assert_failure(507, "product store is full");
    assert!(stored > 0);
    let before = server.ask("GET", "/products");
    let long = format!(r#"{{"name":"{}"}}"#, "x".repeat(10_000));
    server
        .send("PUT", "/products/1", &[], &long)
        .assert_failure(507, "product store is full");
    server.ask("GET", "/products").assert_json(200, before.text());
    assert_eq!(server.ask("DELETE", "/products/1").status, 204);
    let next = format!(r#"{{"id":{},"name":"a","price":1}}"#, stored + 1);
    create(&server, r#"{"name":"a","price":1}"#).assert_json(201, &next);
}

#[test]
fn a_body_over_its_limit_is_refused() {
    let server = Server::start();
    let name = "x".repeat(1 << 20);
    let body = format!(r#"{{"name":"{name}"}}"#);
    let message = "the request body must not be larger than 1 MiB";
    create(&server, &body).assert_failure(413, message);
    server.send("PUT", "/products/1", &[], &body).assert_failure(413, message);
    let most = "x".repeat((1 << 20) - r#"{"name":""}"#.len());
    let reply = create(&server, &format!(r#"{{"name":"{most}"}}"#));
    assert_eq!(reply.status, 201);
}
