//! What the pages say that can be looked up: links, and names of variables.

#![expect(clippy::unwrap_used, reason = "a failed test stops here")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Component, Path, PathBuf};
use std::process::Command;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path))
        .map_err(|error| format!("{path}: {error}"))
        .unwrap()
}

/// The pages: paths from the root.
fn pages() -> Vec<String> {
    let git = Command::new("git")
        .args(["ls-files", "-z", "*.md"])
        .current_dir(root())
        .output()
        .unwrap();
    let paths = String::from_utf8(git.stdout).unwrap();
    let paths: Vec<String> =
        paths.split_terminator('\0').map(str::to_owned).collect();
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
            let is_there = root().join(&path).exists();
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

#[test]
fn variables_in_pages_are_flags() {
    let mut known = BTreeSet::new();
    for command in [&["serve"][..], &["images", "build"]] {
        let help = Command::new(sandpiper_testkit::program())
            .args(command)
            .arg("--help")
            .output()
            .unwrap();
        known.extend(variables(&String::from_utf8(help.stdout).unwrap()));
    }
    assert!(known.len() > 20, "{known:?}");
    // The example of a rule, in words.
    known.insert("SANDPIPER_SOME_FLAG".to_owned());
    let mut faults = Vec::new();
    let mut count = 0;
    for page in pages().into_iter().chain(["packaging/default".to_owned()]) {
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
