//! Checks links, flags and variables in the pages.

#![expect(clippy::unwrap_used, reason = "a failed test stops here")]

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path};
use std::process::Command;

use sandpiper_testkit::{checkout, read};

/// The tracked files that match, as paths from the root.
fn tracked(pattern: &str) -> Vec<String> {
    let git = Command::new("git")
        .args(["ls-files", "-z", pattern])
        .current_dir(checkout())
        .output()
        .unwrap();
    let paths = String::from_utf8(git.stdout).unwrap();
    paths.split_terminator('\0').map(str::to_owned).collect()
}

/// The pages: paths from the root.
fn pages() -> Vec<String> {
    let paths = tracked("*.md");
    assert!(paths.len() > 8, "these are not all pages: {paths:?}");
    paths
}

/// Where the links and pictures of a page lead within the repository: a path
/// from the root, and the heading.
fn links(page: &str, text: &str) -> Vec<(String, String)> {
    let ends = [("](", ')'), ("src=\"", '"'), ("srcset=\"", '"')];
    let targets = ends.iter().flat_map(|(start, end)| {
        text.split(start)
            .skip(1)
            .filter_map(|rest| Some(rest.split_once(*end)?.0))
    });
    targets
        .filter(|target| !target.contains("://"))
        .map(|target| {
            let (path, heading) =
                target.split_once('#').unwrap_or((target, ""));
            let path = match path {
                "" => page.to_owned(),
                _ => plain(&Path::new(page).with_file_name(path)),
            };
            (path, heading.to_owned())
        })
        .collect()
}

/// The path without `..`.
fn plain(path: &Path) -> String {
    let mut parts = Vec::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(parts.pop()),
            part => parts.push(part.as_os_str().to_str().unwrap()),
        }
    }
    parts.join("/")
}

/// The headings of a page, as links name them.
fn headings(text: &str) -> BTreeSet<String> {
    let name = |heading: &str| -> String {
        let kept = |c: &char| c.is_alphanumeric() || " -_".contains(*c);
        heading.to_lowercase().chars().filter(kept).collect()
    };
    text.lines()
        .filter_map(|line| line.strip_prefix('#'))
        .map(|line| name(line.trim_start_matches('#').trim()).replace(' ', "-"))
        .collect()
}

#[test]
fn every_link_leads_somewhere() {
    let mut faults = Vec::new();
    let mut count = 0;
    for page in pages() {
        for (path, heading) in links(&page, &read(&page)) {
            count += 1;
            let is_there = checkout().join(&path).exists();
            if !is_there
                || !heading.is_empty()
                    && !headings(&read(&path)).contains(&heading)
            {
                faults.push(format!("{page}: {path}#{heading}"));
            }
        }
    }
    assert!(count > 20, "{count} links: the rest was not seen");
    assert!(faults.is_empty(), "lead nowhere:\n{}", faults.join("\n"));
}

/// Returns the path of a file that the architecture names by its crate, as in
/// `engine/run.rs`.
fn in_crate(name: &str) -> String {
    let (of, file) = name.split_once('/').unwrap_or_default();
    format!("crates/{of}/src/{file}")
}

/// The files of one request are listed with their whole paths, in order.
#[test]
fn the_files_of_a_request_are_there() {
    let text = read("ARCHITECTURE.md");
    let (_, list) = text.split_once("## One request, file by file").unwrap();
    let list = list.split("\n## ").next().unwrap();
    let named: Vec<&str> = list.split('`').skip(1).step_by(2).collect();
    let paths = named.iter().filter(|name| name.ends_with(".rs"));
    let paths: Vec<String> = paths.map(|name| in_crate(name)).collect();
    assert!(paths.len() > 40, "this is not the whole way: {paths:?}");
    let tracked = tracked("crates");
    for (index, path) in paths.iter().enumerate() {
        assert!(tracked.iter().any(|own| own == path), "{path} is gone");
        assert!(!paths[..index].contains(path), "{path} is there twice");
    }
    let bold = list.matches("**`").count();
    assert!(list.contains(&format!("The {bold} files in **bold**")), "{bold}");
}

