//! Frameworks: left out of documents, and served as assets.

use std::fs;
use std::io::Read;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

use super::*;

const FRAMEWORK: &str = "(() => { /* é */ })();\n";

/// The parts of stdout in a run's events: texts, and addresses as `[path]`.
type Parts = Vec<String>;

/// Runs a document that contains exactly these bytes.
async fn run(server: &TestServer, document: &[u8], options: &str) -> Reply {
    let content = BASE64_STANDARD.encode(document);
    let body = format!(
        r#"{{"language":"document","entryFile":"a","files":[{{"path":"a",
            "content":"{content}","encoding":"base64"}}]{options}}}"#
    );
    let headers = format!("{JSON}{CLOSE}Accept: text/event-stream\r\n");
    server.ask(post("/api/run", &headers, &body)).await
}

/// Returns the events with these names.
fn events(reply: &Reply, names: &[&str]) -> Vec<serde_json::Value> {
    let text = unchunked(&reply.body);
    text.split_terminator("\n\n")
        .filter_map(|event| {
            let (name, data) = event.split_once("\ndata: ")?;
            let name = name.strip_prefix("event: ")?;
            let is_wanted = names.contains(&name);
            is_wanted.then(|| serde_json::from_str(data).unwrap())
        })
        .collect()
}

/// Returns a body that came in chunks.
fn unchunked(mut body: &[u8]) -> String {
    let mut bytes = Vec::new();
    while let Some(end) = body.iter().position(|byte| *byte == b'\n') {
        let length = str::from_utf8(&body[..end]).unwrap().trim();
        let length = usize::from_str_radix(length, 16).unwrap();
        bytes.extend_from_slice(&body[end + 1..][..length]);
        body = &body[end + 1 + length + 2..];
    }
    String::from_utf8(bytes).unwrap()
}

fn parts(reply: &Reply) -> Parts {
    let events = events(reply, &["output", "framework"]);
    let outputs = events.iter().filter(|event| event["stream"] != "stderr");
    outputs
        .map(|event| match event["text"].as_str() {
            Some(text) => text.to_owned(),
            None => format!("[{}]", event["path"].as_str().unwrap()),
        })
        .collect()
}

async fn get(server: &TestServer, path: &str, headers: &str) -> Reply {
    let head = format!("GET /{path} HTTP/1.1\r\nHost: x\r\n{CLOSE}");
    server.ask(format!("{head}{headers}\r\n")).await
}

const EXTERNAL: &str = r#","framework":"external""#;

#[tokio::test]
async fn only_exactly_the_framework_is_left_out() {
    let settings =
        ServerSettings { compile_rate_limit: 0, ..ServerSettings::default() };
    let server = TestServer::with(settings).await;
    fs::write(server.runs.framework(), FRAMEWORK).unwrap();
    let whole = run(&server, FRAMEWORK.as_bytes(), EXTERNAL).await;
    let address = parts(&whole).concat();
    assert!(address.starts_with("[embed/assets/framework-document-"));
    let check = async |document: &[u8], expected: &[&str]| {
        let reply = run(&server, document, EXTERNAL).await;
        let found = parts(&reply);
        assert_eq!(found, expected, "{document:?}");
        // Put back, it is the document that others get.
        let inline = parts(&run(&server, document, "").await).concat();
        let put_back = found.concat().replace(&address, FRAMEWORK);
        assert_eq!(put_back, inline, "{document:?}");
    };
    let check_text = async |document: &str, expected: &[&str]| {
        check(document.as_bytes(), expected).await;
    };
    let all = |before: &str, rest: &str| format!("{before}{FRAMEWORK}{rest}");
    check_text(&all("<b>", "</b>"), &["<b>", &address, "</b>"]).await;
    check_text(&all("", "</b>"), &[&address, "</b>"]).await;
    check_text(&all("<b>", ""), &["<b>", &address]).await;
    // Twice: the first one.
    let rest = all("<i>", "</i>");
    check_text(&all("<b>", &rest), &["<b>", &address, &rest]).await;
    // A part of it, or with another byte.
    check_text("", &[]).await;
    check_text("<b>", &["<b>"]).await;
    for end in [1, FRAMEWORK.len() - 1] {
        check_text(&FRAMEWORK[..end], &[&FRAMEWORK[..end]]).await;
        check_text(&FRAMEWORK[end..], &[&FRAMEWORK[end..]]).await;
    }
    for at in 0..FRAMEWORK.len() {
        let mut other = FRAMEWORK.as_bytes().to_vec();
        other[at] ^= 1;
        let text = String::from_utf8_lossy(&other);
        check(&other, &[&*text]).await;
    }
    // Half a character before it, and half a one behind it.
    let halves = [b"a\xc3", FRAMEWORK.as_bytes(), b"\xa9b"].concat();
    check(&halves, &["a\u{fffd}", &address, "\u{fffd}b"]).await;
}

