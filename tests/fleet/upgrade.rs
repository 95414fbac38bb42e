//! Nodes of two versions work beside each other, each with functions of its own in
//! the Valkey.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use sandpiper_testkit::program;

use crate::Test;
use crate::client::Client;
use crate::fleet::{Fleet, Setup};
use crate::limits::check;
use crate::valkey::Valkey;

pub(crate) const TESTS: &[(&str, Test)] =
    &[("upgrade/functions-of-two-versions", two_versions)];

/// Names in the program, and those of the same length in its next version.
const NEXT: [(&str, &str); 4] = [
    ("sandpiper_limits2", "sandpiper_limits3"),
    ("sandpiper_catalogue3", "sandpiper_catalogue4"),
    // The names of limits become those that the catalogue had.
    ("sp3_", "sp4_"),
    ("sp2_", "sp3_"),
];

fn two_versions() {
    let mut fleet = Fleet::start(Setup {
        limits: true,
        products: Some(false),
        ..Setup::default()
    });
    let client = Client::new();
    let to = fleet.nodes.iter().map(|node| node.address);
    let to: Vec<_> = to.collect();
    let create = |number: usize| {
        let body = format!(r#"{{"name":"{number}","price":1}}"#);
        for (node, id) in to.iter().zip(number * to.len() + 1..) {
            let reply = client.send(*node, "POST /products", &body);
            assert_eq!((reply.status, &reply.json()["id"]), (201, &id.into()));
        }
    };
    let next = fleet.folder.path().join("sandpiper");
    write_next(&next);
    create(0);
    check(&fleet);
    // One node is of the next version.
    fleet.nodes[0].stop();
    fleet.nodes[0].command.program = next;
    fleet.nodes[0].restart();
    create(1);
    check(&fleet);
    // The older version starts again, and takes nothing away.
    fleet.nodes[1].stop();
    fleet.nodes[1].restart();
    create(2);
    check(&fleet);
    let both = |valkey: &Option<Valkey>, (old, new): (&str, &str)| {
        let expected = BTreeSet::from([old, new].map(str::to_owned));
        assert_eq!(libraries(valkey.as_ref().unwrap()), expected);
    };
    both(&fleet.limits, NEXT[0]);
    both(&fleet.products, NEXT[1]);
}

/// Writes the program with the names of a next version.
fn write_next(path: &Path) {
    let mut bytes = fs::read(program()).unwrap();
    for (old, new) in NEXT {
        let (old, new) = (old.as_bytes(), new.as_bytes());
        let mut at = 0;
        let mut count = 0;
        while let Some(found) = find(&bytes[at..], old) {
            at += found;
            bytes[at..at + new.len()].copy_from_slice(new);
            count += 1;
        }
        assert!(count > 0, "the program lacks {old:?}");
    }
    fs::write(path, bytes).unwrap();
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(path, executable).unwrap();
}

/// Returns the first place of `word`.
fn find(bytes: &[u8], word: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        at += bytes[at..].iter().position(|byte| *byte == word[0])?;
        if bytes[at..].starts_with(word) {
            return Some(at);
        }
        at += 1;
    }
}

/// Returns the names of the libraries in a Valkey.
fn libraries(valkey: &Valkey) -> BTreeSet<String> {
    let all = valkey.ask_json(&["FUNCTION", "LIST"]);
    let all = all.as_array().unwrap().iter();
    let name = |it: &serde_json::Value| {
        it["library_name"].as_str().unwrap().to_owned()
    };
    all.map(name).collect()
}
