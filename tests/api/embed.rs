//! The editor page.

use std::collections::BTreeMap;
use std::fs;

use sandpiper_testkit::Server;

const LANGUAGES: [&str; 11] = [
    "python", "c", "cpp", "java", "php", "csharp", "mysql", "mongodb", "web",
    "react", "vue",
];

fn language_of(page: &str) -> &str {
    let (_, rest) = page.split_once("data-language=\"").expect("a language");
    rest.split_once('"').expect("a quote").0
}

#[test]
#[cfg_attr(not(editor), ignore = "needs the editor page: make web")]
fn the_page_has_the_language_that_was_asked_for() {
    let server = Server::start();
    let check = |target: &str, language: &str| {
        let reply = server.ask("GET", target);
        assert_eq!(reply.status, 200, "{target}");
        let html = Some("text/html; charset=utf-8");
        assert_eq!(reply.header("content-type"), html);
        assert_eq!(language_of(reply.text()), language, "{target}");
        assert_eq!(reply.text().matches("data-language").count(), 1);
    };
    for language in LANGUAGES {
        check(&format!("/embed?lang={language}"), language);
    }
    check("/embed", "java");
    check("/embed?", "java");
    check("/embed?lang=", "java");
    check("/embed?lang", "java");
    check("/embed?theme=dark", "java");
    check("/embed?theme=dark&lang=vue", "vue");
    check("/embed?lang=%63", "c");
    check("/%65mbed?lang=c", "c");
}

#[test]
fn unknown_languages_are_refused_with_a_page() {
    let server = Server::start();
    for value in [
        "Python", "PYTHON", "py", "c%2B%2B", "cs", "html", "rust", "%20c",
        "%ff",
    ] {
        let reply = server.ask("GET", &format!("/embed?lang={value}"));
        assert_eq!(reply.status, 400, "{value}");
        let html = Some("text/html; charset=utf-8");
        assert_eq!(reply.header("content-type"), html);
        for language in LANGUAGES {
            assert!(reply.text().contains(language), "{value}: {language}");
        }
    }
    let reply = server.ask("GET", "/embed?lang=%3Cscript%3Ealert(1)");
    assert!(!reply.text().contains("<script>alert"), "{}", reply.text());
}

#[test]
fn any_site_may_frame_it_unless_the_operator_says_otherwise() {
    let frame_ancestors = |server: &Server| {
        let reply = server.ask("GET", "/embed");
        assert_eq!(reply.header("x-frame-options"), None);
        let policy = reply.header("content-security-policy").unwrap();
        let directive = policy
            .split("; ")
            .find_map(|part| part.strip_prefix("frame-ancestors "));
        directive.unwrap().to_owned()
    };
    assert_eq!(frame_ancestors(&Server::start()), "*");
    let own = "'self' https://school.example";
    let server = Server::with(&["--frame-ancestors", own]);
    assert_eq!(frame_ancestors(&server), own);
}

#[test]
fn other_methods_are_refused() {
    let server = Server::start();
    for method in ["POST", "PUT", "DELETE", "OPTIONS", "PATCH"] {
        let reply = server.send(method, "/embed?lang=c", &[], "{}");
        assert_eq!(reply.status, 405);
        assert_eq!(reply.header("allow"), Some("GET, HEAD"));
        let html = Some("text/html; charset=utf-8");
        assert_eq!(reply.header("content-type"), html);
    }
}

#[test]
#[cfg_attr(not(editor), ignore = "needs the editor page: make web")]
fn head_is_get_without_the_body() {
    let server = Server::start();
    for target in ["/embed", "/embed?lang=x", "/", "/healthz", "/embed.js"] {
        let get = server.ask("GET", target);
        let head = server.ask("HEAD", target);
        assert_eq!((head.status, head.text()), (get.status, ""), "{target}");
        for name in ["content-type", "content-length"] {
            assert_eq!(head.header(name), get.header(name), "{target} {name}");
        }
    }
}

/// Every `src` and `href` of a page.
fn links(page: &str) -> Vec<&str> {
    ["src=\"", "href=\""]
        .iter()
        .flat_map(|attribute| page.split(attribute).skip(1))
        .map(|rest| rest.split_once('"').expect("a quote").0)
        .collect()
}

