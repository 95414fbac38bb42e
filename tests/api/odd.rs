//! Odd requests, as bytes.

use std::io::{Read, Write};
use std::net::Shutdown;

use sandpiper_testkit::Reply;
use sandpiper_testkit::Server;

#[test]
fn unreadable_requests_are_failures_like_others() {
    let server = Server::start();
    let refused = |request: &str, status: u16| {
        server.raw(request).assert_failure_about(status, &[]);
    };
    refused("nonsense\r\n\r\n", 400);
    refused("GET /products HTTP/7\r\n\r\n", 400);
    refused("GET /products HTTP/1.1\r\nno colon\r\n\r\n", 400);
    refused("POST /products HTTP/1.1\r\nContent-Length: -1\r\n\r\n", 400);
    let both = "POST /products HTTP/1.1\r\nContent-Length: 1\r\n\
                Content-Length: 2\r\n\r\n{}";
    refused(both, 400);
    let long = "x".repeat(100_000);
    refused(&format!("GET /products HTTP/1.1\r\nA: {long}\r\n\r\n"), 431);
    let reply = server.raw(format!("GET /{long} HTTP/1.1\r\n\r\n"));
    assert!(matches!(reply.status, 414 | 431), "{reply:?}");
}

#[test]
fn odd_targets_are_answered() {
    let server = Server::start();
    server.ask("OPTIONS", "*").assert_failure(404, "not found");
    server.ask("CONNECT", "x:80").assert_failure(404, "not found");
    server.ask("GET", "http://x/products").assert_json(200, "[]");
    assert_eq!(server.ask("GET", "http://x").status, 200);
    server.ask("GET", "products").assert_failure(404, "not found");
}

#[test]
fn http_1_0_is_answered() {
    let server = Server::start();
    let mut stream = server.connect();
    stream.write_all(b"GET /products HTTP/1.0\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.starts_with("HTTP/1.0 200 OK\r\n"), "{text}");
    assert!(text.ends_with("\r\n\r\n[]"), "{text}");
}

#[test]
fn a_connection_takes_many_requests() {
    let server = Server::start();
    let mut stream = server.connect();
    let one = "GET /products HTTP/1.1\r\nHost: x\r\n\r\n".repeat(50);
    let last = "GET /products/1 HTTP/1.1\r\nHost: x\r\n\
                Connection: close\r\n\r\n";
    stream.write_all((one + last).as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert_eq!(text.matches("HTTP/1.1 200 OK\r\n").count(), 50);
    assert_eq!(text.matches("HTTP/1.1 404 Not Found\r\n").count(), 1);
}

#[test]
fn a_client_that_half_closes_is_answered() {
    let server = Server::start();
    let mut stream = server.connect();
    let request = "POST /products HTTP/1.1\r\nHost: x\r\n\
                   Content-Length: 12\r\n\r\n{\"name\":\"a\"}";
    stream.write_all(request.as_bytes()).unwrap();
    stream.shutdown(Shutdown::Write).unwrap();
    Reply::read(&mut stream)
        .assert_json(201, r#"{"id":1,"name":"a","price":0}"#);
}

#[test]
fn a_body_may_come_in_pieces() {
    let server = Server::start();
    let mut stream = server.connect();
    stream
        .write_all(
            b"POST /products HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
              Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n",
        )
        .unwrap();
    let mut interim = [0; 25];
    stream.read_exact(&mut interim).unwrap();
    assert_eq!(&interim, b"HTTP/1.1 100 Continue\r\n\r\n");
    for piece in ["5\r\n{\"nam\r\n", "7\r\ne\":\"a\"}\r\n", "0\r\n\r\n"] {
        stream.write_all(piece.as_bytes()).unwrap();
        stream.flush().unwrap();
    }
    Reply::read(&mut stream)
        .assert_json(201, r#"{"id":1,"name":"a","price":0}"#);
}

#[test]
fn refusals_read_what_the_client_sends() {
    let server = Server::start();
    let body = vec![b'x'; 5 << 20];
    let json = ["Content-Type: application/json"];
    let check = |method: &str, target: &str, headers: &[&str], status: u16| {
        let reply = server.send(method, target, headers, &body);
        reply.assert_failure_about(status, &[]);
    };
    check("PUT", "/products", &[], 405);
    check("POST", "/products", &[], 413);
    check("GET", "/api/compile", &json, 405);
    check("POST", "/api/compile", &[], 415);
    check("POST", "/api/compile", &json, 413);
    check("POST", "/nowhere", &[], 404);
}
