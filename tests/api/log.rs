//! The log: every compile request has an id, which the client reads too, and
//! nothing that a client wrote is ever in it.

use serde_json::Value;

use sandpiper_testkit::Reply;
use sandpiper_testkit::Server;

const JSON: &str = "Content-Type: application/json";
/// A word that no line of the log may hold.
const MARK: &str = "m4rk3r";

/// The id of an answer: well-formed, and one that a page may read.
fn id(reply: &Reply) -> String {
    let id = reply.header("x-request-id").expect(&reply.head);
    assert_eq!(id.len(), 16, "{id}");
    assert!(id.chars().all(|digit| digit.is_ascii_hexdigit()), "{id}");
    let exposed = reply.header("access-control-expose-headers");
    let exposed = exposed.expect(&reply.head);
    assert!(exposed.split(", ").any(|name| name == "X-Request-Id"));
    id.to_owned()
}

fn body(language: &str, path: &str) -> String {
    let request = serde_json::json!({
        "language": language,
        "entryFile": path,
        "files": [{ "path": path, "content": format!("# {MARK}") }],
        "stdin": format!("{MARK}\n2026-01-01T00:00:00Z ERROR forged"),
        MARK: "\u{1b}[31m",
    });
    request.to_string()
}

/// Sends the mark wherever a client can put something; the answers to
/// compile requests, with the status of each.
fn send_marks(server: &Server) -> Vec<Reply> {
    let forged = format!("{MARK}\n2026-01-01T00:00:00Z  INFO forged");
    let colour = format!("{MARK}\u{1b}[31m\u{7}\r");
    let marked = [
        JSON,
        &format!("X-Request-Id: {MARK}"),
        &format!("User-Agent: {MARK}"),
        &format!("Cookie: {MARK}"),
        &format!("X-Forwarded-For: {MARK}"),
        &format!("Origin: http://{MARK}.example"),
    ];
    let send = |headers: &[&str], body: String| {
        server.send("POST", "/api/compile", headers, body)
    };
    let target = format!("/{MARK}?{MARK}");
    server.ask(MARK, &target);
    server.ask("GET", &format!("/products/{MARK}%0a{MARK}"));
    server.ask("GET", &format!("/embed?lang={MARK}"));
    server.send(
        "POST",
        "/products",
        &marked,
        format!("{{\"name\":\"{MARK}\"}}"),
    );
    server.raw(format!("{MARK}\r\n\r\n"));
    server.raw(format!("GET / HTTP/1.1\r\n{MARK}\u{7f}: {MARK}\r\n\r\n"));
    vec![
        send(&marked, body("python", &format!("{MARK}.py"))),
        send(&marked, body(&forged, MARK)),
        send(&marked, body(&colour, MARK)),
        send(&marked, body("c", &forged)),
        send(&marked, body("c", &format!("/{MARK}"))),
        send(&marked, MARK.to_owned()),
        send(&[&format!("Content-Type: {MARK}")], MARK.to_owned()),
        server.ask("GET", &format!("/api/compile?{MARK}")),
        send(&marked, body("python", &format!("{MARK}.py"))),
        send(&marked, body("python", &format!("{MARK}.py"))),
    ]
}

/// Every status that a request can have here, in the order in which they are
/// sent; eight are admitted.
const STATUSES: [u16; 10] = [503, 400, 400, 400, 400, 400, 415, 405, 503, 429];

fn check(format: &str, is_line: impl Fn(&str) -> bool) {
    let server = Server::with(&[
        "--log-level=trace",
        "--log-format",
        format,
        "--compile-rate-limit=8",
    ]);
    let replies = send_marks(&server);
    let statuses: Vec<u16> = replies.iter().map(|reply| reply.status).collect();
    assert_eq!(statuses, STATUSES);
    let log = server.into_log();
    let mut ids: Vec<String> = replies.iter().map(id).collect();
    for (reply, id) in replies.iter().zip(&ids) {
        let lines: Vec<&str> =
            log.lines().filter(|line| line.contains(id)).collect();
        // A wrong method is refused before anything else is looked at.
        let expected = usize::from(reply.status != 405);
        assert_eq!(lines.len(), expected, "{id} in {log}");
        let status = reply.status.to_string();
        assert!(lines.iter().all(|line| line.contains(&status)), "{log}");
    }
    ids.sort();
    ids.dedup();
    assert_eq!(ids.len(), replies.len(), "an id comes twice");
    assert!(!log.contains(MARK), "{log}");
    assert!(!log.contains("forged"), "{log}");
    assert!(!log.contains('\u{1b}'), "{log}");
    for line in log.lines() {
        assert!(is_line(line), "{line:?} in {log}");
    }
}

#[test]
fn lines_for_people_hold_nothing_of_a_client() {
    check("text", |line| {
        let (time, rest) = line.split_once('Z').unwrap_or_default();
        time.len() == "2026-01-01T00:00:00.000000".len()
            && ["TRACE", "DEBUG", "INFO", "WARN", "ERROR"]
                .iter()
                .any(|level| rest.trim_start().starts_with(level))
    });
}

#[test]
fn lines_of_json_hold_nothing_of_a_client() {
    check("json", |line| {
        let line: Value = serde_json::from_str(line).unwrap_or_default();
        line["timestamp"].is_string() && line["level"].is_string()
    });
}

/// Without asking for more than the usual, a client cannot fill the log.
#[test]
fn what_clients_do_wrong_is_not_logged() {
    let server = Server::with(&["--compile-rate-limit=8"]);
    let replies = send_marks(&server);
    let log = server.into_log();
    let logged: Vec<u16> = replies
        .iter()
        .filter(|reply| log.contains(&id(reply)))
        .map(|reply| reply.status)
        .collect();
    assert_eq!(logged, [503, 503]);
}
