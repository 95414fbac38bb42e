//! The frame in which documents of programs are shown.

use sandpiper_testkit::Server;

const HTML: Option<&str> = Some("text/html; charset=utf-8");

fn directive<'a>(policy: &'a str, name: &str) -> Option<&'a str> {
    let mut parts = policy.split("; ");
    parts.find_map(|part| part.strip_prefix(name)).map(str::trim)
}

#[test]
#[cfg_attr(not(editor), ignore = "needs the editor page: make web")]
fn its_document_is_nobodys_and_loads_nothing() {
    let server = Server::start();
    let reply = server.ask("GET", "/embed/preview");
    assert_eq!(reply.status, 200);
    assert_eq!(reply.header("content-type"), HTML);
    let policy = reply.header("content-security-policy").expect("a policy");
    let sandbox = directive(policy, "sandbox").expect("a sandbox");
    assert_eq!(sandbox, "allow-scripts allow-forms");
    assert_eq!(directive(policy, "default-src"), Some("'none'"));
    assert_eq!(directive(policy, "frame-ancestors"), None);
    for network in ["'self'", "http:", "https:", "ws"] {
        assert!(!policy.contains(network), "{policy}");
    }
    for (name, value) in [
        ("cross-origin-embedder-policy", "require-corp"),
        ("cross-origin-resource-policy", "cross-origin"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("cache-control", "no-cache"),
        ("connection-allowlist", "()"),
        ("x-dns-prefetch-control", "off"),
    ] {
        assert_eq!(reply.header(name), Some(value), "{name}");
    }
    assert_eq!(reply.header("x-frame-options"), None);
    let page = reply.text();
    assert_eq!(page.matches("<script>").count(), 1, "{page}");
    assert_eq!(page.matches("</script").count(), 1, "{page}");
    assert!(page.len() > 2000, "the script is in the page: {page}");
}

#[test]
fn it_is_only_read() {
    let server = Server::start();
    let head = server.ask("HEAD", "/embed/preview");
    assert_eq!((head.status, head.text()), (200, ""));
    let post = server.send("POST", "/embed/preview", &[], "{}");
    assert_eq!(post.status, 405);
    assert_eq!(post.header("allow"), Some("GET, HEAD"));
    assert_eq!(server.ask("GET", "/embed/preview/x").status, 404);
}

#[test]
#[cfg_attr(not(editor), ignore = "needs the editor page: make web")]
fn the_editor_frames_it_and_nothing_else() {
    let check = |flags: &[&str], address: &str, source: &str| {
        let server = Server::with(flags);
        let reply = server.ask("GET", "/embed?lang=web");
        let policy = reply.header("content-security-policy").expect("one");
        assert_eq!(directive(policy, "frame-src"), Some(source), "{policy}");
        let frame = server.ask("GET", "/embed/preview");
        // A process of its own, for an origin of its own.
        let cluster = source.starts_with("http").then_some("?1");
        assert_eq!(frame.header("origin-agent-cluster"), cluster, "{source}");
        let config = format!("\"previewUrl\":\"{address}\"");
        assert!(reply.text().contains(&config), "{config}");
    };
    check(&[], "embed/preview", "'self'");
    let other = "http://127.0.0.1:8081/code";
    check(
        &["--preview-origin", other],
        "http://127.0.0.1:8081/code/embed/preview",
        "http://127.0.0.1:8081",
    );
}

#[test]
fn whoever_may_frame_the_editor_may_have_its_preview() {
    let school = "https://school.example";
    let server = Server::with(&["--frame-ancestors", school]);
    let reply = server.ask("GET", "/embed/preview");
    let policy = reply.header("content-security-policy").expect("a policy");
    let ancestors = directive(policy, "frame-ancestors");
    assert_eq!(ancestors, Some("'self' https://school.example"));
}
