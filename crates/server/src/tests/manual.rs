//! docs/api.md has every header of every answer.

use std::sync::LazyLock;

use super::*;
use crate::routes;

/// The page in small letters, as headers are sent.
static MANUAL: LazyLock<String> = LazyLock::new(|| {
    sandpiper_testkit::read("docs/api.md").to_ascii_lowercase()
});

/// Checks that the page has the name of each header, alone or with this value.
pub(super) fn check_headers(head: &str) {
    for line in head.lines().skip(1) {
        let line = line.to_ascii_lowercase();
        let (name, _) = line.split_once(':').expect(head);
        let mut known = [name, &line].into_iter();
        let is_there = known.any(|it| MANUAL.contains(&format!("`{it}`")));
        assert!(is_there, "docs/api.md lacks `{line}`");
    }
}

#[tokio::test]
async fn the_manual_has_the_headers_of_every_path() {
    let settings = ServerSettings {
        preview_origin: "https://preview.example".parse().ok(),
        ..ServerSettings::default()
    };
    let server = TestServer::with(settings).await;
    let ask = async |method: &str, path: &str, headers: &str| {
        let head = format!("{method} {path} HTTP/1.1\r\nHost: x\r\n{CLOSE}");
        server.ask(format!("{head}{headers}\r\n")).await
    };
    let mut targets: Vec<String> = routes::all()
        .map(|route| route.path.replace("{id}", "1").replace("{run}", "0"))
        .collect();
    // Without the editor page there are no such files.
    let page = ask("GET", "/editor", "").await;
    let asset =
        page.text().split('"').find(|it| it.starts_with("embed/assets"));
    targets.extend(asset.map(|path| format!("/{path}")));
    for target in &targets {
        for method in ["GET", "POST", "PUT", "OPTIONS"] {
            let headers = "Accept-Encoding: br\r\nIf-None-Match: *\r\n";
            ask(method, target, headers).await;
            ask(method, target, "Accept-Encoding: gzip\r\n").await;
        }
    }
}
