//! The rate limit, as clients see it.

use super::*;
use runs::Event;

#[tokio::test]
async fn the_21st_request_is_refused() {
    let server = TestServer::start().await;
    for left in (0..20).rev() {
        // Refused requests count as well.
        let headers = if left % 2 == 0 { JSON } else { "" };
        let headers = format!("{headers}{CLOSE}");
        let reply = server.ask(post("/api/compile", &headers, "{")).await;
        assert!(matches!(reply.status, 400 | 415), "{reply:?}");
        let expected = format!("\"compile\";r={left};t=");
        assert!(reply.header("ratelimit").unwrap().starts_with(&expected));
    }
    let reply = server.compile("echo").await;
    let wait = reply.header("retry-after").unwrap();
    assert!((55..=60).contains(&wait.parse::<u32>().unwrap()), "{wait}");
    let message = format!(
        "rate limit exceeded: 20 requests in 60 s; come back in {wait} s"
    );
    reply.assert_failure(429, &message);
    let expected = format!("\"compile\";r=0;t={wait}");
    assert_eq!(reply.header("ratelimit"), Some(expected.as_str()));
    assert_eq!(reply.header("access-control-allow-origin"), Some("*"));

    // A method that is not allowed comes first and counts nothing.
    let get = format!("GET /api/compile HTTP/1.1\r\nHost: x\r\n{CLOSE}\r\n");
    let reply = server.ask(get).await;
    reply.assert_failure(405, "method not allowed on /api/compile");
    assert_eq!(reply.header("allow"), Some("POST, OPTIONS"));
    assert_eq!(reply.header("ratelimit"), Some(expected.as_str()));
}

#[tokio::test]
async fn zero_lifts_the_limit_and_its_headers() {
    let settings = Settings { compile_rate_limit: 0, ..Settings::default() };
    let server = TestServer::with(settings, Duration::ZERO).await;
    for _ in 0..30 {
        let reply = server.compile("echo").await;
        assert_eq!(reply.status, 200);
        assert_eq!(reply.header("ratelimit"), None);
        assert_eq!(reply.header("ratelimit-policy"), None);
    }
}

#[tokio::test]
async fn forwarded_clients_count_from_named_proxies_only() {
    let check = async |proxies: &[&str], expected: &str| {
        let settings = Settings {
            trusted_proxies: proxies
                .iter()
                .map(|net| net.parse().unwrap())
                .collect(),
            ..Settings::default()
        };
        let mut server = TestServer::with(settings, Duration::ZERO).await;
        let headers = format!("{CLOSE}X-Forwarded-For: 192.0.2.7\r\n");
        server.ask(compile("echo", &headers)).await;
        let client = expected.parse().unwrap();
        assert_eq!(server.runs.next().await, Event::Started(client));
    };
    check(&[], "127.0.0.1").await;
    check(&["10.0.0.0/8"], "127.0.0.1").await;
    check(&["127.0.0.0/8"], "192.0.2.7").await;
}

#[tokio::test]
async fn connections_are_bounded() {
    let settings = Settings { connections: 1, ..Settings::default() };
    let mut server = TestServer::with(settings, Duration::ZERO).await;
    let mut first = server.connect().await;
    let request = compile("hang", CLOSE);
    first.write_all(request.as_bytes()).await.unwrap();
    server.runs.started().await;
    let mut second = server.connect().await;
    second.write_all(compile("echo", CLOSE).as_bytes()).await.unwrap();
    tokio::time::sleep(Duration::from_millis(50)).await;
    assert!(server.runs.is_quiet());
    server.runs.release();
    assert_eq!(Reply::read(&mut first).await.status, 200);
    assert_eq!(Reply::read(&mut second).await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn large_bodies_share_their_memory() {
    let server = TestServer::start().await;
    let begin = async |length: u32| {
        let mut stream = server.connect().await;
        let request = format!(
            "POST /products HTTP/1.1\r\nHost: x\r\n\
             Content-Length: {length}\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).await.unwrap();
        stream
    };
    // As many as the memory holds; none of them ends.
    let mut slow = Vec::new();
    for _ in 0..256 {
        slow.push(begin(1 << 20).await);
    }
    tokio::time::sleep(Duration::from_secs(1)).await;
    let small = server.ask(post("/products", CLOSE, r#"{"name":"a"}"#)).await;
    assert_eq!(small.status, 201);
    let body = format!(r#"{{"name":"{}"}}"#, "x".repeat(100_000));
    let begun = tokio::time::Instant::now();
    let large = server.ask(post("/products", CLOSE, &body)).await;
    assert_eq!(large.status, 201);
    // Not before the slow ones were refused, which made room.
    assert!(begun.elapsed() > Duration::from_secs(20));
    Reply::read(&mut slow.remove(0))
        .await
        .assert_failure(408, "the request body took longer than 30 s");
}
