//! A `language.toml`, loaded together with the existing languages.

#![no_main]

use std::collections::BTreeMap;
use std::sync::LazyLock;

use libfuzzer_sys::fuzz_target;
use sandpiper_fuzz::{PLANTED, check_plan, sources};
use sandpiper_languages::{Catalog, LanguageFolder, Plan};

static SOURCES: LazyLock<Vec<LanguageFolder>> = LazyLock::new(sources);

/// The starters of all languages in one folder, so that any entry exists.
static FILES: LazyLock<BTreeMap<String, Vec<u8>>> = LazyLock::new(|| {
    let mut files = BTreeMap::new();
    for source in SOURCES.iter() {
        files.extend(source.files.clone());
    }
    files
});

fuzz_target!(|definition: &[u8]| {
    let mut files = FILES.clone();
    files.insert("language.toml".to_owned(), definition.to_vec());
    let (id, path) = ("fuzzed".to_owned(), "languages/fuzzed".to_owned());
    let source = LanguageFolder { id, path, files };
    let Ok(alone) = Catalog::load([source.clone()]) else {
        return;
    };
    if alone.check_names().is_ok() {
        check(&alone);
    }
    let beside = SOURCES.iter().cloned().chain([source]);
    if let Ok(all) = Catalog::load(beside)
        && all.check_names().is_ok()
    {
        assert_eq!(all.languages().count(), SOURCES.len() + 1);
        check(&all);
    }
});

fn check(catalog: &Catalog) {
    let fuzzed = catalog.find("FUZZED").expect("its id");
    assert!(!fuzzed.name().trim().is_empty());
    let image = fuzzed.image();
    assert!(
        !image.is_empty() && !image.contains(['/', '.', '\0']),
        "{image:?}"
    );
    for alias in fuzzed.aliases() {
        let found = catalog.find(alias).expect("its alias");
        assert_eq!(found.id(), "fuzzed", "{alias:?}");
        assert_eq!(catalog.nearest(alias).expect("it").id(), "fuzzed");
    }
    for extension in fuzzed.extensions() {
        let path = format!("x.{extension}");
        catalog.by_path(&path).expect("the language of its extension");
    }
    let starter = catalog.starter("fuzzed").expect("its starter");
    let plan = starter.submission.plan();
    check_plan(&plan);
    // The planted fault: a language without standard input gets it.
    let plan = Plan {
        stdin: if PLANTED { "unasked".to_owned() } else { plan.stdin },
        ..plan
    };
    assert!(fuzzed.takes_stdin() || plan.stdin.is_empty());
}
