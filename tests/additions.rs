//! Packages of pip and npm that an operator adds, from their lock to a program. Each
//! image takes minutes to build: `make test-all` alone runs this.

#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

use std::fs;
use std::process::Command;

use sandpiper_testkit::{Server, program};
use serde_json::{Value, json};

const PIP: &str = "pip = [\"emoji==2.14.1\"]\ncheck = \"import emoji\"\n";
const NPM: &str =
    "npm = [\"is-odd@3.0.1\", \"zustand@5.0.6\", \"@fontsource/abel@5.2.6\"]\n";

const FROM_PYTHON: &str = "import emoji; print(emoji.emojize(':snake:'))";
/// A package that imports another, one that imports React, and a stylesheet that
/// names fonts.
const FROM_REACT: &str = r#"
import isOdd from "is-odd";
import { create } from "zustand";
import "@fontsource/abel";
const use = create(() => ({ n: 3 }));
export default () => <p>{String(isOdd(use().n))}</p>;
"#;
const FROM_PAGE: &str = r#"<script type="module">
import isOdd from "is-odd";
document.title = isOdd(3);
</script>"#;

#[test]
#[ignore = "builds images: make test-all"]
fn programs_import_the_packages_of_a_lock() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path();
    fs::create_dir(root.join("images")).unwrap();
    fs::write(root.join("images/python.toml"), PIP).unwrap();
    fs::write(root.join("images/web.toml"), NPM).unwrap();
    let flag = |name: &str, path: &str| {
        format!("--{name}={}", root.join(path).display())
    };
    let flags = [flag("data-dir", "data"), flag("image-additions", "images")];
    let locks = ["python", "web"].map(|image| ["lock", image]);
    for command in [&locks[0][..], &locks[1], &["build", "python", "web"]] {
        let mut run = Command::new(program());
        let output = run.arg("images").args(command).args(&flags).output();
        let output = output.unwrap();
        assert!(output.status.success(), "{output:?}");
    }

    let flags = flags.each_ref().map(String::as_str);
    let chosen = ["--languages=python,react,web", "--compile-rate-limit=0"];
    let server = Server::spawn(&[&flags[..], &chosen].concat(), None);
    server.wait_until_ready();
    check(&server, "python", "main.py", FROM_PYTHON, &["🐍\n"]);
    let parts =
        ["useSyncExternalStore(", "isNumber(", "data:font/woff2;base64,"];
    check(&server, "react", "App.jsx", FROM_REACT, &parts);
    check(&server, "web", "index.html", FROM_PAGE, &["isNumber("]);
    let outside = FROM_PAGE.replace("is-odd", "is-odd/../../etc/passwd");
    refuse(&server, &outside, "this leads out of the submitted files");
    let missing = FROM_PAGE.replace("is-odd", "is-odd/no");
    refuse(&server, &missing, "there is no \"is-odd/no\"");
    let unknown = FROM_PAGE.replace("is-odd", "is-even");
    let known =
        "the packages are: @fontsource/abel, is-number, is-odd, zustand";
    refuse(&server, &unknown, known);
}

fn check(
    server: &Server,
    language: &str,
    path: &str,
    source: &str,
    expected: &[&str],
) {
    let answer = compile(server, language, path, source);
    for part in expected {
        let stdout = answer["stdout"].as_str().unwrap();
        assert!(stdout.contains(part), "{part}: {}", answer["stderr"]);
    }
}

fn refuse(server: &Server, page: &str, expected: &str) {
    let answer = compile(server, "web", "index.html", page);
    let stderr = answer["stderr"].as_str().unwrap();
    assert!(stderr.contains(expected), "{expected}: {answer}");
}

fn compile(server: &Server, language: &str, path: &str, source: &str) -> Value {
    let files = json!([{ "path": path, "content": source }]);
    let asked =
        json!({"language": language, "entryFile": path, "files": files});
    let reply = server.compile(&asked);
    assert_eq!(reply.status, 200, "{}", reply.text());
    reply.json()
}
