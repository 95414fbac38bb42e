//! Requests that are broken, or that two readers could take for different
//! ones, as bytes: their answers, and whether the connection goes on.

use std::io::{Read, Write};

use sandpiper_testkit::{Reply, Server, eventually, unread};

/// A request that is answered if the connection goes on.
const NEXT: &str = "GET /healthz HTTP/1.1\r\nHost: x\r\n\
                    Connection: close\r\n\r\n";

/// The state of the connection after an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum After {
    GoesOn,
    Closes,
}
use After::{Closes, GoesOn};

/// Sends `request` and another behind it. `statuses` are those of all answers
/// but that to the other; `head` begins what is sent.
fn check(server: &Server, request: &[u8], statuses: &[u16], after: After) {
    let shown = String::from_utf8_lossy(&request[..request.len().min(300)]);
    let mut stream = server.connect();
    // A server that has refused may close before everything is sent.
    let _ = stream.write_all(request);
    let _ = stream.write_all(NEXT.as_bytes());
    let mut answers = Vec::new();
    let _ = stream.read_to_end(&mut answers);
    let text = String::from_utf8(answers).expect("answers in UTF-8");
    let found: Vec<u16> = text
        .match_indices("HTTP/1.")
        .filter_map(|(at, _)| text.get(at + 9..at + 12)?.parse().ok())
        .collect();
    let alive = text.ends_with(r#"{"status":"ok"}"#);
    let mut expected = statuses.to_vec();
    if after == GoesOn {
        expected.push(200);
    }
    assert_eq!((found, alive), (expected, after == GoesOn), "{shown}\n{text}");
    // Failures have their shape, those of the parser too.
    if statuses.iter().any(|status| *status >= 400) {
        assert!(text.contains("content-type: application/json\r\n"), "{text}");
        assert!(text.contains("\r\n\r\n{\"error\":\""), "{text}");
    }
}

#[test]
fn lengths_that_can_be_read_in_two_ways_are_refused() {
    let server = Server::start();
    let post = |lines: &str, body: &str, statuses: &[u16], after: After| {
        let request =
            format!("POST /products HTTP/1.1\r\nHost: x\r\n{lines}\r\n{body}");
        check(&server, request.as_bytes(), statuses, after);
    };
    let chunked = "Transfer-Encoding: chunked\r\n";
    let body = "c\r\n{\"name\":\"a\"}\r\n0\r\n\r\n";
    // The controls.
    post("Content-Length: 12\r\n", "{\"name\":\"a\"}", &[201], GoesOn);
    post(chunked, body, &[201], Closes);
    post("transfer-encoding:\tCHUNKED \r\n", body, &[201], Closes);

    let refused = |lines: &str| post(lines, body, &[400], Closes);
    refused(&format!("Content-Length: 3\r\n{chunked}"));
    refused(&format!("{chunked}Content-Length: 3\r\n"));
    refused(&format!("{chunked}Content-Length: nonsense\r\n"));
    refused(&format!("{chunked}{chunked}"));
    refused("Content-Length: 0\r\nContent-Length: 5\r\n");
    refused("Content-Length: 0\r\nContent-Length: 0\r\n");
    refused("Content-Length: 0, 0\r\n");
    refused("Content-Length: -1\r\n");
    refused("Content-Length: +1\r\n");
    refused("Content-Length: 0x1\r\n");
    refused("Content-Length: 1e1\r\n");
    refused("Content-Length:\r\n");
    refused("Content-Length: 1 1\r\n");
    refused("Content-Length: 18446744073709551615\r\n");
    refused("Content-Length: 18446744073709551616\r\n");
    refused("Content-Length: 99999999999999999999999999\r\n");
    refused("Content-Length : 0\r\n");
    refused("Content-Length\r\n: 0\r\n");
    refused("Transfer-Encoding : chunked\r\n");
    refused("Transfer-Encoding: chunked, chunked\r\n");
    refused("Transfer-Encoding: chunked, identity\r\n");
    refused("Transfer-Encoding: gzip, chunked\r\n");
    refused("Transfer-Encoding: identity\r\n");
    refused("Transfer-Encoding: xchunked\r\n");
    refused("Transfer-Encoding: \"chunked\"\r\n");
    refused("Transfer-Encoding:\r\n");
    refused("Transfer-Encoding: \x0bchunked\r\n");
    refused("Transfer-Encoding:\r\n chunked\r\n");
}

#[test]
fn heads_that_can_be_read_in_two_ways_are_refused() {
    let server = Server::start();
    let head = |bytes: &[u8], status: u16, after: After| {
        check(&server, bytes, &[status], after);
    };
    // The controls.
    head(b"GET /products HTTP/1.1\r\nHost: x\r\n\r\n", 200, GoesOn);
    head(b"\r\n\r\nGET /products HTTP/1.1\r\nhost:\r\n\r\n", 200, GoesOn);
    head(b"GET /products HTTP/1.0\r\n\r\n", 200, Closes);

    for lines in [
        &b""[..],
        b"Host: x\r\nHost: x\r\n",
        b"Host: x\r\nA: b\r\n c\r\n",
        b"Host: x\r\n A: b\r\n",
        b"Host: x\nA: b\r\n",
        b"Host: x\r\nA: b\nContent-Length: 5\r\n",
        b"Host: x\r\nA: b\rc\r\n",
        b"Host: x\r\nA: b\0c\r\n",
        b"Host: x\r\nA\0: b\r\n",
        b"Host: x\r\nA: \x7f\r\n",
        b"Host: x\r\nA : b\r\n",
        b"Host: x\r\n: b\r\n",
        b"Host: x\r\nno colon\r\n",
        b"Host: x\r\n\xff: b\r\n",
    ] {
        let first = b"GET /products HTTP/1.1\r\n";
        head(&[first, lines, b"\r\n"].concat(), 400, Closes);
    }
    head(b"GET /products HTTP/1.0\n\n", 400, Closes);
    head(b"GET /products HTTP/1.1\r\nHost: x\r\n\n", 400, Closes);
    let many = "A: b\r\n".repeat(200);
    let many = format!("GET / HTTP/1.1\r\nHost: x\r\n{many}\r\n");
    head(many.as_bytes(), 431, Closes);
    let long = "x".repeat(70_000);
    let long = format!("GET / HTTP/1.1\r\nHost: x\r\nA: {long}\r\n\r\n");
    head(long.as_bytes(), 431, Closes);
}

#[test]
fn heads_in_pieces_are_refused_as_well() {
    let server = Server::start();
    let head = "GET /products HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\
                Transfer-Encoding: chunked\r\n\r\n";
    for cut in [1, 30, head.len() - 2, head.len() - 1] {
        let mut stream = server.connect();
        stream.set_nodelay(true).unwrap();
        for piece in [&head[..cut], &head[cut..]] {
            stream.write_all(piece.as_bytes()).unwrap();
            // So that the pieces do not come together.
            eventually("it is read", || unread(server.address) == 0);
        }
        let reply = Reply::read(&mut stream);
        reply.assert_failure(400, "malformed request");
    }
}

#[test]
fn request_lines_are_read_exactly() {
    let server = Server::start();
    let line = |line: &[u8], status: u16, after: After| {
        let request = [line, b"\r\nHost: x\r\n\r\n"].concat();
        check(&server, &request, &[status], after);
    };
    line(b"GET /products HTTP/1.1", 200, GoesOn);
    line(b"GET http://x/products HTTP/1.1", 200, GoesOn);
    line(b"GET http://other:99999/products HTTP/1.1", 200, GoesOn);
    line(b"GET //products HTTP/1.1", 404, GoesOn);
    line(b"GET /products#x HTTP/1.1", 200, GoesOn);
    line(b"OPTIONS * HTTP/1.1", 404, GoesOn);
    line(b"CONNECT x:80 HTTP/1.1", 404, GoesOn);
    line(b"BREW /products HTTP/1.1", 405, GoesOn);
    line(b"get /products HTTP/1.1", 405, GoesOn);
    line(b"GET /%00 HTTP/1.1", 404, GoesOn);
    line(b"GET /\0 HTTP/1.1", 400, Closes);
    line(b"GET  /products HTTP/1.1", 400, Closes);
    line(b"GET /products  HTTP/1.1", 400, Closes);
    line(b"GET\t/products HTTP/1.1", 400, Closes);
    line(b" GET /products HTTP/1.1", 400, Closes);
    line(b"GET /products HTTP/1.1 ", 400, Closes);
    line(b"GET /products HTTP/1.2", 400, Closes);
    line(b"GET /products http/1.1", 400, Closes);
    line(b"GET /products HTTP/0.9", 400, Closes);
    line(b"GET /products", 400, Closes);
    line(b"HTTP/1.1 200 OK", 400, Closes);
    let long = format!("GET /{} HTTP/1.1", "x".repeat(70_000));
    line(long.as_bytes(), 431, Closes);
}

#[test]
fn other_protocols_are_refused() {
    let server = Server::start();
    let other = |bytes: &[u8]| check(&server, bytes, &[400], Closes);
    // A client of HTTP/2 reads no answer of HTTP/1.
    let preface = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0";
    check(&server, preface, &[], Closes);
    other(b"\x16\x03\x01\x00\xc8\x01\x00\x00\xc4\x03\x03abcdefgh\r\n\r\n");
    other(b"SSH-2.0-OpenSSH_9.9\r\n");
    other(b"\0\0\0\0\r\n\r\n");
    other(&[0xff; 4096]);
    other(b"{\"jsonrpc\":\"2.0\"}\r\n\r\n");
}

#[test]
fn bodies_in_chunks_are_read_exactly() {
    let server = Server::start();
    let head = "POST /products HTTP/1.1\r\nHost: x\r\n\
                Transfer-Encoding: chunked\r\n\r\n";
    let body = |body: &str, status: u16| {
        check(&server, format!("{head}{body}").as_bytes(), &[status], Closes);
    };
    body("c\r\n{\"name\":\"a\"}\r\n0\r\n\r\n", 201);
    body("00c;a=b\r\n{\"name\":\"a\"}\r\n000\r\nTrailer: x\r\n\r\n", 201);
    body("C\r\n{\"name\":\"a\"}\r\n0\r\n\r\n", 201);
    body("0\r\n\r\n", 400);
    body("-1\r\n{\"name\":\"a\"}\r\n0\r\n\r\n", 400);
    body("+c\r\n{\"name\":\"a\"}\r\n0\r\n\r\n", 400);
    body("0xc\r\n{\"name\":\"a\"}\r\n0\r\n\r\n", 400);
    body("c\n{\"name\":\"a\"}\r\n0\r\n\r\n", 400);
    body("c\r\n{\"name\":\"a\"}0\r\n\r\n", 400);
    body("d\r\n{\"name\":\"a\"}\r\n0\r\n\r\n", 400);
    let long = "x".repeat((1 << 20) + 1);
    body(&format!("ffffffffffffffff\r\n{long}"), 413);
    body("fffffffffffffffff\r\n{\"name\":\"a\"}\r\n0\r\n\r\n", 400);
    body("; \r\n\r\n", 400);
    let extended = format!("1;{}\r\n{{\r\n", "x".repeat(1_000));
    body(&extended.repeat(100), 400);
    let trailers = "A: b\r\n".repeat(5_000);
    body(&format!("c\r\n{{\"name\":\"a\"}}\r\n0\r\n{trailers}\r\n"), 400);
}
