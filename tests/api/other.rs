//! The other paths, and what holds for all of them.

use std::collections::BTreeSet;
use std::fs;
use std::io::Write;

use serde_json::Value;

use sandpiper_testkit::traces::descendants;
use sandpiper_testkit::{Reply, Server, connect, eventually, read};

#[test]
fn unknown_paths_are_not_found_for_every_method() {
    let server = Server::start();
    for target in [
        "/nowhere",
        "/product",
        "/products1",
        "/Products",
        "/api",
        "/api/compile/",
        "/api/v1/execute",
        "/embed/",
        "/embed/nothing",
        "/index.html",
        "//",
        "//products",
        "/./products",
        "/..",
        "/%",
        "/%00",
        "/healthz/",
        "/metrics",
        "/favicon.ico",
    ] {
        for method in ["GET", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"] {
            server.ask(method, target).assert_failure(404, "not found");
        }
        let reply = server.ask("HEAD", target);
        assert_eq!((reply.status, reply.text()), (404, ""), "{target}");
    }
}

#[test]
fn nothing_redirects() {
    let server = Server::start();
    for target in ["/", "/products/", "/embed/", "/embed", "/api/compile/"] {
        let reply = server.ask("GET", target);
        assert!(!(300..400).contains(&reply.status), "{target}");
        assert_eq!(reply.header("location"), None, "{target}");
    }
}

#[test]
fn the_other_pages_take_get_and_head_only() {
    let server = Server::start();
    for target in ["/", "/healthz", "/readyz", "/openapi.json", "/embed.js"] {
        for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
            let reply = server.send(method, target, &[], "{}");
            let message = format!("method not allowed on {target}");
            reply.assert_failure(405, &message);
            assert_eq!(reply.header("allow"), Some("GET, HEAD"));
        }
    }
}

