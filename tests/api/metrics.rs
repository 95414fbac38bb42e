//! `/metrics`: the changes that each request makes in it, and that no request can make
//! it grow.

use std::collections::BTreeMap;
use std::io::Write;
use std::net::Shutdown;
use std::time::{Duration, Instant};

use sandpiper_testkit::{Exposition, Reply, Server, eventually};

const JSON: &str = "Content-Type: application/json";
/// The longest wait for a change, which only a failure reaches.
const PATIENCE: Duration = Duration::from_secs(120);

/// Series that change by themselves, or by amounts that no contract gives.
const OTHER: [&str; 3] =
    ["process_", "sandpiper_connections ", "sandpiper_products_bytes"];

fn request(method: &str, route: &str, status: u16) -> String {
    format!(
        "sandpiper_http_requests_total{{route=\"{route}\",\
         method=\"{method}\",status=\"{status}\"}}"
    )
}

fn refused(reason: &str) -> String {
    format!("sandpiper_compile_refused_total{{reason=\"{reason}\"}}")
}

/// A server and what it showed last.
struct Counted {
    server: Server,
    last: Exposition,
}

impl Counted {
    fn with(flags: &[&str]) -> Self {
        let server = Server::with(flags);
        // Every image is missing.
        eventually("the engine has looked for images", || {
            !server.ask("GET", "/readyz").text().contains("\"building\"")
        });
        let last = server.metrics();
        Self { server, last }
    }

