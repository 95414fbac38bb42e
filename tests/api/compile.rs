//! `POST /api/compile` up to the point where a program would run: there is no
//! image here, so that a request which is right ends in 503.

use sandpiper_testkit::Reply;
use sandpiper_testkit::Server;

const JSON: &str = "Content-Type: application/json";
const RIGHT: &str = r#"{"language":"python","entryFile":"main.py","files":[{"path":"main.py","content":"print(1)"}]}"#;

/// A server on which requests are not counted.
fn unlimited() -> Server {
    Server::with(&["--compile-rate-limit", "0"])
}

fn compile(server: &Server, body: impl AsRef<[u8]>) -> Reply {
    server.send("POST", "/api/compile", &[JSON], body)
}

/// A right request but for the paths of its files; the first is run.
fn with_paths(paths: &[&str]) -> String {
    let files: Vec<_> = paths
        .iter()
        .map(|path| serde_json::json!({ "path": path, "content": "" }))
        .collect();
    let request = serde_json::json!({
        "language": "python", "entryFile": paths[0], "files": files,
    });
    request.to_string()
}

#[test]
fn a_language_that_cannot_run_says_why() {
    let server = unlimited();
    let hint = "sandpiper images build";
    compile(&server, RIGHT).assert_failure_about(503, &["Python", hint]);
    // A client that asks for events gets JSON, too.
    let right = serde_json::from_str(RIGHT).unwrap();
    let refused = server.stream(&[], &right).unwrap_err();
    refused.assert_failure_about(503, &["Python", hint]);
    for alias in ["PYTHON", "py", "Python3"] {
        let body = RIGHT.replace("python", alias);
        compile(&server, body).assert_failure_about(503, &[hint]);
    }
}

