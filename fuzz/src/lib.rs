//! Shared by the targets: the languages of the checkout, and checks of plans.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Component, Path};

use sandpiper_languages::{LanguageFolder, Plan};

/// Whether each target contains a planted fault. It must find that, which shows that
/// it would find a real one.
pub const PLANTED: bool = cfg!(feature = "planted");

/// Returns all languages of the checkout.
pub fn sources() -> Vec<LanguageFolder> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../languages");
    let languages = fs::read_dir(folder).expect("the folder of languages");
    languages
        .map(|entry| {
            let entry = entry.expect("a language's folder");
            let mut files = BTreeMap::new();
            read(&entry.path(), &entry.path(), &mut files);
            let id = entry.file_name().into_string().expect("a language's id");
            LanguageFolder { path: format!("languages/{id}"), id, files }
        })
        .collect()
}

fn read(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("a file").path();
        if path.is_dir() {
            read(root, &path, files);
        } else {
            let name = path.strip_prefix(root).expect("a path below the root");
            let name = name.to_str().expect("a name in UTF-8").to_owned();
            files.insert(name, fs::read(&path).expect("a file's bytes"));
        }
    }
}

/// Asserts the properties of a plan on which init and the kernel rely.
pub fn check_plan(plan: &Plan) {
    check_paths(plan);
    assert!(!plan.steps.is_empty());
    for step in &plan.steps {
        assert!(step.command[0].starts_with('/'), "{:?}", step.command);
        for argument in &step.command {
            assert!(!argument.contains('\0'), "{argument:?}");
            // A file may have the name of the placeholder for the entry.
            let is_file = plan.files.iter().any(|file| file.path == *argument);
            assert!(is_file || !argument.contains("{entry}"), "{argument:?}");
        }
        let environment = step.environment_in(512 << 20);
        for (at, (key, value)) in environment.iter().enumerate() {
            assert!(!key.is_empty() && !key.contains(['=', '\0']), "{key:?}");
            assert!(!value.contains('\0'), "{key}: {value:?}");
            let twice = environment[..at].iter().any(|(own, _)| own == key);
            assert!(!twice, "{key:?} twice");
        }
    }
    for bytes in [plan.memory_bytes, plan.output_bytes].into_iter().flatten() {
        assert!(bytes >= 1 << 20, "{bytes}");
    }
}

/// Asserts that the paths are different places below the working directory.
fn check_paths(plan: &Plan) {
    assert!(!plan.files.is_empty());
    for (at, file) in plan.files.iter().enumerate() {
        let path = Path::new(&file.path);
        let inside = path.components().all(|part| match part {
            Component::Normal(name) => name.len() <= 255,
            _ => false,
        });
        assert!(inside, "{path:?}");
        // Nothing that components() normalises, such as `a//b` or `a/.`.
        let parts = file.path.split('/').count();
        assert_eq!(path.components().count(), parts, "{path:?}");
        assert!(!file.path.contains(char::is_control), "{path:?}");
        assert!(file.path.len() <= 1_024, "{path:?}");
        for other in &plan.files[..at] {
            let other = Path::new(&other.path);
            let clash = path.starts_with(other) || other.starts_with(path);
            assert!(!clash, "{path:?} and {other:?}");
        }
    }
}
