//! Requests of other sites' pages in the browser of a reader.

use std::io::Write;

use sandpiper_testkit::{Reply, Server, connect};

const CROSS_SITE: &str = "cross-site requests are not accepted";
const MISDIRECTED: &str = "this host is not served here";

#[test]
fn a_page_of_another_site_changes_no_product() {
    let server = Server::start();
    let tea = r#"{"name":"tea"}"#;
    server.send("POST", "/products", &[], tea);
    // The same that a form, a script or a beacon can send without asking.
    let check = |headers: &[&str], is_refused: bool| {
        let refused = |method: &str, target: &str, body: &str, status: u16| {
            let reply = server.send(method, target, headers, body);
            let status = if is_refused { 403 } else { status };
            assert_eq!(reply.status, status, "{method} {target} {headers:?}");
            if is_refused {
                reply.assert_failure(403, CROSS_SITE);
            }
        };
        refused("POST", "/products", tea, 201);
        refused("POST", "/products", "{", 400);
        refused("PUT", "/products/1", tea, 200);
        refused("PUT", "/products/77", tea, 404);
        refused("DELETE", "/products/77", "", 404);
    };
    check(&["Sec-Fetch-Site: cross-site"], true);
    check(&["Origin: http://evil.example", "Content-Type: text/plain"], true);
    check(&["Origin: null"], true);
    let list = server.ask("GET", "/products");
    assert_eq!(list.text(), r#"[{"id":1,"name":"tea","price":0}]"#);
    check(&["Sec-Fetch-Site: same-origin", "Origin: http://y"], false);
    check(&["Sec-Fetch-Site: none"], false);
    check(&["Origin: http://x:8080"], false);
    check(&[], false);
}

#[test]
fn the_site_is_looked_at_after_path_and_method() {
    let server = Server::start();
    let cross = ["Sec-Fetch-Site: cross-site", "Origin: http://evil.example"];
    let ask =
        |method: &str, target: &str| server.send(method, target, &cross, "{}");
    ask("POST", "/products/x").assert_failure(400, "invalid product id");
    ask("DELETE", "/products/").assert_failure(400, "invalid product id");
    ask("PUT", "/products")
        .assert_failure(405, "method not allowed on /products");
    ask("OPTIONS", "/products/1")
        .assert_failure(405, "method not allowed on /products/{id}");
    // Browsers keep the answers of reads from other pages.
    assert_eq!(ask("GET", "/products").status, 200);
    assert_eq!(ask("GET", "/products/1").status, 404);
    // Any page may have programs run (docs/embedding.md).
    assert_eq!(ask("POST", "/api/compile").status, 415);
}

#[test]
fn a_large_refused_body_is_read_so_that_the_answer_is() {
    let server = Server::start();
    let large = " ".repeat(900_000);
    let cross = ["Sec-Fetch-Site: cross-site"];
    server
        .send("POST", "/products", &cross, large)
        .assert_failure(403, CROSS_SITE);
}

/// Asks for `target` of `host`.
fn ask(stream: std::net::TcpStream, target: &str, host: &str) -> Reply {
    let mut stream = stream;
    let request = format!(
        "GET {target} HTTP/1.1\r\nHost: {host}\r\nConnection: close\r\n\r\n"
    );
    stream.write_all(request.as_bytes()).expect("the server reads");
    Reply::read(&mut stream)
}

#[test]
fn hosts_that_are_not_named_are_misdirected() {
    const PATHS: [&str; 8] = [
        "/products",
        "/products/x",
        "/api/compile",
        "/embed",
        "/embed/preview",
        "/healthz",
        "/readyz",
        "/nowhere",
    ];
    let check = |server: &Server, host: &str, is_served: bool| {
        for target in PATHS {
            let reply = ask(server.connect(), target, host);
            if is_served {
                assert_ne!(reply.status, 421, "{target} {host}");
            } else {
                reply.assert_failure(421, MISDIRECTED);
            }
        }
    };
    let server = Server::with(&["--allowed-host=code.example,[::1]"]);
    check(&server, "code.example", true);
    check(&server, "Code.Example:8080", true);
    check(&server, "[::1]:8080", true);
    check(&server, "evil.example", false);
    check(&server, "localhost", false);
    check(&server, "127.0.0.1", false);
    let reply = ask(server.connect(), "http://evil.example/", "code.example");
    reply.assert_failure(421, MISDIRECTED);
    check(&Server::start(), "evil.example", true);
}

#[test]
fn metrics_are_shown_to_no_page_that_has_a_name_lead_here() {
    let check = |server: &Server, host: &str, status: u16| {
        let reply = ask(connect(server.admin), "/metrics", host);
        assert_eq!(reply.status, status, "{host}");
        if status == 421 {
            reply.assert_failure(421, MISDIRECTED);
        }
    };
    let named = Server::with(&["--allowed-host", "metrics.example"]);
    for server in [&Server::start(), &named] {
        check(server, "localhost:9464", 200);
        check(server, "127.0.0.1:9464", 200);
        check(server, "[::1]:9464", 200);
        check(server, "10.0.0.5", 200);
        check(server, "evil.example", 421);
        check(server, "localhost.evil.example", 421);
    }
    check(&named, "metrics.example", 200);
}
