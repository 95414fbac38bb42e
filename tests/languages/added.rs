//! A language that this build does not know, from a folder of the operator's:
//! it runs, and every page shows it. `web/e2e/added.spec.ts` uses its editor.

use std::fs;
use std::path::Path;

use serde_json::json;

use crate::service::{compile, start};

const DEFINITION: &str = r#"
name = "Shell"
title = "Shell & tools"
aliases = ["bash"]
extensions = ["sh"]
image = "native"
[run]
command = ["/bin/sh", "{entry}"]
[starter]
entry = "main.sh"
[editor.messages]
places = ['^(?<at>(?<path>PATH): (?<line>\d+)): ']
"#;

fn put(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

#[test]
#[ignore = "needs the images: make test"]
fn a_language_from_a_folder_runs_and_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    put(root, "shell/language.toml", DEFINITION);
    put(root, "shell/starter/main.sh", "echo from the starter\n");
    put(root, "shell/starter-expected.txt", "from the starter\n");
    let flag = format!("--languages-dir={}", root.display());
    let server = start(&[&flag, "--languages=shell,python"]);

    let answer = compile(
        &server,
        &json!({
            "language": "bash",
            "entryFile": "a.sh",
            "files": [{"path": "a.sh", "content": "read x; echo $x; exit 3"}],
            "stdin": "input\n",
        }),
    );
    assert_eq!(answer.stdout, "input\n", "{}", answer.stderr);
    assert_eq!(answer.exit, "stage=run; code=3");

    let page = server.ask("GET", "/editor?lang=shell&languages=python");
    assert_eq!(page.status, 200);
    for part in [
        "<title>Shell &amp; tools editor</title>",
        "<option value=\"shell\" selected>Shell &amp; tools</option>",
        "<pre>\necho from the starter\n</pre>",
        r#""places":["^(?\u003cat>(?\u003cpath>PATH)"#,
    ] {
        assert!(page.text().contains(part), "{part}: {}", page.text());
    }
    let script = server.ask("GET", "/embed.js");
    let names = r#"{"python":["py","python3"],"shell":["bash"]}"#;
    assert!(script.text().contains(names), "{}", script.text());
    let index = server.ask("GET", "/");
    assert!(index.text().contains("editor?lang=shell"), "{}", index.text());
    let described = server.ask("GET", "/openapi.json").json();
    let check = |path: &str, ids: &[&str], refused: &str| {
        let lang = &described["paths"][path]["parameters"][0]["schema"];
        assert_eq!(lang["enum"], json!(ids), "{path}");
        assert_eq!(lang["default"], "python", "{path}");
        // Only the languages that are served have a page.
        let refused = server.ask("GET", &format!("{path}?lang={refused}"));
        assert_eq!(refused.status, 400, "{path}");
        for id in ids {
            let link = format!("?lang={id}\">");
            assert!(refused.text().contains(&link), "{}", refused.text());
        }
    };
    check("/embed", &["python"], "shell");
    check("/editor", &["python", "shell"], "java");
}
