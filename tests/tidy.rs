//! Rules of the repository that no compiler checks, over every tracked file.

#![expect(clippy::unwrap_used, reason = "a failed test stops here")]

use std::collections::BTreeSet;
use std::fs;
use std::process::Command;

use sandpiper_testkit::{checkout, read};

#[path = "tidy/words.rs"]
mod words;

/// The lines of the longest file.
const MAX_LINES: usize = 399;

/// Every tracked text file that is there: its path and its text.
fn files() -> Vec<(String, String)> {
    let git = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(checkout())
        .output()
        .unwrap();
    assert!(git.status.success(), "{}", String::from_utf8_lossy(&git.stderr));
    let paths = String::from_utf8(git.stdout).unwrap();
    let paths = paths.split_terminator('\0').map(str::to_owned);
    let read = |path: String| {
        let text = fs::read_to_string(checkout().join(&path)).ok()?;
        Some((path, text))
    };
    let files: Vec<(String, String)> = paths.filter_map(read).collect();
    assert!(files.len() > 50, "this is not the whole project");
    files
}

/// The files whose names end so.
fn code(endings: &[&str]) -> Vec<(String, String)> {
    let is_code = |path: &str| {
        let name = path.rsplit('/').next().unwrap_or_default();
        let ending = name.rsplit('.').next().unwrap_or_default();
        endings.contains(&ending) && !path.contains("/starter/")
    };
    files().into_iter().filter(|(path, _)| is_code(path)).collect()
}

