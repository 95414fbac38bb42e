//! Answers to runs, and their headers.

use super::*;

#[tokio::test]
async fn a_run_is_answered_with_its_output() {
    let server = TestServer::start().await;
    let reply = server.compile("echo").await;
    assert_eq!(reply.status, 200);
    assert_eq!(reply.text(), r#"{"stdout":"é","stderr":""}"#);
    let check = |name: &str, value: &str| {
        assert_eq!(reply.header(name), Some(value), "{}", reply.head);
    };
    check("content-type", "application/json");
    check("server-timing", "queue;dur=1.2, prepare;dur=2.0, run;dur=30.0");
    check("ratelimit-policy", "\"compile\";q=20;w=60");
    check("ratelimit", "\"compile\";r=19;t=60");
    check("access-control-allow-origin", "*");
    check(
        "access-control-expose-headers",
        "Server-Timing, Sandpiper-Exit, RateLimit, RateLimit-Policy, \
         Retry-After, X-Request-Id",
    );
    assert!(reply.header("sandpiper-exit").is_some());
    assert_eq!(reply.header("access-control-allow-credentials"), None);
}

/// This holds for every `Accept` and every field of `/api/run`.
#[tokio::test]
async fn compile_has_one_form_of_answer() {
    let server = TestServer::start().await;
    let body = r#"{"language":"echo","entryFile":"a","interactive":true,
        "files":[{"path":"a","content":"b"}]}"#;
    let headers = format!("{JSON}{CLOSE}Accept: text/event-stream\r\n");
    let reply = server.ask(post("/api/compile", &headers, body)).await;
    assert_eq!(reply.header("content-type"), Some("application/json"));
    assert_eq!(reply.text(), r#"{"stdout":"b","stderr":""}"#);
}

#[tokio::test]
async fn what_the_host_does_not_measure_is_null() {
    let server = TestServer::start().await;
    let request = compile("echo", CLOSE).replace("/compile", "/run");
    let reply = server.ask(request).await;
    let answer: serde_json::Value = serde_json::from_str(reply.text()).unwrap();
    let run = &answer["run"];
    assert_eq!(run["wall_ms"], 30.0, "{answer}");
    for name in ["cpu_ms", "memory_peak_kib"] {
        assert_eq!(run.get(name), Some(&serde_json::Value::Null), "{answer}");
    }
}

#[tokio::test]
async fn refusals_say_why_and_when_to_come_back() {
    let server = TestServer::start().await;
    let check = async |word: &str, retry_after: Option<&str>, text: &str| {
        let reply = server.compile(word).await;
        reply.assert_failure(503, text);
        assert_eq!(reply.header("retry-after"), retry_after);
        assert_eq!(reply.header("access-control-allow-origin"), Some("*"));
        assert!(reply.header("ratelimit").is_some());
        assert_eq!(reply.header("server-timing"), None);
    };
    check("busy", Some("2"), "too many runs are waiting already").await;
    check("building", Some("60"), "building").await;
    check("unavailable", None, "unavailable").await;
    check("live", Some("2"), "all 1 live runs are taken").await;
    let live = "sandpiper_compile_refused_total{reason=\"live_full\"}";
    assert_eq!(metrics::value(&server, live).await, 1.0);
    let reply = server.compile("fail").await;
    reply.assert_failure(500, "internal error");
}

#[tokio::test]
async fn answers_are_compressed_where_the_client_takes_it() {
    let server = TestServer::start().await;
    let check = async |accepted: &str, encoding: Option<&str>| {
        let headers = format!("{CLOSE}Accept-Encoding: {accepted}\r\n");
        let reply = server.ask(compile("big", &headers)).await;
        assert_eq!(reply.status, 200, "{accepted}");
        assert_eq!(reply.header("content-encoding"), encoding, "{accepted}");
        assert_eq!(reply.header("content-type"), Some("application/json"));
        assert_eq!(reply.header("vary"), Some("accept-encoding"));
        assert_eq!(encoding.is_some(), reply.body.len() < 1 << 20);
    };
    check("gzip", Some("gzip")).await;
    check("br", Some("br")).await;
    check("gzip, deflate, br, zstd", Some("br")).await;
    check("gzip;q=0", None).await;
    check("identity", None).await;
    // The program has run: its answer is given in the form that there is.
    check("identity;q=0", None).await;
    check("zstd, *;q=0", None).await;
    // It would get longer.
    let headers = format!("{CLOSE}Accept-Encoding: gzip\r\n");
    let reply = server.ask(post("/healthz", &headers, "")).await;
    reply.assert_failure(405, "method not allowed on /healthz");
    assert_eq!(reply.header("content-encoding"), None);
    assert_eq!(reply.header("vary"), Some("accept-encoding"));
}

#[tokio::test]
async fn readiness_names_every_language() {
    let server = TestServer::start().await;
    let request = format!("GET /readyz HTTP/1.1\r\nHost: x\r\n{CLOSE}\r\n");
    let reply = server.ask(request).await;
    assert_eq!(reply.status, 200);
    let body: serde_json::Value = serde_json::from_slice(&reply.body).unwrap();
    let languages = body["languages"].as_array().unwrap();
    let found: Vec<_> = languages
        .iter()
        .map(|own| (own["id"].as_str(), own["state"].as_str()))
        .collect();
    let expected =
        [(Some("python"), Some("ready")), (Some("c"), Some("missing"))];
    assert_eq!(found, expected);
    assert!(languages[0]["proof_age_ms"].is_u64(), "{body}");
    assert_eq!(languages[1]["reason"], "build it");
}