#[test]
fn the_files_that_the_architecture_names_are_there() {
    let tracked = tracked(".");
    let is_there = |name: &str| {
        let end = format!("/{name}");
        let in_crate = in_crate(name);
        tracked.iter().any(|path| {
            path == name || *path == in_crate || path.ends_with(&end)
        })
    };
    let text = read("ARCHITECTURE.md");
    let mut faults = Vec::new();
    let mut count = 0;
    for name in text.split('`').skip(1).step_by(2) {
        let ending = name.rsplit_once('.').map(|(_, ending)| ending);
        let endings = ["rs", "toml", "ts", "md", "txt", "yaml"];
        if ending.is_some_and(|ending| endings.contains(&ending)) {
            count += 1;
            if !is_there(name) {
                faults.push(name);
            }
        }
    }
    assert!(count > 60, "{count} names: the rest was not seen");
    assert!(faults.is_empty(), "gone: {faults:?}");
}

#[test]
fn the_package_has_what_its_pages_link_to() {
    let script = read("scripts/deb");
    let list = script.split("for file in docs/").nth(1).unwrap();
    let list = format!("docs/{}", list.split("; do").next().unwrap());
    let packed: Vec<&str> =
        list.split_whitespace().filter(|word| *word != "\\").collect();
    assert!(packed.len() > 4, "{packed:?}");
    let mut faults = Vec::new();
    for page in &packed {
        for (path, _) in links(page, &read(page)) {
            if path.ends_with(".md") && !packed.contains(&path.as_str()) {
                faults.push(format!("{page}: {path}"));
            }
        }
    }
    assert!(faults.is_empty(), "not packed:\n{}", faults.join("\n"));
}

/// Returns the output of `sandpiper COMMAND --help`.
fn help(command: &[&str]) -> String {
    let mut program = Command::new(sandpiper_testkit::program());
    let help = program.args(command).arg("--help").output().unwrap();
    assert!(help.status.success(), "{command:?}");
    String::from_utf8(help.stdout).unwrap()
}

#[test]
fn variables_in_pages_are_flags() {
    let mut known = BTreeSet::new();
    for command in [&["serve"][..], &["images", "build"]] {
        known.extend(variables(&help(command)));
    }
    assert!(known.len() > 20, "{known:?}");
    // The example of a rule, in words.
    known.insert("SANDPIPER_SOME_FLAG".to_owned());
    let mut faults = Vec::new();
    let mut count = 0;
    let settings = ["packaging/default", "packaging/fleet/*.yaml"];
    let settings = settings.iter().flat_map(|pattern| tracked(pattern));
    for page in pages().into_iter().chain(settings) {
        for name in variables(&read(&page)) {
            count += 1;
            if !known.contains(&name) {
                faults.push(format!("{page}: {name}"));
            }
        }
    }
    assert!(count > 8, "{count} variables: the rest was not seen");
    assert!(faults.is_empty(), "no flags:\n{}", faults.join("\n"));
}

fn variables(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_uppercase() || c == '_';
    text.split(|c| !is_part(c))
        .filter(|word| word.starts_with("SANDPIPER_"))
        .map(str::to_owned)
        .collect()
}

/// The commands that pages name, as they are typed.
const COMMANDS: [&str; 9] = [
    "serve",
    "run",
    "doctor",
    "images build",
    "images lock",
    "images list",
    "images remove",
    "images export",
    "images import",
];

/// Flags of other programs that a page names without the program.
const FOREIGN: [(&str, &str); 10] = [
    // The example of a rule.
    ("docs/deploy.md", "--some-flag"),
    // Of podman.
    ("docs/deploy.md", "--cap-add"),
    ("docs/deploy.md", "--privileged"),
    ("docs/deploy.md", "--stop-timeout"),
    ("CHANGELOG.md", "--privileged"),
    // Of the benchmark.
    ("docs/overload.md", "--clients"),
    ("docs/overload.md", "--seconds"),
    ("docs/overload.md", "--step"),
    // Of a language's own commands.
    ("docs/languages.md", "--results"),
    ("docs/languages.md", "--warnings"),
];