#[test]
#[cfg_attr(not(editor), ignore = "needs the editor page: make web")]
fn pages_work_under_any_prefix() {
    let server = Server::start();
    for (page, at_least) in [("/embed", 2), ("/", 11)] {
        let text = server.ask("GET", page).text().to_owned();
        let links = links(&text);
        assert!(links.len() >= at_least, "{page}: {links:?}");
        // The icon stands in the page: it asks nothing of the server.
        let asked = links.iter().filter(|link| !link.starts_with("data:"));
        for link in asked {
            let relative = !link.starts_with('/') && !link.contains("://");
            assert!(relative, "{page}: {link}");
            // No browser sends what is behind a #.
            let path = link.split('#').next().unwrap();
            let status = server.ask("GET", &format!("/{path}")).status;
            let reached = status == 200 || *link == "readyz";
            assert!(reached, "{page}: {link}: {status}");
        }
    }
    let page = server.ask("GET", "/embed").text().to_owned();
    let mut scripts = links(&page).into_iter();
    let script = scripts.find(|link| link.contains("/main-")).expect("one");
    // The code that runs programs comes later, from beside the editor's script.
    let mut names = vec![script.rsplit('/').next().unwrap().to_owned()];
    let mut code = String::new();
    let mut next = 0;
    while let Some(name) = names.get(next) {
        let path = format!("/embed/assets/{name}");
        let script = server.ask("GET", &path).text().to_owned();
        let found = script.split("\"./").skip(1);
        for name in found.filter_map(|rest| rest.split('"').next()) {
            if name.ends_with(".js") && !names.iter().any(|own| own == name) {
                names.push(name.to_owned());
            }
        }
        code += &script;
        next += 1;
    }
    assert!(code.contains("api/compile"), "{names:?}");
    for quote in ["\"", "'", "`"] {
        assert!(!code.contains(&format!("{quote}/api/")), "{quote}");
    }
}

#[test]
#[cfg_attr(not(editor), ignore = "needs the editor page: make web")]
fn any_page_may_load_the_script_that_embeds() {
    let server = Server::start();
    let reply = server.ask("GET", "/embed.js");
    assert_eq!(reply.status, 200);
    assert!(reply.text().contains("Sandpiper"), "{}", reply.text());
    for (name, expected) in [
        ("content-type", "text/javascript; charset=utf-8"),
        ("cache-control", "public, max-age=3600"),
        ("access-control-allow-origin", "*"),
        ("cross-origin-resource-policy", "cross-origin"),
    ] {
        assert_eq!(reply.header(name), Some(expected), "{name}");
    }
    let packed = server.send("GET", "/embed.js", &["Accept-Encoding: br"], "");
    assert!(packed.body.len() < 4096, "a few KB: {}", packed.body.len());
    // Under its other name it would be kept for ever.
    assert_eq!(server.ask("GET", "/embed/embed.js").status, 404);
}

/// A language of the operator's own, whose folder lists members.
const NOTES: &str = "name = \"Notes\"\nimage = \"native\"\n[run]\n\
    command = [\"/x\"]\n[starter]\nentry = \"a\"\n[editor.snippets]\n\
    main = \"begin ${}\"\n[editor.members]\nfile = \"members.json\"";