    /// Checks that this, and nothing else, has changed since the last check.
    fn changed(&mut self, what: &str, expected: &[(String, f64)]) {
        let expected: BTreeMap<_, _> = expected.iter().cloned().collect();
        let deadline = Instant::now() + PATIENCE;
        loop {
            let now = self.server.metrics();
            let mut found = now.since(&self.last);
            found.retain(|series, _| {
                let series = format!("{series} ");
                !OTHER.iter().any(|other| series.starts_with(other))
            });
            // Some is counted when the connection has ended.
            if found == expected {
                self.last = now;
                return;
            }
            let late = deadline < Instant::now();
            assert!(!late, "{what}: {found:#?}, not {expected:#?}");
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// A request without body is one more of its route, and all that changes.
    fn asks(&mut self, method: &str, target: &str, route: &str, status: u16) {
        let reply = self.server.ask(method, target);
        assert_eq!(reply.status, status, "{method} {target}");
        let label = if method == "BREW" { "other" } else { method };
        let expected = [(request(label, route, status), 1.0)];
        self.changed(&format!("{method} {target}"), &expected);
    }

    fn compile(
        &mut self,
        headers: &[&str],
        body: impl AsRef<[u8]>,
        status: u16,
        reason: &str,
    ) {
        let reply = self.server.send("POST", "/api/compile", headers, body);
        assert_eq!(reply.status, status, "{reason}: {}", reply.text());
        let own = request("POST", "/api/compile", status);
        self.changed(reason, &[(own, 1.0), (refused(reason), 1.0)]);
    }
}

#[test]
fn each_request_is_counted_once_where_it_belongs() {
    let mut server = Counted::with(&[]);
    let one = "/products/{id}";
    server.asks("GET", "/products", "/products", 200);
    server.asks("GET", "/products?a=b", "/products", 200);
    server.asks("GET", "/products/7", one, 404);
    server.asks("GET", "/products/x", one, 400);
    server.asks("DELETE", "/products/7", one, 404);
    server.asks("PATCH", "/products", "/products", 405);
    server.asks("HEAD", "/products", "/products", 405);
    server.asks("BREW", "/products", "/products", 405);
    server.asks("GET", "/nowhere", "unknown", 404);
    server.asks("GET", "/metrics", "unknown", 404);
    server.asks("BREW", "/nowhere", "unknown", 404);
    server.asks("HEAD", "/healthz", "/healthz", 200);
    server.asks("GET", "/readyz", "/readyz", 503);
    server.asks("GET", "/openapi.json", "/openapi.json", 200);
    let page = if cfg!(editor) { 200 } else { 503 };
    server.asks("GET", "/embed?lang=c", "/embed", page);
    server.asks("GET", "/embed?lang=x", "/embed", 400);
    let asset = "/embed/assets/{asset}";
    server.asks("GET", "/embed/assets/none.js", asset, 404);
    server.asks("OPTIONS", "/api/compile", "/api/compile", 204);
    server.asks("GET", "/api/compile", "/api/compile", 405);

    let products = |more| ("sandpiper_products".to_owned(), more);
    let create = |server: &Counted, body| {
        server.server.send("POST", "/products", &[], body).status
    };
    assert_eq!(create(&server, r#"{"name":"tea"}"#), 201);
    let created = (request("POST", "/products", 201), 1.0);
    server.changed("a product", &[created, products(1.0)]);
    assert_eq!(create(&server, "{}"), 400);
    server.changed("none", &[(request("POST", "/products", 400), 1.0)]);
    assert_eq!(server.server.ask("DELETE", "/products/1").status, 204);
    let removed = (request("DELETE", one, 204), 1.0);
    server.changed("no more", &[removed, products(-1.0)]);

    let malformed = |status| [(request("other", "malformed", status), 1.0)];
    assert_eq!(server.server.raw("nonsense\r\n\r\n").status, 400);
    server.changed("no request", &malformed(400));
    let long = format!("GET / HTTP/1.1\r\nX: {}\r\n\r\n", "x".repeat(70_000));
    assert_eq!(server.server.raw(long).status, 431);
    server.changed("a long head", &malformed(431));
}

#[test]
fn what_is_not_run_is_counted_by_its_reason() {
    let mut server = Counted::with(&[
        "--trusted-proxy=127.0.0.0/8",
        "--rate-limit-for=192.0.2.9/32=1",
        "--compile-rate-limit=0",
    ]);
    let right = r#"{"language":"py","entryFile":"a","files":[{"path":"a","content":""}]}"#;
    server.compile(&[], right, 415, "content_type");
    server.compile(&[JSON], "{", 400, "json");
    server.compile(&[JSON], "[]", 400, "json");
    server.compile(&[JSON], b"\xff", 400, "json");
    server.compile(&[JSON], "{}", 400, "fields");
    let cobol = right.replace("py", "cobol");
    server.compile(&[JSON], cobol, 400, "submission");
    server.compile(&[JSON], right.replace("\"a\"", "\"/\""), 400, "submission");
    let many = vec![r#"{"path":"a","content":""}"#; 201].join(",");
    let many = format!(r#"{{"files":[{many}]}}"#);
    server.compile(&[JSON], many, 413, "files");
    let large = vec![b' '; (2 << 20) + 1];
    server.compile(&[JSON], large, 413, "body_too_large");
    server.compile(&[JSON], right, 503, "unavailable");
    let limited = [JSON, "X-Forwarded-For: 192.0.2.9"];
    server.compile(&limited, right, 503, "unavailable");
    server.compile(&limited, right, 429, "rate_limited");
    // A body that ends before its end.
    let mut stream = server.server.connect();
    let cut = format!(
        "POST /api/compile HTTP/1.1\r\nHost: x\r\n{JSON}\r\n\
         Connection: close\r\nContent-Length: 9\r\n\r\n{{"
    );
    stream.write_all(cut.as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    assert_eq!(Reply::read(&mut stream).status, 400);
    let own = request("POST", "/api/compile", 400);
    server.changed("cut", &[(own, 1.0), (refused("body_broken"), 1.0)]);
}

/// A thousand names that nobody has used before.
#[test]
fn no_request_makes_a_series_of_its_own() {
    let mut server = Counted::with(&["--compile-rate-limit=0"]);
    let ask = |number: usize| {
        let body = format!(
            r#"{{"language":"l{number}","entryFile":"f{number}","files":[{{"path":"f{number}","content":""}}]}}"#
        );
        let plain = |line: String| {
            format!(
                "{line} HTTP/1.1\r\nHost: h{number}\r\nX-{number}: 1\r\n\r\n"
            )
        };
        let mut requests = plain(format!("GET /p{number}?q{number}"));
        requests += &plain(format!("M{number} /products"));
        requests += &plain(format!("GET /products/i{number}"));
        requests += &plain(format!("GET /embed/assets/a{number}.js"));
        requests += &plain(format!("GET /embed?lang=e{number}"));
        requests += &plain(format!("POST /api/run/r{number}/stop"));
        requests += &format!(
            "POST /api/compile HTTP/1.1\r\nHost: x\r\n{JSON}\r\n\
             X-Request-Id: r{number}\r\nContent-Length: {}\r\n\r\n{body}",
            body.len()
        );
        requests
    };
    let end = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
    server.server.raw(ask(0) + end);
    let names = |all: &Exposition| -> Vec<String> {
        all.values.keys().cloned().collect()
    };
    let before = server.server.metrics();
    for batch in 0..20 {
        let requests: String =
            (1..=50).map(|number| ask(batch * 50 + number)).collect();
        server.server.raw(requests + end);
    }
    server.last = server.server.metrics();
    assert_eq!(names(&server.last), names(&before));
    let unknown = request("GET", "unknown", 404);
    assert_eq!(server.last.since(&before).get(&unknown), Some(&1_000.0));
}
