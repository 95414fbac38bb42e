//! Checks the files of packaging/ against the code and the pages.

#![expect(clippy::unwrap_used, reason = "a failed test stops here")]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path))
        .map_err(|error| format!("{path}: {error}"))
        .unwrap()
}

/// The metrics that a text names, without the endings of histograms.
fn metrics(text: &str) -> BTreeSet<String> {
    let is_part = |c: char| c.is_ascii_lowercase() || c == '_';
    let words = text.split(|c| !is_part(c));
    let names = words.filter(|word| {
        word.starts_with("sandpiper_") || word.starts_with("process_")
    });
    let whole = |name: &str| {
        let endings = ["_bucket", "_sum", "_count"];
        let bare = endings.iter().find_map(|end| name.strip_suffix(end));
        bare.unwrap_or(name).to_owned()
    };
    names.map(whole).collect()
}

#[test]
fn alerts_and_dashboard_use_metrics_that_there_are() {
    let page = read("docs/monitoring.md");
    let rows = page.lines().filter_map(|line| line.strip_prefix("| `"));
    let known: BTreeSet<String> =
        rows.filter_map(|row| Some(row.split_once('`')?.0.into())).collect();
    let check = |path: &str, min: usize| {
        let used = metrics(&read(path));
        assert!(used.len() >= min, "{path} uses more than {used:?}");
        let unknown: Vec<_> = used.difference(&known).collect();
        assert!(unknown.is_empty(), "{path}: no metrics: {unknown:?}");
    };
    check("packaging/alerts.yaml", 12);
    check("packaging/grafana.json", 30);
}

/// Whoever takes a node over can do no more in Valkey than the node does.
#[test]
fn nodes_may_use_the_commands_of_their_functions_alone() {
    let mut called = BTreeSet::new();
    for library in ["limits", "catalogue"] {
        let text = read(&format!("crates/shared/src/{library}.lua"));
        let calls = text.split("call('").skip(1);
        called.extend(
            calls.map(|rest| {
                rest.split('\'').next().unwrap().to_ascii_lowercase()
            }),
        );
    }
    assert!(called.len() > 10, "{called:?}");
    // Those of the connection, and the clock that `doctor --fleet` reads.
    let others = ["client|setinfo", "function|load", "fcall", "time"];
    called.extend(others.map(str::to_owned));
    let users = read("packaging/fleet/users.acl");
    let node = users.lines().find(|user| user.starts_with("user sandpiper "));
    let words = node.unwrap().split(' ');
    let allowed: BTreeSet<String> =
        words.filter_map(|word| Some(word.strip_prefix('+')?.into())).collect();
    assert_eq!(allowed, called);
}
