//! Odd shapes of requests: bodies, heads and targets.

use super::*;

#[tokio::test]
async fn early_refusals_read_what_the_client_sends() {
    let server = TestServer::start().await;
    // Writes everything before it reads, which fills the sockets' buffers.
    let check = async |path: &str, headers: &str, size: usize, status: u16| {
        let body = "x".repeat(size);
        let reply =
            server.ask(post(path, &format!("{headers}{CLOSE}"), &body)).await;
        assert_eq!(reply.status, status, "{path} {size}");
    };
    check("/api/compile", "", 2 << 20, 415).await;
    check("/api/compile", "", 5 << 20, 415).await;
    check("/api/compile", JSON, 2 << 20, 400).await;
    check("/api/compile", JSON, (2 << 20) + 1, 413).await;
    check("/api/compile", JSON, 5 << 20, 413).await;
    check("/products", "", 1 << 20, 400).await;
    check("/products", "", (1 << 20) + 1, 413).await;
    check("/products/x", "", 1 << 20, 400).await;
    check("/embed", "", 2 << 20, 405).await;
    check("/nowhere", "", 2 << 20, 404).await;
}

#[tokio::test(start_paused = true)]
async fn a_length_over_the_limit_is_refused_at_once() {
    let server = TestServer::in_memory(ServerSettings::default()).await;
    let check = async |path: &str, headers: &str, sent: &str, message: &str| {
        let start = tokio::time::Instant::now();
        let head = format!("POST {path} HTTP/1.1\r\nHost: x\r\n{headers}");
        let length = "Content-Length: 99999999\r\n\r\n";
        let reply = server.ask(format!("{head}{length}{sent}")).await;
        reply.assert_failure(413, message);
        assert_eq!(reply.header("connection"), Some("close"));
        assert!(start.elapsed() < Duration::from_secs(1), "{path}");
    };
    for sent in ["", "{"] {
        let message = "the request body must not be larger than 1 MiB";
        check("/products", "", sent, message).await;
        // As Java's client sends by default.
        check("/products", "Upgrade: h2c\r\n", sent, message).await;
        let message = "the request body must not be larger than 2 MiB";
        check("/api/compile", JSON, sent, message).await;
    }
}

#[tokio::test]
async fn a_body_in_chunks_is_bounded_as_well() {
    let server = TestServer::start().await;
    let check = async |chunks: usize, status: u16, message: &str| {
        let chunk = format!("{:x}\r\n{}\r\n", 1 << 16, "x".repeat(1 << 16));
        let body = chunk.repeat(chunks) + "0\r\n\r\n";
        let request = format!(
            "POST /products HTTP/1.1\r\nHost: x\r\n{CLOSE}\
             Transfer-Encoding: chunked\r\n\r\n{body}"
        );
        server.ask(request).await.assert_failure(status, message);
    };
    check(16, 400, "invalid JSON body").await;
    let message = "the request body must not be larger than 1 MiB";
    check(17, 413, message).await;
    check(40, 413, message).await;
}

#[tokio::test]
async fn a_refused_client_can_go_on() {
    let server = TestServer::start().await;
    let mut stream = server.connect().await;
    let refused = post("/api/compile", "", &"x".repeat(100_000));
    let last = format!("GET /healthz HTTP/1.1\r\nHost: x\r\n{CLOSE}\r\n");
    stream.write_all((refused + &last).as_bytes()).await.unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).await.unwrap();
    let text = String::from_utf8(bytes).unwrap();
    assert!(text.starts_with("HTTP/1.1 415 "), "{text}");
    assert!(text.ends_with(r#"{"status":"ok"}"#), "{text}");
}

#[tokio::test]
async fn a_body_that_is_cut_short_is_refused() {
    let server = TestServer::start().await;
    let message = "invalid JSON body";
    for head in [
        "Content-Length: 10\r\n\r\n{}",
        "Transfer-Encoding: chunked\r\n\r\n5\r\nab",
        "Transfer-Encoding: chunked\r\n\r\nzz\r\nab",
    ] {
        let mut stream = server.connect().await;
        let request = format!("POST /products HTTP/1.1\r\nHost: x\r\n{head}");
        stream.write_all(request.as_bytes()).await.unwrap();
        stream.shutdown().await.unwrap();
        let reply = Reply::read(&mut stream).await;
        reply.assert_failure(400, message);
    }
}

#[tokio::test]
async fn unreadable_requests_are_failures_like_others() {
    let server = TestServer::start().await;
    let check = async |request: String, status: u16, message: &str| {
        let reply = server.ask(&request).await;
        reply.assert_failure(status, message);
    };
    let malformed = async |request: &str| {
        check(request.to_owned(), 400, "malformed request").await;
    };
    malformed("nonsense\r\n\r\n").await;
    malformed("GET / HTTP/9.9\r\n\r\n").await;
    malformed("GET / HTTP/1.1\r\nHost x\r\n\r\n").await;
    malformed("G\0T / HTTP/1.1\r\n\r\n").await;
    malformed("POST /products HTTP/1.1\r\nContent-Length: x\r\n\r\n").await;
    malformed(
        "POST /products HTTP/1.1\r\nContent-Length: 1\r\n\
         Content-Length: 2\r\n\r\nab",
    )
    .await;
    let head = format!("A: {}\r\n", "x".repeat(1_000)).repeat(500);
    let request = format!("GET / HTTP/1.1\r\n{head}\r\n");
    check(request, 431, "the request head is too large").await;
    let head = format!("A: {}\r\n", "x".repeat(70_000));
    let request = format!("GET / HTTP/1.1\r\n{head}\r\n");
    check(request, 431, "the request head is too large").await;
    // Which of the two limits is met first depends on how the bytes arrive.
    let request = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(70_000));
    let status = server.ask(request).await.status;
    assert!(matches!(status, 414 | 431), "{status}");
    let head = "A: x\r\n".repeat(200);
    let request = format!("GET / HTTP/1.1\r\n{head}\r\n");
    check(request, 431, "the request head is too large").await;
}

#[tokio::test]
async fn odd_targets_are_answered() {
    let server = TestServer::start().await;
    let check = async |line: &str, status: u16| {
        let request = format!("{line} HTTP/1.1\r\nHost: x\r\n{CLOSE}\r\n");
        let reply = server.ask(request).await;
        assert_eq!(reply.status, status, "{line}");
    };
    check("OPTIONS *", 404).await;
    check("GET http://x/healthz", 200).await;
    check("GET http://x", 200).await;
    check("GET http://x?a", 200).await;
    check("GET http://other.example/products?x#y", 200).await;
    check("GET x", 404).await;
    check("CONNECT x:80", 404).await;
    check("CONNECT /products", 405).await;
    check("GET //", 404).await;
    check("GET /%", 404).await;
    check("GET /?", 200).await;
    check("TRACE /products", 405).await;
    check("get /products", 405).await;
}