#[test]
fn failures_are_reported_in_order() {
    let server = Server::with(&["--compile-rate-limit=0", "--artifact-size=0"]);
    for path in ["/api/compile", "/api/run"] {
        let reply = server.ask("GET", path);
        let message = format!("method not allowed on {path}");
        reply.assert_failure(405, &message);
        assert_eq!(reply.header("allow"), Some("POST, OPTIONS"));
        assert_eq!(server.ask("HEAD", path).status, 405);

        let oversized = vec![b'['; (2 << 20) + 1];
        let reply = server.send("POST", path, &[], &oversized);
        reply.assert_failure(415, "Content-Type must be application/json");
        let send = |body: &[u8]| server.send("POST", path, &[JSON], body);
        let message = "the request body must not be larger than 2 MiB";
        send(&oversized).assert_failure(413, message);

        let many = vec![r#"{"path":"a","content":""}"#; 201].join(",");
        let many = format!(r#"{{"language":5,"files":[{many}]}}"#);
        let longer = many.clone() + "x";
        send(longer.as_bytes()).assert_failure(400, "invalid JSON body");
        let message = "a submission must not have more than 200 files";
        send(many.as_bytes()).assert_failure(413, message);

        let is = |body: &str, message: &str| {
            send(body.as_bytes()).assert_failure(400, message);
        };
        let body = r#"{"language":"nope","entryFile":5,"files":[]}"#;
        is(body, "entryFile must be a string");
        let body = r#"{"language":"nope","entryFile":"a","files":[]}"#;
        is(body, "files must hold at least one file");
        let body = r#"{"language":"pyton","entryFile":"a","files":[{"path":"/b","content":""}]}"#;
        if path == "/api/run" {
            let own = |more: &str| body.replace("\"entryFile", more);
            let more = r#""interactive":true,"artifacts":true,"entryFile"#;
            is(&own(more), "interactive needs Accept: text/event-stream");
            let more = r#""artifacts":true,"entryFile"#;
            is(&own(more), "artifacts are off on this server");
        }
        let about = |body: &str, parts: &[&str]| {
            send(body.as_bytes()).assert_failure_about(400, parts);
        };
        about(body, &["pyton", "python", "cpp"]);
        about(&body.replace("pyton", "python"), &["/b", "slash"]);
        let other = r#""entryFile":"x""#;
        let body = RIGHT.replace(r#""entryFile":"main.py""#, other);
        is(&body, r#"entryFile "x" is not one of the files"#);
    }
}

#[test]
fn the_content_type_must_be_json() {
    let server = unlimited();
    let check = |headers: &[&str], status: u16| {
        let reply = server.send("POST", "/api/compile", headers, RIGHT);
        assert_eq!(reply.status, status, "{headers:?}: {reply:?}");
    };
    check(&["Content-Type: application/json"], 503);
    check(&["content-type: Application/JSON; Charset=UTF-8"], 503);
    check(&["Content-Type: application/vnd.api+json"], 503);
    check(&["Content-Type: text/plain"], 415);
    check(&["Content-Type: application/x-www-form-urlencoded"], 415);
    check(&["Content-Type: text/json"], 415);
    check(&["Content-Type:"], 415);
    check(&[], 415);
}

#[test]
fn fields_are_checked_by_name() {
    let server = unlimited();
    let check = |body: &str, parts: &[&str]| {
        compile(&server, body).assert_failure_about(400, parts);
    };
    for body in ["", "{", "[]", "null", "1", "\"a\"", "\u{feff}{}"] {
        check(body, &["invalid JSON body"]);
    }
    compile(&server, b"{\"language\":\"\xff\"}")
        .assert_failure(400, "invalid JSON body");
    check("{}", &["language", "missing", "a string"]);
    check(r#"{"language":null}"#, &["language must be a string"]);
    check(&RIGHT.replace("\"main.py\",\"files", "7,\"files"), &["entryFile"]);
    check(&RIGHT.replace("entryFile", "entryfile"), &["entryFile"]);
    check(&RIGHT.replace("\"content\"", "\"text\""), &["files[0].content"]);
    check(&RIGHT.replace("\"print(1)\"", "[1]"), &["files[0].content"]);
    check(&RIGHT.replace('}', ",\"stdin\":1}"), &["stdin must be a string"]);
}

#[test]
fn what_does_not_matter_is_ignored() {
    let server = unlimited();
    let check = |extra: &str| {
        let body = format!("{},{extra}}}", RIGHT.strip_suffix('}').unwrap());
        compile(&server, body).assert_failure_about(503, &["Python"]);
    };
    check(r#""stdin":"""#);
    check(r#""stdin":"\ud800""#);
    check(r#""other":{"language":5},"x":1e999"#);
    check(r#""language":"python""#);
    check(&format!(r#""x":{}{}"#, "[".repeat(100_000), "]".repeat(100_000)));
}

#[test]
fn bad_paths_are_named() {
    let server = unlimited();
    let long_segment = "x".repeat(256);
    let long_path = "x/".repeat(512) + "x";
    for path in [
        "",
        "/a.py",
        ".",
        "..",
        "./a",
        "a/.",
        "../a",
        "a/../b",
        "a//b",
        "a/",
        "a\0b",
        "a\nb",
        "a\u{7f}b",
        "a\\b",
        &long_segment,
        &long_path,
    ] {
        let reply = compile(&server, with_paths(&[path]));
        reply.assert_failure_about(400, &["path"]);
    }
    for paths in [["a", "a"], ["a", "a/b"], ["a/b", "a"]] {
        let reply = compile(&server, with_paths(&paths));
        reply.assert_failure_about(400, &["path"]);
    }
    let most = "x".repeat(255);
    for path in ["a.py", "a b", "ä/é.py", "-x", "a/b/c/d", "...", &most] {
        let reply = compile(&server, with_paths(&[path]));
        reply.assert_failure_about(503, &[]);
    }
}

#[test]
fn two_hundred_files_are_not_too_many() {
    let server = unlimited();
    let paths: Vec<String> =
        (0..200).map(|index| format!("f{index}.py")).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    for path in ["/api/compile", "/api/run"] {
        let reply = server.send("POST", path, &[JSON], with_paths(&paths));
        reply.assert_failure_about(503, &[]);
    }
}

#[test]
fn any_origin_may_ask() {
    let server = unlimited();
    let preflight = server.send(
        "OPTIONS",
        "/api/compile",
        &[
            "Origin: https://school.example",
            "Access-Control-Request-Method: POST",
            "Access-Control-Request-Headers: content-type",
        ],
        "",
    );
    assert_eq!((preflight.status, preflight.text()), (204, ""));
    let check = |name: &str, value: Option<&str>| {
        assert_eq!(preflight.header(name), value, "{}", preflight.head);
    };
    check("access-control-allow-origin", Some("*"));
    check("access-control-allow-methods", Some("POST"));
    let headers = Some("Content-Type, Sandpiper-Run");
    check("access-control-allow-headers", headers);
    check("access-control-max-age", Some("86400"));
    check("access-control-allow-credentials", None);
    check("ratelimit", None);
    for reply in [
        compile(&server, RIGHT),
        compile(&server, "{"),
        server.send("POST", "/api/compile", &[], RIGHT),
        server.ask("GET", "/api/compile"),
    ] {
        assert_eq!(reply.header("access-control-allow-origin"), Some("*"));
        let exposed = reply.header("access-control-expose-headers").unwrap();
        for name in [
            "Server-Timing",
            "Sandpiper-Exit",
            "RateLimit",
            "RateLimit-Policy",
            "Retry-After",
            "X-Request-Id",
        ] {
            assert!(exposed.split(", ").any(|own| own == name), "{name}");
        }
    }
    for what in ["input", "stop"] {
        let target = format!("/api/run/{}/{what}", "0".repeat(32));
        for (method, status) in [("OPTIONS", 204), ("POST", 404)] {
            let reply = server.send(method, &target, &[JSON], "{}");
            assert_eq!(reply.status, status, "{method} {target}");
            let origins = reply.header("access-control-allow-origin");
            assert_eq!(origins, Some("*"), "{method} {target}");
            for name in ["ratelimit", "ratelimit-policy", "x-request-id"] {
                assert_eq!(reply.header(name), None, "{method} {target}");
            }
        }
    }
}

#[test]
fn the_21st_request_within_a_minute_is_refused() {
    let server = Server::start();
    for _ in 0..20 {
        compile(&server, "{").assert_failure(400, "invalid JSON body");
    }
    let reply = compile(&server, RIGHT);
    reply.assert_failure_about(429, &["20 requests in 60 s"]);
    let policy = Some("\"compile\";q=20;w=60");
    assert_eq!(reply.header("ratelimit-policy"), policy);
    assert!(reply.header("retry-after").is_some());
    // A preflight is free; other routes have no limit.
    assert_eq!(server.ask("OPTIONS", "/api/compile").status, 204);
    server.ask("GET", "/products").assert_json(200, "[]");
}

#[test]
fn clients_behind_a_named_proxy_are_counted_apart() {
    let ask = |server: &Server, header: &str| {
        let reply = server.send("POST", "/api/compile", &[header], "");
        reply
            .header("ratelimit")
            .map(|state| state.split([';', '=']).nth(2).unwrap().to_owned())
    };
    let left = |count: &str| Some(count.to_owned());
    let server = Server::with(&[
        "--trusted-proxy",
        "127.0.0.0/8",
        "--compile-rate-limit",
        "5",
        "--rate-limit-for",
        "198.51.100.0/24=50",
        "--rate-limit-for",
        "203.0.113.0/24=0",
    ]);
    let forwarded = "X-Forwarded-For: 6.6.6.6, 192.0.2.1";
    assert_eq!(ask(&server, forwarded), left("4"));
    assert_eq!(ask(&server, "X-Forwarded-For: ::ffff:192.0.2.1"), left("3"));
    assert_eq!(ask(&server, "X-Forwarded-For: 192.0.2.2"), left("4"));
    assert_eq!(ask(&server, "X-Forwarded-For: 198.51.100.9"), left("49"));
    assert_eq!(ask(&server, "X-Forwarded-For: 203.0.113.9"), None);
    assert_eq!(ask(&server, "X-None: 1"), left("4"));

    let server = Server::start();
    assert_eq!(ask(&server, "X-Forwarded-For: 192.0.2.1"), left("19"));
    assert_eq!(ask(&server, "X-Forwarded-For: 192.0.2.2"), left("18"));
}

#[test]
fn no_other_header_gives_a_client_a_second_limit() {
    let check = |flags: &[&str], own: &str, other: &str| {
        let proxy = ["--trusted-proxy=127.0.0.1"];
        let server = Server::with(&[flags, &proxy].concat());
        let left = |headers: &[&str]| {
            let reply = server.send("POST", "/api/compile", headers, "");
            let state = reply.header("ratelimit").expect("a limit").to_owned();
            state.split([';', '=']).nth(2).map(str::to_owned)
        };
        assert_eq!(left(&[own]).as_deref(), Some("19"), "{own}");
        assert_eq!(left(&[own, other]).as_deref(), Some("18"), "{other}");
        assert_eq!(left(&[other, own]).as_deref(), Some("17"), "{other}");
    };
    let (list, standard) =
        ("X-Forwarded-For: 192.0.2.1", "Forwarded: for=9.9.9.9");
    check(&[], list, standard);
    check(&[], list, "X-Real-IP: 9.9.9.9");
    check(&["--client-header=forwarded"], standard, list);
    check(&["--client-header=X-Real-IP"], "X-Real-IP: 192.0.2.1", list);
}

#[test]
fn an_unnamed_proxy_is_reported_once() {
    let warnings = |flags: &[&str], headers: &[&str]| {
        let server = Server::with(flags);
        for _ in 0..3 {
            server.send("POST", "/api/compile", headers, "");
        }
        let log = server.into_log();
        assert!(log.contains("stopped"), "{log}");
        log.lines()
            .filter(|line| line.contains("WARN"))
            .filter(|line| line.contains("--trusted-proxy 127.0.0.1"))
            .count()
    };
    assert_eq!(warnings(&[], &["X-Forwarded-For: 192.0.2.1"]), 1);
    let standard = ["Forwarded: for=192.0.2.1"];
    assert_eq!(warnings(&[], &standard), 0);
    assert_eq!(warnings(&["--client-header", "Forwarded"], &standard), 1);
    assert_eq!(warnings(&[], &["X-None: 1"]), 0);
    let named = ["--trusted-proxy", "127.0.0.0/8"];
    assert_eq!(warnings(&named, &["X-Forwarded-For: 192.0.2.1"]), 0);
    let other = ["--trusted-proxy", "10.0.0.0/8"];
    assert_eq!(warnings(&other, &["X-Forwarded-For: 192.0.2.1"]), 0);
}
