//! `run`, `images` and `doctor` without any image.

use std::fs;
use std::process::Output;

use crate::{Sandpiper, text};

fn check(output: &Output, code: i32, stderr: &str) {
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(code), "{said}");
    assert!(said.contains(stderr), "{said}");
}

#[test]
fn run_says_why_it_cannot_run() {
    let files = tempfile::tempdir().unwrap();
    let file = |name: &str, content: &[u8]| {
        let path = files.path().join(name);
        fs::write(&path, content).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let python = file("main.py", b"print(1)\n");
    let odd = file("main.odd", b"");
    let module = file("util.py", b"");
    let missing = files.path().join("none.py").to_str().unwrap().to_owned();

    let run = |args: &[&str], stderr: &str| {
        let args: Vec<&str> = ["run"].iter().chain(args).copied().collect();
        check(&Sandpiper::new(&args).output(), 125, stderr);
    };
    run(&[&missing], "cannot read");
    run(&[&odd], "--language (one of: python, c, cpp");
    run(&[&odd, "--language", "pyhton"], "the nearest is \"python\"");
    run(&[&python, "/none.py"], "is not inside");
    run(&[&python, &module, &module], "is given twice");
    run(&[&python], "sandpiper images build python");
    let sql = file("main.sql", b"select 1;");
    run(&[&sql, "--interactive"], "MySQL programs take no input");
    run(&[&odd, "--entry", &python], "sandpiper images build python");
}

#[test]
fn images_are_listed_and_removed_by_name() {
    let listed = Sandpiper::new(&["images", "list"]).output();
    assert!(listed.status.success());
    let table = text(&listed.stdout);
    assert!(table.starts_with("IMAGE "), "{table}");
    let native = table.lines().find(|line| line.starts_with("native "));
    let native = native.unwrap();
    assert!(native.contains(" c, cpp "), "{native}");
    // The tests name a data folder.
    let build = "`sandpiper images build native --data-dir /";
    assert!(native.contains(build), "{native}");

    let none = Sandpiper::new(&["images", "remove", "python"]).output();
    check(&none, 1, "there is no image python");
    let unknown = Sandpiper::new(&["images", "build", "cobol"]).output();
    check(&unknown, 1, "no image \"cobol\"; the images are ");
    let left_out = Sandpiper::new(&["images", "build"])
        .env("SANDPIPER_LANGUAGES", "python,cobol")
        .output();
    check(&left_out, 1, "there is no language \"cobol\"");
    let missing = Sandpiper::new(&["images", "check", "native"]).output();
    check(&missing, 1, "image native is not built");
    let nothing = Sandpiper::new(&["images", "check"]).output();
    check(&nothing, 0, "");
    let nothing = Sandpiper::new(&["images", "export", "-"]).output();
    check(&nothing, 1, "no image is built in /");
    let none = Sandpiper::new(&["images", "remove", "--unused"]).output();
    check(&none, 0, "");
    let nothing = Sandpiper::new(&["images", "remove"]).output();
    check(&nothing, 2, "<NAME>");
}

#[test]
fn doctor_reports_each_finding_and_its_fix() {
    let output = Sandpiper::new(&["doctor"]).output();
    let report = text(&output.stdout);
    for subject in [
        "kernel: Linux ",
        "user ids: ",
        "user namespaces: ",
        "AppArmor: ",
        "/proc: ",
        "seccomp: ",
        "image builder: ",
        "MISSING  image python: not built\n",
        "           sandpiper images build python --data-dir /",
        "memory: ",
        "boxes: ",
    ] {
        assert!(report.contains(subject), "{subject:?}: {report}");
    }
    // The images are missing.
    assert_eq!(output.status.code(), Some(1));

    let some = Sandpiper::new(&["doctor", "--languages", "vue"]).output();
    let images: Vec<&str> = text(&some.stdout)
        .lines()
        .filter(|line| line.contains("not built"))
        .collect();
    assert_eq!(images, ["MISSING  image web: not built"]);
}

#[test]
fn doctor_checks_a_node_and_what_it_shares() {
    let alone = Sandpiper::new(&["doctor", "--fleet"]).output();
    let report = text(&alone.stdout);
    for line in [
        "weak     named proxies: none: ",
        "weak     request ids: ",
        "weak     requests for another node: 503: ",
        "weak     node tag: none: ",
        "weak     shared limits: none: ",
        "weak     shared products: none: ",
    ] {
        assert!(report.contains(line), "{line:?}: {report}");
    }
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("url");
    // Nobody listens at port 1.
    fs::write(&file, "valkey://user:secret@127.0.0.1:1\n").unwrap();
    let in_file = format!("@{}", file.display());
    let node = Sandpiper::new(&["doctor", "--fleet"])
        .env("SANDPIPER_TRUSTED_PROXY", "10.0.0.10")
        .env("SANDPIPER_REQUEST_ID_FROM_PROXY", "true")
        .env("SANDPIPER_ELSEWHERE_STATUS", "425")
        .env("SANDPIPER_NODE_TAG", "a")
        .env("SANDPIPER_SHARED_LIMITS", "valkey://127.0.0.1:1")
        .env("SANDPIPER_SHARED_PRODUCTS", &in_file)
        .output();
    let report = text(&node.stdout);
    for line in [
        "ok       named proxies: 10.0.0.10/32\n",
        "ok       request ids: ",
        "ok       requests for another node: 425: ",
        "ok       node tag: ",
        "weak     shared limits: valkey://127.0.0.1:1 cannot be reached: ",
        "MISSING  shared products: valkey://127.0.0.1:1 cannot be reached: ",
    ] {
        assert!(report.contains(line), "{line:?}: {report}");
    }
    assert!(!report.contains("secret"), "{report}");
}

#[test]
fn every_command_knows_the_languages_of_a_folder() {
    let folder = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put("shell/starter/main.sh", "echo 1\n");
    put("shell/starter-expected.txt", "1\n");
    put(
        "shell/language.toml",
        "name = \"Shell\"\nimage = \"native\"\n\
         [run]\ncommand = [\"/bin/sh\", \"{entry}\"]\n\
         [starter]\nentry = \"main.sh\"\n",
    );
    let dir = folder.path().to_str().unwrap();
    // The variables are those of the service: the package's units share them.
    let run = |args: &[&str]| {
        Sandpiper::new(args)
            .env("SANDPIPER_LANGUAGES_DIR", dir)
            .env("SANDPIPER_LANGUAGES", "shell")
            .output()
    };
    let listed = run(&["images", "list"]);
    assert!(text(&listed.stdout).contains(" c, cpp, shell "), "{listed:?}");
    let report = run(&["doctor"]);
    let report = text(&report.stdout);
    assert!(report.contains("image native: not built"), "{report}");
    assert!(!report.contains("image python"), "{report}");
    // Builds nothing, but finds the one and not the other.
    let wrong = run(&["images", "build", "--languages", "shell,cobol"]);
    check(&wrong, 1, "no language \"cobol\"; the languages are ");
    check(&wrong, 1, ", shell");
    let flag = format!("--languages-dir={dir}/none");
    let none = Sandpiper::new(&["images", "list", &flag]).output();
    check(&none, 1, "none: cannot read");
}

#[test]
fn there_is_a_page_for_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let folder = folder.path().join("man");
    let written = Sandpiper::new(&["man", folder.to_str().unwrap()]).output();
    check(&written, 0, "");
    let check_page = |name: &str, holds: &[&str]| {
        let page = fs::read_to_string(folder.join(name)).unwrap();
        for part in holds {
            // troff writes a hyphen so.
            let part = part.replace('-', "\\-");
            assert!(page.contains(&part), "{name} lacks {part}: {page}");
        }
    };
    check_page("sandpiper.1", &["serve", "doctor", "--log-format"]);
    check_page("sandpiper-serve.1", &["--trusted-proxy", "--data-dir"]);
    check_page("sandpiper-images-import.1", &["--skip-check"]);
    check_page("sandpiper-doctor.1", &["--programs"]);

    let nowhere = Sandpiper::new(&["man", "/proc/none"]).output();
    check(&nowhere, 1, "cannot write to /proc/none");
}

#[test]
fn shells_complete_the_command_line() {
    for shell in ["bash", "zsh", "fish"] {
        let printed = Sandpiper::new(&["completions", shell]).output();
        check(&printed, 0, "");
        let script = text(&printed.stdout);
        for part in ["trusted-proxy", "doctor", "skip-check"] {
            assert!(script.contains(part), "{shell} lacks {part}: {script}");
        }
    }
    let unknown = Sandpiper::new(&["completions", "cmd"]).output();
    check(&unknown, 2, "[possible values: bash");
}