#[test]
#[cfg_attr(not(editor), ignore = "needs the editor page: make web")]
fn the_page_names_its_members_which_are_kept_for_ever() {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in [
        ("language.toml", NOTES),
        ("members.json", "{\"modules\":{\"m\":\"one two\"}}"),
        ("starter/a", ""),
        ("starter-expected.txt", "1"),
    ] {
        let path = folder.path().join("notes").join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    let flag = format!("--languages-dir={}", folder.path().display());
    let server = Server::with(&[&flag, "--languages=notes,mongodb"]);
    let named = |language: &str| {
        let page = server.ask("GET", &format!("/editor?lang={language}"));
        let (_, rest) = page.text().split_once("\"completions\":").unwrap();
        rest.split_once(",\"").unwrap().0.trim_matches('"').to_owned()
    };
    assert_eq!(named("mongodb"), "null");
    let path = format!("/{}", named("notes"));
    let reply = server.ask("GET", &path);
    assert_eq!(
        reply.text(),
        r#"{"declares":[],"members":{"modules":{"m":"one two"}},"snippets":{"main":"begin ${}"},"values":[]}"#
    );
    for (name, expected) in [
        ("content-type", "application/json"),
        ("cache-control", "public, max-age=31536000, immutable"),
        ("access-control-allow-origin", "*"),
        ("cross-origin-resource-policy", "cross-origin"),
    ] {
        assert_eq!(reply.header(name), Some(expected), "{name}");
    }
    let known = format!("If-None-Match: {}", reply.header("etag").unwrap());
    assert_eq!(server.send("GET", &path, &[&known], "").status, 304);
    let packed = server.send("GET", &path, &["Accept-Encoding: br"], "");
    assert_eq!(packed.header("content-encoding"), Some("br"));
    assert_eq!(server.send("POST", &path, &[], "").status, 405);
    let other = "/embed/assets/completions-0000000000000000.json";
    assert_eq!(server.ask("GET", other).status, 404);
}

#[test]
fn the_index_page_has_a_line_for_each_language() {
    let server = Server::start();
    let reply = server.ask("GET", "/");
    for language in LANGUAGES {
        let link = format!("href=\"embed?lang={language}\"");
        assert!(reply.text().contains(&link), "{language}");
        let line = format!("embed?lang={language}&quot;");
        assert!(reply.text().contains(&line), "{language}");
    }
    let policy = reply.header("content-security-policy").unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'nonce-"));
    let again = server.ask("GET", "/");
    assert_ne!(Some(policy), again.header("content-security-policy"));
}

/// The values of a policy, by directive.
fn directives(policy: &str) -> BTreeMap<&str, &str> {
    policy
        .split("; ")
        .map(|part| part.split_once(' ').unwrap_or((part, "")))
        .collect()
}

/// The path of the script that the editor page starts.
fn main_script(server: &Server) -> String {
    let page = server.ask("GET", "/embed").text().to_owned();
    let script = links(&page).into_iter().find(|link| link.contains("/main-"));
    format!("/{}", script.expect("a script"))
}

#[test]
#[cfg_attr(not(editor), ignore = "needs the editor page: make web")]
fn every_page_and_file_has_its_headers() {
    let server = Server::start();
    let script = main_script(&server);
    let forever = "public, max-age=31536000, immutable";
    let same = "cross-origin-opener-policy: same-origin";
    for (target, lines) in [
        ("/embed", "cache-control: no-cache"),
        ("/embed?lang=x", "cache-control: no-cache"),
        ("/embed/preview", "cache-control: no-cache"),
        ("/", same),
        ("/", "cross-origin-resource-policy: same-origin"),
        ("/", "cache-control: no-cache"),
        ("/embed.js", "access-control-allow-origin: *"),
        (&script, "access-control-allow-origin: *"),
        (&script, &format!("cache-control: {forever}")),
    ] {
        let (name, value) = lines.split_once(": ").unwrap();
        let reply = server.ask("GET", target);
        assert_eq!(reply.header(name), Some(value), "{target} {name}");
    }
    for target in ["/embed", "/embed/preview", "/embed.js", &script] {
        let reply = server.ask("GET", target);
        for (name, value) in [
            ("cross-origin-embedder-policy", "require-corp"),
            ("cross-origin-resource-policy", "cross-origin"),
        ] {
            assert_eq!(reply.header(name), Some(value), "{target} {name}");
        }
    }
    for target in ["/", "/embed", "/embed?lang=x", "/embed/preview"] {
        let reply = server.ask("GET", target);
        assert_eq!(reply.header("referrer-policy"), Some("no-referrer"));
        let allowed = reply.header("permissions-policy").unwrap();
        for name in ["camera", "microphone", "geolocation", "payment", "usb"] {
            assert!(allowed.contains(&format!("{name}=()")), "{target} {name}");
        }
    }
    for target in ["/", "/embed", "/embed/preview", "/embed.js", &script] {
        let reply = server.ask("GET", target);
        let sniff = reply.header("x-content-type-options");
        assert_eq!(sniff, Some("nosniff"), "{target}");
        assert_eq!(reply.header("set-cookie"), None, "{target}");
        assert_eq!(reply.header("x-frame-options"), None, "{target}");
    }
}

#[test]
fn the_policies_let_through_what_is_needed_alone() {
    let server = Server::start();
    let check = |target: &str, expected: &[(&str, &str)]| {
        let reply = server.ask("GET", target);
        let policy = reply.header("content-security-policy").unwrap();
        let nonce = policy.split("'nonce-").nth(1).unwrap();
        let nonce = nonce.split('\'').next().unwrap();
        assert_eq!(nonce.len(), 32, "{policy}");
        let expected: BTreeMap<_, _> = expected
            .iter()
            .map(|(name, value)| (*name, value.replace("NONCE", nonce)))
            .collect();
        let expected =
            expected.iter().map(|(name, value)| (*name, value.as_str()));
        assert_eq!(directives(policy), expected.collect(), "{target}");
    };
    check(
        "/embed",
        &[
            ("default-src", "'none'"),
            ("script-src", "'self' 'nonce-NONCE'"),
            ("style-src", "'self' 'nonce-NONCE'"),
            ("img-src", "'self' data:"),
            ("connect-src", "'self'"),
            ("frame-src", "'self'"),
            ("base-uri", "'none'"),
            ("form-action", "'none'"),
            ("frame-ancestors", "*"),
            ("require-trusted-types-for", "'script'"),
            ("trusted-types", "'none'"),
        ],
    );
    check(
        "/",
        &[
            ("default-src", "'none'"),
            ("script-src", "'nonce-NONCE'"),
            ("img-src", "data:"),
            ("style-src", "'nonce-NONCE'"),
            ("frame-src", "'self'"),
            ("base-uri", "'none'"),
            ("form-action", "'none'"),
            ("frame-ancestors", "'none'"),
            ("require-trusted-types-for", "'script'"),
            ("trusted-types", "'none'"),
        ],
    );
}

#[test]
#[cfg_attr(not(editor), ignore = "needs the editor page: make web")]
fn files_are_sent_packed_and_once() {
    let server = Server::start();
    let page = server.ask("GET", "/embed?lang=c");
    let (_, data) = page.text().split_once("\"explanations\":\"").unwrap();
    let data = format!("/{}", data.split_once('"').unwrap().0);
    for target in ["/embed.js", &main_script(&server), &data] {
        let get = |headers: &[&str]| server.send("GET", target, headers, "");
        let in_coding = |accepted: &str, coding: Option<&str>| {
            let accepted = format!("Accept-Encoding: {accepted}");
            let reply = get(&[&accepted]);
            assert_eq!(reply.header("content-encoding"), coding, "{target}");
            let tag = reply.header("etag").unwrap().to_owned();
            for (known, status) in [
                (tag.clone(), 304),
                (format!("W/{tag}"), 304),
                (format!("\"other\", {tag}"), 304),
                ("*".to_owned(), 304),
                ("\"other\"".to_owned(), 200),
            ] {
                let known = format!("If-None-Match: {known}");
                let again = get(&[&accepted, &known]);
                assert_eq!(again.status, status, "{target} {known}");
                assert_eq!(again.body.is_empty(), status == 304);
                for name in ["etag", "cache-control", "vary"] {
                    let same = again.header(name) == reply.header(name);
                    assert!(same, "{target} {name}: {}", again.head);
                }
            }
            assert_eq!(reply.header("vary"), Some("accept-encoding"));
            (reply.body.len(), tag)
        };
        let (plain, tag) = in_coding("identity, br;q=0.1", None);
        for (accepted, coding) in [("gzip, br", "br"), ("gzip", "gzip")] {
            let (packed, packed_tag) = in_coding(accepted, Some(coding));
            assert!(packed * 2 < plain, "{target} {coding}: {packed}");
            assert_ne!(tag, packed_tag, "{target}");
        }
    }
}