/// Fails with every fault, so that one run reports them all.
fn refuse(faults: &[String]) {
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

#[test]
fn a_file_says_first_what_it_is_for() {
    let opening = |path: &str| match path.rsplit('.').next() {
        Some("rs") => vec!["//! "],
        Some("c" | "h" | "ts" | "js") => vec!["// ", "/* "],
        Some("css") => vec!["/* "],
        Some("lua") => vec!["-- "],
        Some("html") => vec!["<!-- "],
        _ => vec!["# "],
    };
    let mut faults = Vec::new();
    let endings =
        ["rs", "c", "h", "ts", "js", "css", "html", "toml", "sh", "py", "lua"];
    for (path, text) in code(&endings) {
        if path.ends_with("Cargo.toml") && path != "Cargo.toml" {
            // Its `description` is that line.
            continue;
        }
        // Lines that the system must find first come before.
        let first = text.lines().find(|line| {
            !line.starts_with("#!") && !line.starts_with("<!doctype")
        });
        let first = first.unwrap_or_default();
        if !opening(&path).iter().any(|start| first.starts_with(start)) {
            faults.push(format!("{path}: begins with {first:?}"));
        }
    }
    refuse(&faults);
}

#[test]
fn files_are_short() {
    let mut faults = Vec::new();
    let endings =
        ["rs", "c", "h", "ts", "js", "css", "html", "sh", "py", "lua"];
    for (path, text) in code(&endings) {
        let lines = text.lines().count();
        if lines > MAX_LINES {
            faults.push(format!("{path}: {lines} lines"));
        }
    }
    refuse(&faults);
}

#[test]
fn the_two_apis_do_not_know_each_other() {
    let mut faults = Vec::new();
    for (path, text) in code(&["rs"]) {
        for (own, other) in
            [("products", "execution"), ("execution", "products")]
        {
            let folder = format!("crates/server/src/{own}");
            for import in ["crate::", "super::super::", "super::"] {
                let import = format!("{import}{other}");
                if path.starts_with(&folder) && text.contains(&import) {
                    faults.push(format!("{path}: names {import}"));
                }
            }
        }
    }
    refuse(&faults);
}

#[test]
fn crates_depend_one_way() {
    let own = |line: &str| {
        let dependency = line.split(['.', ' ', '=']).next()?;
        dependency.strip_prefix("sandpiper-").map(str::to_owned)
    };
    let check = |name: &str, allowed: &[&str], in_tests: &[&str]| {
        let path = checkout().join(format!("crates/{name}/Cargo.toml"));
        let text = fs::read_to_string(path).unwrap();
        let parts = text.split_once("[dev-dependencies]");
        let (ships, tests) = parts.unwrap_or((&text, ""));
        for (part, allowed) in [(ships, allowed), (tests, in_tests)] {
            for dependency in part.lines().filter_map(own) {
                let known = allowed.contains(&dependency.as_str());
                assert!(known, "{name} must not depend on {dependency}");
            }
        }
    };
    check("sandbox", &[], &[]);
    check("languages", &[], &[]);
    check("images", &[], &[]);
    check("engine", &["languages", "sandbox"], &[]);
    check("shared", &[], &["testkit"]);
    check("server", &["engine", "shared"], &["testkit"]);
    // A benchmark measures a box alone.
    let in_tests = ["sandbox", "testkit"];
    let used = ["server", "engine", "images", "shared"];
    check("sandpiper", &used, &in_tests);
    check("testkit", &[], &[]);
}

/// The files of a run are a stranger's: the server parses none of them.
#[test]
fn no_library_reads_pictures() {
    let lock = read("Cargo.lock");
    let names = lock.lines().filter_map(|line| line.strip_prefix("name = "));
    let names: Vec<&str> = names.map(|name| name.trim_matches('"')).collect();
    assert!(names.contains(&"hyper"), "{names:?}");
    let forbidden = [
        "image",
        "png",
        "gif",
        "tiff",
        "webp",
        "jpeg",
        "svg",
        "freetype",
        "fontdue",
        "ttf",
        "skia",
        "cairo",
        "zune",
        "xml",
        "html5ever",
        "pdf",
    ];
    // Many names have such a word amid another.
    let is_one = |name: &str| {
        let is_other =
            name.starts_with("sandpiper-") || name == "rustls-webpki";
        !is_other && forbidden.iter().any(|word| name.contains(word))
    };
    for name in ["resvg", "usvg", "ttf-parser", "zune-core", "libwebp-sys"] {
        assert!(is_one(name), "{name} is not found");
    }
    let found: Vec<_> = names.iter().filter(|name| is_one(name)).collect();
    assert!(found.is_empty(), "{found:?}");
}

/// Servers of two versions may share a Valkey, which has one library of a name.
/// `rate_limits.lua` has the rule. A comment may change with the hash alone.
#[test]
fn a_library_that_changes_has_another_name() {
    let check = |file: &str, name: &str, hash: &str| {
        let path = checkout().join("crates/shared/src").join(file);
        let text = fs::read_to_string(&path).unwrap();
        let first = format!("#!lua name={name}\n");
        assert!(text.starts_with(&first), "{file} does not begin {first:?}");
        let sum = Command::new("sha256sum").arg(&path).output().unwrap();
        let sum = String::from_utf8(sum.stdout).unwrap();
        assert_eq!(sum.split(' ').next(), Some(hash), "{file} has changed");
    };
    check(
        "catalogue.lua",
        "sandpiper_catalogue3",
        "6ab86a81830fa2e3a154302c57ab89e3d26630fb7270bfe49bad9cd320b43331",
    );
    check(
        "rate_limits.lua",
        "sandpiper_limits2",
        "7318ef8d4ce0fcd39e742176a9cc7e1ac26508824b396b0ea57061c1d1a19a4c",
    );
}

#[test]
fn nothing_of_one_machine_is_tracked() {
    // Written in halves, since this file is tracked as well.
    let forbidden = [
        ["/wo", "rk/"],
        ["/ro", "ot/"],
        ["crates", ".io"],
        ["npm", "js"],
        ["pypi", ".org"],
        ["farm-", "bench"],
        ["TO", "DO"],
        ["FIX", "ME"],
    ]
    .map(|halves| halves.concat());
    let mut faults = Vec::new();
    for (path, text) in files() {
        if path.ends_with("Cargo.lock") || path.ends_with("package-lock.json") {
            // These name where packages come from.
            continue;
        }
        for (number, line) in (1..).zip(text.lines()) {
            let found = forbidden.iter().find(|word| line.contains(*word));
            if let Some(word) = found {
                faults.push(format!("{path}:{number}: holds {word:?}"));
            }
        }
    }
    refuse(&faults);
}

#[test]
fn every_toolchain_is_in_third_party() {
    // The names in the first cells: of the page, and of those beside recipes.
    let pages = files().into_iter();
    let pages = pages.filter(|(path, _)| path.ends_with("THIRD_PARTY.md"));
    let pages: String = pages.map(|(_, page)| page).collect();
    let rows = pages.lines().filter_map(|line| line.strip_prefix("| "));
    let cells = rows.filter_map(|row| row.split(" |").next());
    let named: BTreeSet<&str> =
        cells.flat_map(|cell| cell.split([',', ';'])).map(str::trim).collect();
    let mut faults = Vec::new();
    for (path, text) in code(&["toml"]) {
        if !path.ends_with("/image.toml") {
            continue;
        }
        let recipe: toml::Table = text.parse().unwrap();
        let versions = recipe.get("versions").and_then(toml::Value::as_table);
        let names = versions.map(|table| table.keys().collect::<Vec<_>>());
        let lacking = names.unwrap_or_default().into_iter();
        let lacking = lacking.filter(|name| !named.contains(name.as_str()));
        faults.extend(lacking.map(|name| format!("none has {name} of {path}")));
        if versions.is_none() {
            faults.push(format!("{path}: has no [versions]"));
        }
    }
    refuse(&faults);
}

/// `K isolation::files, devices` names two tests, `X escape/file-*` attacks.
#[test]
fn what_security_names_is_there() {
    let text = read("SECURITY.md");
    let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
    let files = files();
    let mut faults = Vec::new();
    let mut count = 0;
    for (letter, folder) in [
        ("K ", "crates/sandbox/tests/kernel"),
        ("L ", "tests/languages"),
        ("A ", "tests/api"),
        ("X ", "tests/attack"),
    ] {
        for list in text.split(letter).skip(1) {
            let end = |c: char| !c.is_alphanumeric() && !"_:-*/, ".contains(c);
            let list = list.split(end).next().unwrap_or_default();
            let separator = if letter == "X " { "/" } else { "::" };
            let mut place = None;
            for name in list.split(", ").map(str::trim) {
                let (own, name) = match name.split_once(separator) {
                    Some((own, name)) => (Some(own), name),
                    None => (place, name),
                };
                let (Some(own), false) = (own, name.contains(' ')) else {
                    break;
                };
                place = Some(own);
                count += 1;
                if !is_named(&files, folder, own, name) {
                    faults.push(format!("{letter}{own}{separator}{name}"));
                }
            }
        }
    }
    assert!(count > 100, "{count} names: the rest was not understood");
    refuse(&faults);
}

/// Whether a test's function, or an attack's file, is there; `*` stands for
/// the end of any.
fn is_named(
    files: &[(String, String)],
    folder: &str,
    own: &str,
    name: &str,
) -> bool {
    let start = name.strip_suffix('*');
    files.iter().any(|(path, text)| {
        let Some(rest) = path.strip_prefix(&format!("{folder}/{own}")) else {
            return false;
        };
        match (rest, start) {
            (".rs", Some("")) => true,
            (".rs", _) => text.contains(&format!("fn {name}(")),
            (_, Some(start)) => rest.starts_with(&format!("/{start}")),
            _ => rest == format!("/{name}.toml"),
        }
    })
}

/// A program or an attack that runs with `FULL=1` alone names the one that states
/// its promise without it.
#[test]
fn repeated_tests_exist() {
    let tests: Vec<_> = code(&["toml"])
        .into_iter()
        .filter_map(|(path, text)| {
            let name = path.strip_prefix("tests/")?.strip_suffix(".toml")?;
            let table: toml::Table = text.parse().ok()?;
            let repeats = table.get("repeats")?.as_str()?.to_owned();
            Some((name.to_owned(), repeats))
        })
        .collect();
    assert!(!tests.is_empty());
    let mut faults = Vec::new();
    for (name, repeats) in &tests {
        let is_there =
            checkout().join(format!("tests/{repeats}.toml")).is_file();
        if !is_there || tests.iter().any(|(other, _)| other == repeats) {
            faults.push(format!("{name} repeats {repeats}"));
        }
    }
    refuse(&faults);
}

#[test]
fn a_container_allows_what_boxes_do() {
    let policy: toml::Table =
        read("crates/sandbox/src/seccomp.toml").parse().unwrap();
    let profile: serde_json::Value =
        serde_json::from_str(&read("packaging/seccomp.json")).unwrap();
    let allowed: Vec<&str> = profile["syscalls"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|rule| rule["action"] == "SCMP_ACT_ALLOW")
        .flat_map(|rule| rule["names"].as_array().unwrap())
        .map(|name| name.as_str().unwrap())
        .collect();
    let mut faults = Vec::new();
    let mut compared = 0;
    for rule in policy["rule"].as_array().unwrap() {
        let action = rule["action"].as_str().unwrap();
        for call in rule["calls"].as_array().unwrap() {
            let call = call.as_str().unwrap();
            if action == "allow" && !allowed.contains(&call) {
                faults.push(format!("packaging/seccomp.json lacks {call}"));
            }
            compared += 1;
        }
    }
    // The calls that make a box, before its own policy is in force.
    for call in [
        "unshare",
        "setns",
        "mount",
        "fsopen",
        "fsconfig",
        "fsmount",
        "open_tree",
        "move_mount",
        "mount_setattr",
        "pivot_root",
        "sethostname",
        "openat2",
    ] {
        if !allowed.contains(&call) {
            faults.push(format!("packaging/seccomp.json lacks {call}"));
        }
    }
    assert!(compared > 250, "this is not the whole policy");
    refuse(&faults);
}