#[test]
fn flags_in_pages_are_those_of_the_help() {
    let known: BTreeMap<&str, BTreeSet<String>> = COMMANDS
        .iter()
        .map(|command| {
            let words: Vec<&str> = command.split(' ').collect();
            (*command, flags(&help(&words)))
        })
        .collect();
    let mut faults = Vec::new();
    let mut count = 0;
    for page in pages() {
        for (command, flag) in named_flags(&read(&page)) {
            if FOREIGN.contains(&(page.as_str(), flag.as_str())) {
                continue;
            }
            count += 1;
            let is_known = match &command {
                Some(command) => known[command].contains(&flag),
                None => known.values().any(|flags| flags.contains(&flag)),
            };
            if !is_known {
                let command = command.unwrap_or("any command");
                faults.push(format!("{page}: {flag} is no flag of {command}"));
            }
        }
    }
    assert!(count > 40, "{count} flags: the rest was not seen");
    assert!(faults.is_empty(), "\n{}", faults.join("\n"));
}

/// The flags that a page says are those of `sandpiper`, each with the command
/// that it follows. One that stands alone in backticks has no command.
fn named_flags(page: &str) -> Vec<(Option<&'static str>, String)> {
    let mut found = Vec::new();
    for code in code(page) {
        if code.starts_with("--") {
            found.extend(flags(&code).into_iter().map(|flag| (None, flag)));
            continue;
        }
        for command in COMMANDS {
            let Some((before, after)) =
                code.split_once(&format!("sandpiper {command} "))
            else {
                continue;
            };
            // That of `--package sandpiper` is cargo's.
            if !before.ends_with("-p ") && !before.ends_with("--package ") {
                let flags = flags(after).into_iter();
                found.extend(flags.map(|flag| (Some(command), flag)));
            }
        }
    }
    found
}

/// Code of a page: the spans in backticks, and the lines of blocks. A line that
/// ends in a backslash goes on.
fn code(page: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut prose = String::new();
    let mut is_fenced = false;
    for line in page.replace("\\\n", " ").lines() {
        if line.starts_with("```") {
            is_fenced = !is_fenced;
        } else if is_fenced || line.starts_with("    ") {
            // Comments are prose.
            let line = line.split("# ").next().unwrap_or_default();
            found.push(format!("{} ", line.trim()));
        } else {
            prose += line;
            prose.push(' ');
        }
    }
    let spans = prose.split('`').skip(1).step_by(2);
    found.extend(spans.map(|span| format!("{} ", span.trim())));
    found
}

/// The words that begin with two hyphens.
fn flags(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_lowercase() || c == '-';
    text.split(|c: char| c.is_whitespace() || "=[],".contains(c))
        .filter_map(|word| {
            let end = word.find(|c| !is_part(c)).unwrap_or(word.len());
            let flag = &word[..end];
            (flag.len() > 3 && flag.starts_with("--")).then_some(flag)
        })
        .map(str::to_owned)
        .collect()
}

#[test]
fn flags_of_other_programs_are_ignored() {
    let check = |page: &str, expected: &[(Option<&str>, &str)]| {
        let found = named_flags(page);
        let found: Vec<_> =
            found.iter().map(|(command, flag)| (*command, &**flag)).collect();
        assert_eq!(found, expected, "{page}");
    };
    check("May keep it (`--disk`).", &[(None, "--disk")]);
    check("Say `--boxes=2`,\nor less.", &[(None, "--boxes")]);
    check("    sandpiper serve --a-b 3\n", &[(Some("serve"), "--a-b")]);
    check(
        "```sh\nsudo sandpiper images list \\\n  --ab # --cd\n```",
        &[(Some("images list"), "--ab")],
    );
    check("`systemd-run --user sandpiper serve`", &[]);
    check("`cargo test --package sandpiper --test cli`", &[]);
    check("    cargo test -p sandpiper run --test cli", &[]);
    check("Words -- and --flags that are no code", &[]);
}
