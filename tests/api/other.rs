//! The other paths, and what holds for all of them.

use super::reply::Reply;
use super::server::{Server, connect};
use std::io::Write;

#[test]
fn unknown_paths_are_not_found_for_every_method() {
    let server = Server::start();
    for target in [
        "/nowhere",
        "/product",
        "/products1",
        "/Products",
        "/api",
        "/api/compile/",
        "/api/v1/execute",
        "/embed/",
        "/embed/nothing",
        "/index.html",
        "//",
        "//products",
        "/./products",
        "/..",
        "/%",
        "/%00",
        "/healthz/",
        "/metrics",
        "/favicon.ico",
    ] {
        for method in ["GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"] {
            server.ask(method, target).assert_failure(404, "not found");
        }
        let reply = server.ask("HEAD", target);
        assert_eq!((reply.status, reply.text()), (404, ""), "{target}");
    }
}

#[test]
fn nothing_redirects() {
    let server = Server::start();
    for target in ["/", "/products/", "/embed/", "/embed", "/api/compile/"] {
        let reply = server.ask("GET", target);
        assert!(!(300..400).contains(&reply.status), "{target}");
        assert_eq!(reply.header("location"), None, "{target}");
    }
}

#[test]
fn the_other_pages_take_get_and_head_only() {
    let server = Server::start();
    for target in
        ["/", "/healthz", "/readyz", "/embed/page.js", "/embed/page.css"]
    {
        for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
            let reply = server.send(method, target, &[], "{}");
            let message = format!("method not allowed on {target}");
            reply.assert_failure(405, &message);
            assert_eq!(reply.header("allow"), Some("GET, HEAD"));
        }
    }
}

#[test]
fn health_and_readiness_are_told() {
    let server = Server::start();
    server.ask("GET", "/healthz").assert_json(200, r#"{"status":"ok"}"#);
    let reply = server.ask("GET", "/readyz");
    assert_eq!(reply.header("content-type"), Some("application/json"));
    // There are no images here.
    assert_eq!(reply.status, 503);
    let report = reply.json();
    assert_eq!(report["error"], "no language is ready");
    let languages = report["languages"].as_array().unwrap();
    assert!(languages.iter().any(|language| language["id"] == "python"));
    for language in languages {
        let state = language["state"].as_str().unwrap();
        let known = ["building", "missing", "broken"].contains(&state);
        assert!(known, "{language}");
        assert!(!language["reason"].as_str().unwrap().is_empty());
    }
}

#[test]
fn metrics_are_on_the_admin_listener_alone() {
    let server = Server::start();
    server.ask("GET", "/products/1");
    server.send("POST", "/products", &[], r#"{"name":"a"}"#);
    let admin = |method: &str, target: &str| {
        let mut stream = connect(server.admin);
        let request = format!(
            "{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        Reply::read(&mut stream)
    };
    let reply = admin("GET", "/metrics");
    assert_eq!(reply.status, 200);
    for line in [
        "sandpiper_http_requests_total{route=\"/products/{id}\",status=\"404\"} 1",
        "sandpiper_http_requests_total{route=\"/products\",status=\"201\"} 1",
        "sandpiper_products 1",
        "sandpiper_language_ready{language=\"python\"} 0",
        "# EOF",
    ] {
        let found = reply.text().lines().any(|own| own == line);
        assert!(found, "{line} is not in\n{}", reply.text());
    }
    admin("GET", "/products").assert_failure(404, "not found");
    admin("POST", "/metrics")
        .assert_failure(405, "method not allowed on /metrics");
}