#[tokio::test]
async fn a_framework_is_an_asset() {
    let server = TestServer::start().await;
    fs::write(server.runs.framework(), FRAMEWORK).unwrap();
    let reply = run(&server, FRAMEWORK.as_bytes(), EXTERNAL).await;
    let event = &events(&reply, &["framework"])[0];
    let hash = BASE64_STANDARD.encode(Sha256::digest(FRAMEWORK));
    assert_eq!(event["integrity"], format!("sha256-{hash}"));
    let path = event["path"].as_str().unwrap();
    let check = async |accepted: &str, coding, unpack: fn(&[u8]) -> Vec<u8>| {
        let headers = format!("Accept-Encoding: {accepted}\r\n");
        let reply = get(&server, path, &headers).await;
        assert_eq!(reply.status, 200, "{accepted}");
        assert_eq!(reply.header("content-encoding"), coding, "{accepted}");
        assert_eq!(unpack(&reply.body), FRAMEWORK.as_bytes(), "{accepted}");
        let cache = reply.header("cache-control").unwrap();
        assert!(cache.contains("immutable"), "{cache}");
        let tag = reply.header("etag").unwrap();
        let known = format!("{headers}If-None-Match: {tag}\r\n");
        assert_eq!(get(&server, path, &known).await.status, 304, "{accepted}");
        tag.to_owned()
    };
    let tags = [
        check("br, gzip", Some("br"), |bytes| {
            read(brotli::Decompressor::new(bytes, 4096))
        })
        .await,
        check("gzip", Some("gzip"), |bytes| {
            read(flate2::read::GzDecoder::new(bytes))
        })
        .await,
        check("identity", None, |bytes| bytes.to_vec()).await,
    ];
    assert!(tags[0] != tags[1] && tags[1] != tags[2], "{tags:?}");
    let head = format!("HEAD /{path} HTTP/1.1\r\nHost: x\r\n{CLOSE}\r\n");
    let head = server.ask(head).await;
    assert_eq!((head.status, &head.body[..]), (200, &b""[..]));
    let headers = format!("{JSON}{CLOSE}");
    let posted = server.ask(post(&format!("/{path}"), &headers, "")).await;
    assert_eq!(posted.status, 405);
}

fn read(mut reader: impl Read) -> Vec<u8> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes).unwrap();
    bytes
}

#[tokio::test]
async fn another_framework_has_another_address() {
    let server = TestServer::start().await;
    let path = async |document: &str| {
        let reply = run(&server, document.as_bytes(), EXTERNAL).await;
        let event = events(&reply, &["framework"]).into_iter().next();
        event.map(|event| event["path"].as_str().unwrap().to_owned())
    };
    // There is none yet.
    assert_eq!(path("").await, None);
    assert_eq!(path("one").await, None);
    fs::write(server.runs.framework(), "one").unwrap();
    let one = path("one").await.unwrap();
    assert_eq!(get(&server, &one, "").await.body, b"one");
    let new = server.runs.framework().with_extension("new");
    fs::write(&new, "two").unwrap();
    fs::rename(&new, server.runs.framework()).unwrap();
    assert_eq!(path("one").await, None);
    let two = path("two").await.unwrap();
    assert_eq!(get(&server, &two, "").await.body, b"two");
    fs::remove_file(server.runs.framework()).unwrap();
    assert_eq!(path("two").await, None);
    // Another server, or this one later, may have them.
    for path in [
        &*one,
        &two,
        "embed/assets/framework-document-.js",
        "embed/assets/framework-document",
        "embed/assets/framework-python-0123456789abcdef.js",
        "embed/assets/framework-../document-0.js",
    ] {
        let reply = get(&server, path, "").await;
        reply.assert_failure(404, "not found");
        assert_eq!(reply.header("cache-control"), Some("no-store"), "{path}");
    }
    for unfit in [&b""[..], b"\xff", &vec![b'a'; (8 << 20) + 1]] {
        fs::write(server.runs.framework(), unfit).unwrap();
        assert_eq!(path("a").await, None);
    }
}

#[tokio::test]
async fn a_client_gets_it_inline_unless_it_asks() {
    let server = TestServer::start().await;
    fs::write(server.runs.framework(), FRAMEWORK).unwrap();
    for options in [
        "",
        r#","framework":"inline""#,
        // Its output has to come while it runs.
        r#","framework":"external","interactive":true"#,
    ] {
        let reply = run(&server, FRAMEWORK.as_bytes(), options).await;
        assert_eq!(parts(&reply), [FRAMEWORK], "{options}");
    }
    let body = format!(
        r#"{{"language":"document","entryFile":"a","files":[{{"path":"a",
            "content":{}}}]{EXTERNAL}}}"#,
        serde_json::json!(FRAMEWORK)
    );
    for path in ["/api/run", "/api/compile"] {
        let headers = format!("{JSON}{CLOSE}");
        let reply = server.ask(post(path, &headers, &body)).await;
        let answer: serde_json::Value =
            serde_json::from_str(reply.text()).unwrap();
        let run = answer.get("run").unwrap_or(&answer);
        assert_eq!(run["stdout"], FRAMEWORK, "{path}");
    }
}
