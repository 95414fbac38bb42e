//! Runs of a server that is one of several behind a balancer.

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::live::Dialogue;
use crate::results::request;
use crate::service::{Server, start_python};

fn python(source: &str) -> Value {
    request("python", "main.py", source, &json!({}))
}

#[test]
#[ignore = "needs the images: make test"]
fn a_node_is_known_by_the_ids_of_its_runs() {
    let server = start_python(&["--node-tag=n1", "--live-boxes=1"]);
    let mut live = Dialogue::start(&server, &python("print(input('? '))"));
    live.events.until("? ");
    let id = live.events.run.clone().unwrap();
    let digits = id.strip_prefix("n1-").expect(&id);
    let is_digit = |it: u8| b"0123456789abcdef".contains(&it);
    assert!(digits.len() == 32 && digits.bytes().all(is_digit), "{id}");
    let elsewhere = server.tell(&format!("n2-{digits}"), "stop", "");
    elsewhere.assert_failure(404, "no such run");
    let input = json!({ "text": "a\n" });
    assert_eq!(live.tell("input", &input).status, 204);
    assert_eq!(live.events.end()["exit"], json!({ "code": 0 }));
    a_named_run_gets_the_tag(&server);
}

fn a_named_run_gets_the_tag(server: &Server) {
    let source = python("print('begun', flush=True)\nwhile True: pass");
    let own = "0123456789abcdef0123456789abcdef";
    for stopped_as in [format!("n1-{own}"), own.to_owned()] {
        let name = format!("Sandpiper-Run: {own}");
        let mut events = server.stream(&[&name], &source).unwrap();
        events.until("begun");
        assert_eq!(events.run, Some(format!("n1-{own}")));
        assert_eq!(server.tell(&stopped_as, "stop", "").status, 204);
        assert_eq!(events.end()["exit"], json!({ "stopped": true }));
    }
}

#[test]
#[ignore = "needs the images: make test"]
fn the_line_of_a_run_says_which_request_it_is_a_try_of() {
    let server = start_python(&[
        "--trusted-proxy=127.0.0.1",
        "--request-id-from-proxy",
        "--log-format=json",
    ]);
    let headers =
        ["Content-Type: application/json", "Sandpiper-Request: 01-ab-CD"];
    let body = python("print(1)").to_string();
    let reply = server.send("POST", "/api/run", &headers, body);
    assert_eq!(reply.status, 200, "{}", reply.text());
    let line: Value = serde_json::from_str(&server.line_of(&reply)).unwrap();
    assert_eq!(line["outcome"], "ok");
    assert_eq!(line["try_of"], "01-ab-CD");
}

/// It would otherwise last as long as `--drain-time`, and have no end.
#[test]
#[ignore = "needs the images: make test"]
fn a_server_that_stops_ends_its_interactive_runs() {
    let server = start_python(&["--live-boxes=1", "--drain-time=24h"]);
    let mut live = Dialogue::start(&server, &python("input('? ')"));
    live.events.until("? ");
    let pid = Pid::from_raw(server.pid()).unwrap();
    kill_process(pid, Signal::TERM).unwrap();
    let end = live.events.end();
    assert_eq!(end["exit"], json!({ "stopped": true }));
    assert_eq!(end["message"], "The server stopped");
    server.line_with("INFO stopped");
}
