//! Languages that this build does not know, from a folder of the operator's: they
//! run, and every page shows them. One is that of docs/languages.md, with an image
//! of its own. `web/e2e/added.spec.ts` uses the editor of the other.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Command;

use serde_json::json;

use crate::additions;
use crate::service::{Server, compile, start};

const DEFINITION: &str = r#"
name = "Shell"
title = "Shell & tools"
aliases = ["ksh"]
extensions = ["sh"]
image = "native"
[run]
command = ["/bin/sh", "{entry}"]
[starter]
entry = "main.sh"
[editor.messages]
places = ['^(?<at>(?<path>PATH): (?<line>\d+)): ']
"#;

pub(crate) fn put(folder: &Path, path: &str, text: &str) {
    let path = folder.join(path);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    fs::write(path, text).unwrap();
}

/// The language of docs/languages.md, by a name that no language of ours will have.
pub(crate) const LUA: &str = "own-lua";

/// The files of docs/languages.md: each is an indented text below its path.
fn documented() -> Vec<(String, String)> {
    let page = sandpiper_testkit::read("docs/languages.md");
    let mut files = Vec::new();
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        let name = line.strip_prefix('`').and_then(|it| it.split_once('`'));
        let Some((path, _)) = name.filter(|(path, _)| path.starts_with("lua/"))
        else {
            continue;
        };
        lines.next();
        let text = lines.by_ref().map_while(|it| it.strip_prefix("    "));
        let text: String = text.map(|line| format!("{line}\n")).collect();
        let text = text.replace("image = \"lua\"", "image = \"own-lua\"");
        files.push((path.replace("lua/", "own-lua/"), text));
    }
    files
}

/// Links images of the operator's to a data folder, so that another can be built
/// beside them. No other process sees that one.
fn link_images(data: &Path, names: &[&str]) {
    let images = data.join("images");
    fs::create_dir_all(&images).unwrap();
    for name in names {
        let image = sandpiper_testkit::image(name);
        symlink(&image, images.join(image.file_name().unwrap())).unwrap();
    }
}

pub(crate) fn images(arguments: &[&str]) -> std::process::Output {
    Command::new(sandpiper_testkit::program())
        .arg("images")
        .args(arguments)
        .output()
        .unwrap()
}

#[test]
#[ignore = "needs the images: make test"]
fn a_language_from_a_folder_runs_and_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    let files = documented();
    let lines = files.iter().map(|(_, text)| text.lines().count());
    assert_eq!((files.len(), lines.sum::<usize>()), (4, 12), "{files:?}");
    let own = root.join("languages");
    for (path, text) in &files {
        put(&own, path, text);
    }
    put(&own, "shell/language.toml", DEFINITION);
    put(&own, "shell/starter/main.sh", "echo from the starter\n");
    put(&own, "shell/starter-expected.txt", "from the starter\n");
    let data = root.join("data");
    link_images(&data, &["native", "python"]);
    let flags = [
        format!("--data-dir={}", data.display()),
        format!("--languages-dir={}", own.display()),
        format!("--image-additions={}", root.join("images").display()),
    ];
    let flags = flags.each_ref().map(String::as_str);
    let rootfs = additions::build(&flags, root);
    let server =
        start(&[&flags[..], &["--languages=shell,python,own-lua"]].concat());

    let lua = "print(io.read('n') + 1)\nprint(nil + 1)";
    let answer = compile(
        &server,
        &json!({
            "language": "OWN-LUA",
            "entryFile": "a.lua",
            "files": [{"path": "a.lua", "content": lua}],
            "stdin": "41",
        }),
    );
    assert_eq!(answer.stdout, "42\n");
    let message =
        "lua5.4: a.lua:2: attempt to perform arithmetic on a nil value";
    assert!(answer.stderr.contains(message), "{}", answer.stderr);
    let answer = compile(
        &server,
        &json!({
            "language": "ksh",
            "entryFile": "a.sh",
            "files": [{"path": "a.sh", "content": "read x; echo $x; exit 3"}],
            "stdin": "input\n",
        }),
    );
    assert_eq!(answer.stdout, "input\n", "{}", answer.stderr);
    assert_eq!(answer.exit, "stage=run; code=3");
    is_shown(&server);
    drop(server);
    additions::mistakes_leave_the_image_of_before(&flags, root, &rootfs);
}

/// Checks the pages of a server with Python, Lua and the shell.
fn is_shown(server: &Server) {
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
    let names = r#"{"own-lua":[],"python":["py","python3"],"shell":["ksh"]}"#;
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
    check("/editor", &["python", LUA, "shell"], "java");
}