#[test]
fn health_and_readiness_are_reported() {
    let server = Server::start();
    server.ask("GET", "/healthz").assert_json(200, r#"{"status":"ok"}"#);
    let reply = server.ask("GET", "/readyz");
    assert_eq!(reply.header("content-type"), Some("application/json"));
    // There are no images here.
    assert_eq!(reply.status, 503);
    let report = reply.json();
    assert_eq!(report["error"], "no language is ready");
    let languages = report["languages"].as_array().unwrap();
    assert!(languages.iter().any(|language| language["id"] == "python"));
    for language in languages {
        let state = language["state"].as_str().unwrap();
        let known = ["building", "missing", "broken"].contains(&state);
        assert!(known, "{language}");
        assert!(!language["reason"].as_str().unwrap().is_empty());
    }
}

#[test]
fn metrics_are_on_the_admin_listener_alone() {
    let server = Server::start();
    server.ask("GET", "/products/1");
    server.send("POST", "/products", &[], r#"{"name":"a"}"#);
    let admin = |method: &str, target: &str| {
        let mut stream = connect(server.admin);
        let request = format!(
            "{method} {target} HTTP/1.1\r\nHost: localhost\r\n\
             Connection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        Reply::read(&mut stream)
    };
    let reply = admin("GET", "/metrics");
    assert_eq!(reply.status, 200);
    for line in [
        "sandpiper_http_requests_total{route=\"/products/{id}\",method=\"GET\",status=\"404\"} 1",
        "sandpiper_http_requests_total{route=\"/products\",method=\"POST\",status=\"201\"} 1",
        "sandpiper_products 1",
        "sandpiper_language_ready{language=\"python\"} 0",
        "# EOF",
    ] {
        let found = reply.text().lines().any(|own| own == line);
        assert!(found, "{line} is not in\n{}", reply.text());
    }
    admin("GET", "/products").assert_failure(404, "not found");
    admin("POST", "/metrics")
        .assert_failure(405, "method not allowed on /metrics");
}

/// Follows a `$ref` within the document.
fn resolved<'a>(document: &'a Value, value: &'a Value) -> &'a Value {
    match value["$ref"].as_str() {
        Some(pointer) => document.pointer(&pointer[1..]).expect(pointer),
        None => value,
    }
}

#[test]
#[cfg_attr(not(editor), ignore = "needs the editor page: make web")]
fn the_description_is_that_of_the_server() {
    let server = Server::start();
    let reply = server.ask("GET", "/openapi.json");
    assert_eq!(reply.header("content-type"), Some("application/json"));
    let document = reply.json();
    assert_eq!(document["info"]["version"], env!("CARGO_PKG_VERSION"));
    let check = |path: &str, method: &str, reply: &Reply| {
        let operation = &document["paths"][path][method];
        let responses = operation["responses"].as_object().expect(path);
        let status = reply.status.to_string();
        let response = responses.get(&status).expect(&status);
        let response = resolved(&document, response);
        let found = reply.header("content-type");
        let described = response["content"].as_object();
        let described = described.and_then(|types| types.keys().next());
        if described.is_some() || status == "204" {
            assert_eq!(found, described.map(String::as_str), "{method} {path}");
        }
        let content = &response["content"]["application/json"]["schema"];
        let schema = resolved(&document, content);
        for name in schema["required"].as_array().into_iter().flatten() {
            let name = name.as_str().expect("a name");
            assert!(reply.json().get(name).is_some(), "{path}: no {name}");
        }
    };
    let tea = r#"{"name":"tea"}"#;
    let post = |body| server.send("POST", "/products", &[], body);
    check("/products", "post", &post(tea));
    check("/products", "post", &post("{}"));
    check("/products", "get", &server.ask("GET", "/products"));
    for id in ["1", "2", "x"] {
        let target = format!("/products/{id}");
        let one = "/products/{id}";
        check(one, "get", &server.ask("GET", &target));
        check(one, "put", &server.send("PUT", &target, &[], tea));
        check(one, "delete", &server.ask("DELETE", &target));
    }
    let compile = "/api/compile";
    check(compile, "post", &server.send("POST", compile, &[], "{}"));
    let json = ["Content-Type: application/json"];
    check(compile, "post", &server.send("POST", compile, &json, "{}"));
    for path in
        ["/healthz", "/readyz", "/embed", "/embed/preview", "/embed.js", "/"]
    {
        check(path, "get", &server.ask("GET", path));
    }
    let asset = server.ask("GET", "/embed/assets/none.js");
    check("/embed/assets/{asset}", "get", &asset);
    let about = "/embed/about/{language}";
    check(about, "get", &server.ask("GET", "/embed/about/c"));
    check(about, "get", &server.ask("GET", "/embed/about/cobol"));
    check("/embed", "get", &server.ask("GET", "/embed?lang=x"));
}

#[test]
fn the_description_has_every_method_and_no_other() {
    let server = Server::start();
    let document = server.ask("GET", "/openapi.json").json();
    let paths = document["paths"].as_object().expect("paths");
    for (path, operations) in paths {
        let mut described: Vec<String> = operations
            .as_object()
            .expect(path)
            .keys()
            .filter(|key| *key != "parameters")
            .map(|key| key.to_uppercase())
            .collect();
        let target = path
            .replace("{id}", "1")
            .replace("{asset}", "x.js")
            .replace("{language}", "c");
        for method in [
            "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS",
            "TRACE", "QUERY",
        ] {
            let reply = server.ask(method, &target);
            let known = described.iter().any(|own| own == method);
            assert_eq!(reply.status != 405, known, "{method} {target}");
            if known {
                continue;
            }
            let allow = reply.header("allow").expect("what is allowed");
            let mut allowed: Vec<&str> = allow.split(", ").collect();
            allowed.sort_unstable();
            described.sort();
            assert_eq!(allowed, described, "{target}");
        }
    }
    assert!(paths.len() > 10);
}

#[test]
fn the_description_has_the_headers_that_pages_may_send() {
    let server = Server::start();
    let document = server.ask("GET", "/openapi.json").json();
    for path in ["/api/compile", "/api/run"] {
        let preflight = server.ask("OPTIONS", path);
        let allowed = preflight.header("access-control-allow-headers");
        let allowed = allowed.expect("headers").split(", ");
        // That of the body is no parameter.
        let allowed: Vec<_> =
            allowed.filter(|it| *it != "Content-Type").collect();
        let parameters = document["paths"][path]["parameters"].as_array();
        let headers = parameters.expect(path).iter();
        let headers = headers.filter(|it| it["in"] == "header");
        let described: Vec<_> = headers.map(|it| &it["name"]).collect();
        assert_eq!(described, allowed, "{path}");
    }
}

/// Adds the names that a part of the description has: of paths, parameters, headers,
/// statuses and fields.
fn add_names(part: &Value, names: &mut BTreeSet<String>) {
    const NAMED: [&str; 4] = ["paths", "headers", "responses", "properties"];
    if part.get("in").is_some() {
        names.extend(part["name"].as_str().map(str::to_owned));
    }
    for part in part.as_array().into_iter().flatten() {
        add_names(part, names);
    }
    for (key, part) in part.as_object().into_iter().flatten() {
        if let Some(named) = part.as_object()
            && NAMED.contains(&key.as_str())
        {
            names.extend(named.keys().cloned());
            named.values().for_each(|part| add_names(part, names));
        } else {
            add_names(part, names);
        }
    }
}

#[test]
fn the_manual_has_all_names_of_the_description() {
    let server = Server::start();
    let mut names = BTreeSet::new();
    add_names(&server.ask("GET", "/openapi.json").json(), &mut names);
    assert!(names.len() > 80, "{names:?}");
    let manual = ["docs/api.md", "docs/monitoring.md"].map(read).concat();
    names.retain(|name| !manual.contains(name.as_str()));
    assert_eq!(names, BTreeSet::new());
}

/// Returns the statuses in the rows of the manual that begin with a method and path.
/// A row without a method stands for GET.
fn statuses_in_manual(
    manual: &str,
    method: &str,
    path: &str,
) -> BTreeSet<String> {
    let rows = manual.lines().filter_map(|line| {
        let (first, rest) = line.strip_prefix("| ")?.split_once(" |")?;
        let mut named = first.split('`').skip(1).step_by(2);
        let is_it = named.any(|name| {
            let (own, name) = name.split_once(' ').unwrap_or(("GET", name));
            own == method && name.split('?').next() == Some(path)
        });
        is_it.then_some(rest)
    });
    let words = rows.flat_map(|row| row.split(|c: char| !c.is_alphanumeric()));
    let is_status =
        |word: &&str| word.len() == 3 && word.parse::<u16>().is_ok();
    words.filter(is_status).map(str::to_owned).collect()
}

#[test]
fn the_manual_has_the_statuses_of_every_path() {
    let server = Server::start();
    let document = server.ask("GET", "/openapi.json").json();
    let manual = read("docs/api.md");
    for (path, operations) in document["paths"].as_object().expect("paths") {
        for method in ["get", "post", "put", "delete"] {
            let Some(operation) = operations.get(method) else { continue };
            let described = operation["responses"].as_object().expect(path);
            let described: BTreeSet<String> =
                described.keys().cloned().collect();
            let mut found =
                statuses_in_manual(&manual, &method.to_uppercase(), path);
            // Both say in one sentence that other methods are 405.
            found.remove("405");
            assert_eq!(found, described, "{method} {path}");
        }
    }
}

/// Whoever takes over the process that serves must not write what the next start
/// by root reads.
#[test]
fn no_process_can_write_to_the_lock() {
    let server = Server::start();
    eventually("a process has the lock", || !lock_modes(&server).is_empty());
    let modes = lock_modes(&server);
    // For reading alone.
    assert!(modes.iter().all(|mode| *mode == '0'), "{modes:?}");
}

/// Returns the last octal digit of the flags of each descriptor of the lock.
fn lock_modes(server: &Server) -> Vec<char> {
    let mut pids = descendants(server.pid());
    pids.insert(server.pid());
    // A process may have ended meanwhile.
    let folders = pids.iter().map(|pid| format!("/proc/{pid}"));
    let open = folders.flat_map(|folder| {
        let open = fs::read_dir(format!("{folder}/fd"));
        open.into_iter().flatten().flatten().map(move |it| {
            let number = it.file_name().to_string_lossy().into_owned();
            (it.path(), format!("{folder}/fdinfo/{number}"))
        })
    });
    open.filter(|(link, _)| {
        let path = fs::read_link(link).unwrap_or_default();
        path.to_string_lossy().contains("/instance-")
    })
    .filter_map(|(_, about)| {
        let about = fs::read_to_string(about).ok()?;
        let flags = about.lines().find_map(|it| it.strip_prefix("flags:"))?;
        flags.trim().chars().last()
    })
    .collect()
}
