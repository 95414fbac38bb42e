//! `sandpiper run`: the same engine on local files, without HTTP.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// Runs the command in `folder` with this on its stdin.
fn sandpiper_run(folder: &Path, arguments: &[&str], stdin: &str) -> Output {
    let mut child = Command::new(sandpiper_testkit::program())
        .arg("run")
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(stdin.as_bytes()).unwrap();
    drop(input);
    child.wait_with_output().unwrap()
}

fn check(
    files: &[(&str, &str)],
    stdin: &str,
    code: i32,
    stdout: &str,
    stderr: &str,
) {
    let folder = tempfile::tempdir().unwrap();
    let mut names = Vec::new();
    for (name, content) in files {
        let path = folder.path().join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
        names.push(*name);
    }
    let output = sandpiper_run(folder.path(), &names, stdin);
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(String::from_utf8(output.stdout).unwrap(), stdout, "{said}");
    assert!(said.contains(stderr), "{said}");
    assert_eq!(output.status.code(), Some(code), "{said}");
}

#[test]
#[ignore = "needs the images: make test"]
fn files_stdin_and_exit_codes() {
    check(
        &[
            ("main.py", "import lib.util\nlib.util.greet(input())"),
            ("lib/util.py", "def greet(name): print('hello', name)"),
        ],
        "Ada\n",
        0,
        "hello Ada\n",
        "",
    );
    check(&[("a.py", "import sys; sys.exit(3)")], "", 3, "", "");
    check(
        &[("a.c", "int main(void) { *(volatile int *)8 = 1; }")],
        "",
        128 + 11,
        "",
        "Segmentation fault\n",
    );
    check(&[("a.cpp", "int main() { return x; }")], "", 1, "", "a.cpp:1:21");
}
