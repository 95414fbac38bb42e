//! The rate limit, as clients see it.

use super::*;
use runs::Event;

#[tokio::test(start_paused = true)]
async fn the_21st_request_in_a_minute_is_refused() {
    let server = TestServer::in_memory(ServerSettings::default()).await;
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
    let message = format!(
        "rate limit exceeded: 20 requests in 60 s; come back in {wait} s"
    );
    reply.assert_failure(429, &message);
    let expected = format!("\"compile\";r=0;t={wait}");
    assert_eq!(reply.header("ratelimit"), Some(expected.as_str()));
    assert_eq!(reply.header("access-control-allow-origin"), Some("*"));

    // A method that is not allowed comes first and counts nothing.
    let get = format!("GET /api/compile HTTP/1.1\r\nHost: x\r\n{CLOSE}\r\n");
    let get = server.ask(get).await;
    get.assert_failure(405, "method not allowed on /api/compile");
    assert_eq!(get.header("allow"), Some("POST, OPTIONS"));
    assert_eq!(get.header("ratelimit"), Some(expected.as_str()));

    // A client that waits for Retry-After is admitted, and not much earlier.
    let wait: u64 = wait.parse().unwrap();
    assert!((55..=60).contains(&wait), "{wait}");
    sleep(Duration::from_secs(wait - 2)).await;
    assert_eq!(server.compile("echo").await.status, 429);
    sleep(Duration::from_secs(2)).await;
    assert_eq!(server.compile("echo").await.status, 200);
}

#[tokio::test(start_paused = true)]
async fn zero_lifts_the_limit_and_its_headers() {
    let settings =
        ServerSettings { compile_rate_limit: 0, ..ServerSettings::default() };
    let server = TestServer::in_memory(settings).await;
    for _ in 0..30 {
        let reply = server.compile("echo").await;
        assert_eq!(reply.status, 200);
        assert_eq!(reply.header("ratelimit"), None);
        assert_eq!(reply.header("ratelimit-policy"), None);
    }
}

#[tokio::test(start_paused = true)]
async fn forwarded_clients_count_from_named_proxies_only() {
    let check = async |proxies: &[&str], expected: &str| {
        let settings = ServerSettings {
            trusted_proxies: proxies
                .iter()
                .map(|net| net.parse().unwrap())
                .collect(),
            ..ServerSettings::default()
        };
        let mut server = TestServer::in_memory(settings).await;
        let headers = format!("{CLOSE}X-Forwarded-For: 192.0.2.7\r\n");
        server.ask(compile("echo", &headers)).await;
        let client = expected.parse().unwrap();
        assert_eq!(server.runs.next().await, Event::Started(client));
    };
    check(&[], "127.0.0.1").await;
    check(&["10.0.0.0/8"], "127.0.0.1").await;
    check(&["127.0.0.0/8"], "192.0.2.7").await;
}
