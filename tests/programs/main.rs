//! Programs as data, sent to the running service over HTTP: one file a program,
//! one folder a language. Needs the images.
//!
//! `UPDATE_EXPECT=1` writes what came back into the files; read it then.

#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

mod program;
mod servers;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};
use sandpiper_testkit::{
    checkout, entries, is_chosen, is_default_language, is_full, is_with_images,
    needs_images, read,
};

use program::Program;
use servers::{Servers, Start};

/// How a run starts is a matter of the engine and of a language's launcher, and
/// not of each program: so many of a language run in every way, spread over their
/// names, beside those that look at how they started. The others run in a box made
/// then. With `FULL=1` all run in every way.
const IN_EVERY_WAY: usize = 10;

fn main() {
    let arguments = Arguments::from_args();
    let cases: Vec<Case> = cases()
        .into_iter()
        .filter(|case| is_chosen(&arguments, &case.name))
        .collect();
    // A listing starts nothing.
    let is_run = !arguments.list && is_with_images(&arguments);
    let servers = Arc::new(is_run.then(|| {
        let runs = cases.iter().flat_map(|case| {
            case.starts.iter().map(|start| (case.language(), *start))
        });
        Servers::start(&runs.collect::<Vec<_>>())
    }));
    let trials = cases.into_iter().map(|case| {
        let servers = Arc::clone(&servers);
        let trial = Trial::test(case.name.clone(), move || {
            let servers = (*servers).as_ref().ok_or("nothing was started")?;
            Ok(case.check(servers)?)
        });
        needs_images(&arguments, trial)
    });
    let conclusion = libtest_mimic::run(&arguments, trials.collect());
    // Ends the servers; `exit` below would not.
    drop(servers);
    conclusion.exit();
}

/// A program, and in which ways it runs.
struct Case {
    /// `<language>/<name>`.
    name: String,
    path: PathBuf,
    program: Result<Program, String>,
    starts: Vec<Start>,
}

impl Case {
    fn language(&self) -> &str {
        self.name.split_once('/').map_or("", |(language, _)| language)
    }

    fn check(&self, servers: &Servers) -> Result<(), String> {
        let program = self.program.as_ref()?;
        let starts = &self.starts;
        program.check(self.language(), servers, starts, &self.path)
    }
}

/// Every program that runs; of a language that has to be chosen only the
/// smallest, in one way, unless `FULL=1` asks for all. Languages take turns: while
/// a box is made ahead for one, programs of others run.
fn cases() -> Vec<Case> {
    let root = checkout().join("tests/programs");
    let mut cases = Vec::new();
    for folder in entries(&root).iter().filter(|path| path.is_dir()) {
        let programs: Vec<_> = entries(folder)
            .into_iter()
            .map(|path| (Program::read(&path), path))
            .filter(|(program, _)| is_full() || !is_repeated(program))
            .collect();
        let chosen = in_every_way(programs.iter().map(|(program, _)| program));
        let language = folder.file_name().unwrap().to_str().unwrap();
        let is_whole = is_full() || is_default_language(language);
        for (turn, (program, path)) in programs.into_iter().enumerate() {
            let name = path.strip_prefix(&root).unwrap().with_extension("");
            let name = name.to_str().unwrap().to_owned();
            if !is_whole && !name.ends_with("/hello") {
                continue;
            }
            let is_chosen = is_full() || (is_whole && chosen.contains(&turn));
            let starts = program.as_ref().map_or_else(
                |_| vec![Start::Cold],
                |program| starts(language, program, is_chosen),
            );
            if !starts.is_empty() {
                cases.push((turn, Case { name, path, program, starts }));
            }
        }
    }
    cases.sort_by_key(|(turn, _)| *turn);
    cases.into_iter().map(|(_, case)| case).collect()
}

fn is_repeated(program: &Result<Program, String>) -> bool {
    program.as_ref().is_ok_and(|program| program.repeats.is_some())
}

/// The places of those that run in every way: none that takes its whole time, or
/// does not compile, and so has nothing to be kept.
fn in_every_way<'a>(
    programs: impl Iterator<Item = &'a Result<Program, String>>,
) -> BTreeSet<usize> {
    let is_fit = |it: &Result<Program, _>| {
        it.as_ref().is_ok_and(|it| !it.short && it.is_run())
    };
    let fit = programs.enumerate().filter(|(_, it)| is_fit(it));
    let fit: Vec<usize> = fit.map(|(place, _)| place).collect();
    let spread = (0..IN_EVERY_WAY).map(|n| n * fit.len() / IN_EVERY_WAY);
    spread.filter_map(|at| fit.get(at).copied()).collect()
}

/// The ways in which a program runs. One that prints a document runs in none, if
/// it is not one of the chosen: web/e2e/programs runs it, and looks at more.
fn starts(language: &str, program: &Program, is_chosen: bool) -> Vec<Start> {
    if is_chosen || program.sees_start {
        every_way(language)
    } else if program.page.is_some() {
        Vec::new()
    } else {
        vec![Start::Cold]
    }
}

/// All ways that runs of a language can start.
fn every_way(language: &str) -> Vec<Start> {
    let definition = read(&format!("languages/{language}/language.toml"));
    if definition.contains("\n[compile]\n") {
        vec![Start::Cold, Start::Kept, Start::Warm]
    } else {
        vec![Start::Cold, Start::Warm]
    }
}
