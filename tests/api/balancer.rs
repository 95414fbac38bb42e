//! A server that is one of several behind a balancer.

use sandpiper_testkit::Server;

const RIGHT: &str = r#"{"language":"python","entryFile":"main.py","files":[{"path":"main.py","content":"print(1)"}]}"#;
const PROXY: &str = "--trusted-proxy=127.0.0.0/8";

/// There is no image here, so the run is refused.
fn refused(server: &Server, headers: &[&str]) -> sandpiper_testkit::Reply {
    let headers = [&["Content-Type: application/json"], headers].concat();
    server.send("POST", "/api/compile", &headers, RIGHT)
}

#[test]
fn a_proxy_has_a_status_of_its_own_if_another_node_may_run_it() {
    let check = |flags: &[&str], expected: u16| {
        let server = Server::with(flags);
        let reply = refused(&server, &[]);
        reply.assert_failure_about(expected, &["Python"]);
        // No node could run it.
        let wrong = server.send("POST", "/api/compile", &[], RIGHT);
        assert_eq!(wrong.status, 415);
    };
    check(&[PROXY], 503);
    check(&[PROXY, "--elsewhere-status=425"], 425);
    check(&[PROXY, "--elsewhere-status=502"], 502);
    check(&["--elsewhere-status=425"], 503);
    check(&["--trusted-proxy=10.0.0.0/8", "--elsewhere-status=425"], 503);
}

#[test]
fn the_log_has_the_id_that_a_proxy_gives_a_request() {
    const TAKEN: &str = "--request-id-from-proxy";
    let check = |flags: &[&str], headers: &[&str], expected: Option<&str>| {
        let server = Server::with(&[flags, &["--log-format=json"]].concat());
        let reply = refused(&server, headers);
        let line = server.line_of(&reply);
        let line: serde_json::Value = serde_json::from_str(&line).unwrap();
        assert_eq!(line["try_of"].as_str(), expected, "{flags:?} {headers:?}");
        let own = reply.header("x-request-id");
        assert_eq!(line["request"].as_str(), own);
        assert_ne!(own, expected);
    };
    let id = "Sandpiper-Request: 6f1c2a9b-01Ab";
    check(&[PROXY, TAKEN], &[id], Some("6f1c2a9b-01Ab"));
    check(&[PROXY, TAKEN], &[], None);
    check(&[PROXY, TAKEN], &[id, id], None);
    check(&[PROXY, TAKEN], &["Sandpiper-Request: a b c d e f"], None);
    check(&[PROXY], &[id], None);
    check(&[TAKEN], &[id], None);
}
