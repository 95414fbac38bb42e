//! The files of a page or an application for the bundler. The first byte selects the
//! language and the entry among the paths that follow.

#![no_main]

use std::path::{Component, Path};
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use sandpiper_fuzz::{PLANTED, check_plan, sources};
use sandpiper_languages::{Catalog, Plan, SourceFile};

static CATALOG: LazyLock<Catalog> =
    LazyLock::new(|| Catalog::load(sources()).expect("our languages"));

const LANGUAGES: [&str; 3] = ["web", "react", "vue"];

fuzz_target!(|input: &[u8]| {
    let Some((choice, paths)) = input.split_first() else { return };
    let Ok(paths) = std::str::from_utf8(paths) else { return };
    let paths: Vec<&str> = paths.split('\n').collect();
    let choice = usize::from(*choice);
    let language = LANGUAGES[choice % LANGUAGES.len()];
    let entry = paths[choice / LANGUAGES.len() % paths.len()];
    let plan = planned(language, entry, &paths);
    assert_eq!(plan.is_some(), stay_inside(&paths), "{paths:?}");
    let Some(plan) = plan else { return };
    check_plan(&plan);
    let files = plan.files.iter().map(|file| file.path.as_str());
    assert!(files.eq(paths.iter().copied()), "{paths:?}");
    for step in &plan.steps {
        // The entry's name comes through the gate, not as an argument.
        let is_named = step.command.iter().any(|word| word == entry);
        let is_word = [language, "build", "show", "pages", "applications"]
            .contains(&entry);
        assert!(!is_named || is_word, "{:?}", step.command);
    }
});

fn planned(language: &str, entry: &str, paths: &[&str]) -> Option<Plan> {
    let file = |path: &&str| SourceFile {
        // The planted fault: `..` counts as an ordinary name.
        path: if PLANTED {
            path.replace("..", "dd")
        } else {
            (*path).to_owned()
        },
        content: Vec::new(),
    };
    let files = paths.iter().map(file).collect();
    let entry =
        if PLANTED { entry.replace("..", "dd") } else { entry.to_owned() };
    let submission =
        CATALOG.submission(language, entry, files, String::new(), Vec::new());
    Some(submission.ok()?.plan())
}

/// Returns whether the paths are different places below the working directory, as
/// the standard library reads paths.
fn stay_inside(paths: &[&str]) -> bool {
    paths.iter().enumerate().all(|(at, path)| {
        let segments: Option<Vec<&str>> = Path::new(path)
            .components()
            .map(|part| match part {
                Component::Normal(name) => name.to_str(),
                _ => None,
            })
            .collect();
        let Some(segments) = segments else { return false };
        !path.is_empty()
            && path.len() <= 1_024
            && segments.join("/") == *path
            && segments.iter().all(|name| name.len() <= 255)
            && !path.contains(|c: char| c.is_control() || c == '\\')
            && paths.iter().enumerate().all(|(other, beside)| {
                other == at || !Path::new(beside).starts_with(path)
            })
    })
}
