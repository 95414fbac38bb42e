//! Programs as data, sent to the running service over HTTP: one file a program,
//! one folder a language. Needs the images.
//!
//! `UPDATE_EXPECT=1` writes what came back into the files; read it then.

#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

mod program;
#[path = "../ready.rs"]
#[allow(dead_code, reason = "shared with other tests, which use more")]
mod ready;
mod servers;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};

use program::Program;
use servers::Servers;

fn main() {
    let arguments = Arguments::from_args();
    let programs: Vec<(String, PathBuf)> = programs()
        .into_iter()
        .filter(|(name, _)| is_chosen(&arguments, name))
        .collect();
    let languages = programs.iter().filter_map(|(name, _)| language_of(name));
    // A listing starts nothing.
    let servers = Arc::new(if arguments.list {
        Servers::none()
    } else {
        Servers::start(languages)
    });
    let trials = programs.into_iter().map(|(name, path)| {
        let servers = Arc::clone(&servers);
        let language = language_of(&name).unwrap_or_default().to_owned();
        Trial::test(name, move || {
            let program = Program::read(&path)?;
            Ok(program.check(&language, &servers, &path)?)
        })
    });
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    // Ends the servers; `exit` below would not.
    drop(servers);
    conclusion.exit();
}

/// Every program, by `<language>/<name>`. Languages take turns: while a box is
/// made ahead for one, programs of others run.
fn programs() -> Vec<(String, PathBuf)> {
    let root =
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/programs");
    let entries = |folder: &Path| {
        let entries = fs::read_dir(folder).unwrap();
        let mut paths: Vec<PathBuf> =
            entries.map(|entry| entry.unwrap().path()).collect();
        paths.sort();
        paths
    };
    let mut programs = Vec::new();
    for folder in entries(&root).iter().filter(|path| path.is_dir()) {
        for (turn, path) in entries(folder).into_iter().enumerate() {
            let name = path.strip_prefix(&root).unwrap().with_extension("");
            programs.push((turn, (name.to_str().unwrap().to_owned(), path)));
        }
    }
    programs.sort_by_key(|(turn, _)| *turn);
    programs.into_iter().map(|(_, program)| program).collect()
}

/// What libtest-mimic will decide, known before servers are started.
fn is_chosen(arguments: &Arguments, name: &str) -> bool {
    let is_named = |part: &String| {
        if arguments.exact { name == part } else { name.contains(part) }
    };
    arguments.filter.as_ref().is_none_or(is_named)
        && !arguments.skip.iter().any(is_named)
}

fn language_of(name: &str) -> Option<&str> {
    Some(name.split_once('/')?.0)
}
