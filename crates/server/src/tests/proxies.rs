//! Requests that come through proxies that the operator named.

use http::StatusCode;

use super::*;

/// Refuses a run for a reason of this server's own, or as busy.
async fn status(proxy: &str, language: &str) -> u16 {
    let settings = ServerSettings {
        trusted_proxies: vec![proxy.parse().unwrap()],
        elsewhere_status: StatusCode::TOO_EARLY,
        ..ServerSettings::default()
    };
    let server = TestServer::in_memory(settings).await;
    server.compile(language).await.status
}

#[tokio::test(start_paused = true)]
async fn proxies_learn_that_another_node_may_run_it() {
    let check = async |proxy: &str, language: &str, expected: u16| {
        assert_eq!(status(proxy, language).await, expected, "{language}");
    };
    const HERE: &str = "127.0.0.0/8";
    const OTHER: &str = "10.0.0.0/8";
    for language in ["unavailable", "building", "short", "live", "live share"] {
        check(HERE, language, 425).await;
        check(OTHER, language, 503).await;
    }
    check(HERE, "echo", 200).await;
    check(HERE, "fail", 500).await;
    for language in ["busy", "share", "wait"] {
        check(HERE, language, 503).await;
    }
}
