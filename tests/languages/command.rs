//! `sandpiper run`: the same engine on local files, without HTTP.

use std::fs;
use std::io::{Read, Write};
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};

/// Starts the command in `folder`.
fn start(folder: &Path, arguments: &[&str]) -> Child {
    Command::new(sandpiper_testkit::program())
        .arg("run")
        .args(arguments)
        .current_dir(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap()
}

/// Runs the command in `folder` with this on its stdin.
fn sandpiper_run(folder: &Path, arguments: &[&str], stdin: &str) -> Output {
    let mut child = start(folder, arguments);
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

#[test]
#[ignore = "needs the images: make test"]
fn a_program_is_talked_to_through_pipes() {
    let folder = tempfile::tempdir().unwrap();
    let source = "import sys\nprint('Hi', input('Name? '))\n\
                  print(sys.stdin.read() == '')\nsys.exit(3)";
    fs::write(folder.path().join("main.py"), source).unwrap();
    let mut child = start(folder.path(), &["--interactive", "main.py"]);
    let output = child.stdout.as_mut().unwrap();
    let mut prompt = [0; 6];
    // The program has not ended: it reads.
    output.read_exact(&mut prompt).unwrap();
    assert_eq!(&prompt, b"Name? ");
    let mut input = child.stdin.take().unwrap();
    input.write_all(b"Ann\n").unwrap();
    drop(input);
    let Output { status, stdout, stderr } = child.wait_with_output().unwrap();
    let stderr = String::from_utf8(stderr).unwrap();
    assert_eq!(
        String::from_utf8(stdout).unwrap(),
        "Hi Ann\nTrue\n",
        "{stderr}"
    );
    assert_eq!((status.code(), stderr.as_str()), (Some(3), ""));
}

#[test]
#[ignore = "needs the images: make test"]
fn files_that_a_program_left_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let source = "import os, sys\nos.makedirs('a/b')\n\
                  open('a/b/deep.txt', 'w').write(sys.argv[1])\n\
                  open('one.bin', 'wb').write(b'\\xff')\n\
                  open('large', 'wb').write(b'x' * (5 << 20))";
    fs::write(folder.path().join("main.py"), source).unwrap();
    let arguments = ["--artifacts", "out", "--arg", "--x", "main.py"];
    let output = sandpiper_run(folder.path(), &arguments, "");
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(stderr, "sandpiper: not written: large (too-large)\n");
    assert_eq!(output.status.code(), Some(0));
    let out = folder.path().join("out");
    assert_eq!(fs::read(out.join("a/b/deep.txt")).unwrap(), b"--x");
    assert_eq!(fs::read(out.join("one.bin")).unwrap(), b"\xff");
    let names = fs::read_dir(out).unwrap().map(|it| it.unwrap().file_name());
    let mut names: Vec<_> = names.collect();
    names.sort();
    assert_eq!(names, ["a", "one.bin"]);
}
