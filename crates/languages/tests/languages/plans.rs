//! The plans that definitions make. The plan of each language's starter is in
//! its folder, `plan-expected.txt`; `UPDATE_EXPECT=1 cargo test` rewrites them.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

use expect_test::expect_file;
use sandpiper_languages::{
    Catalog, LanguageFolder, Plan, SourceFile, Stage, Step,
};

use crate::{DEFINITION, load, source};

#[test]
fn the_whole_plan() {
    let definition = DEFINITION
        .replace("[run]", "[compile]\ncommand = [\"/cc\", \"{entry}\"]\n[run]")
        .replace(
            "[run]",
            "[limits]\nmemory_mib = 1024\noutput_mib = 4\nprocesses = 9\n\
             [environment]\nLANG = \"C\"\nA = \"b=c\"\n[run]",
        );
    let catalog = load(vec![source("python", &definition)]).unwrap();
    let submission = &catalog.starter("python").unwrap().submission;
    let environment: Vec<(String, String)> = [
        ("PATH", "/usr/local/bin:/usr/bin:/bin"),
        ("HOME", "/box"),
        ("LANG", "C"),
        ("TZ", "UTC"),
        ("A", "b=c"),
    ]
    .map(|(key, value)| (key.to_owned(), value.to_owned()))
    .into();
    let step = |stage, program: &str| Step {
        stage,
        command: vec![program.to_owned(), "main.py".to_owned()],
        environment: environment.clone(),
        prepares: false,
        takes_warnings: false,
        takes_results: false,
    };
    let expected = Plan {
        language: "python".to_owned(),
        image: "python".to_owned(),
        entry_file: "main.py".to_owned(),
        is_repeatable: false,
        files: submission.files().to_vec(),
        stdin: String::new(),
        args: Vec::new(),
        shows_warnings: false,
        leaves_results: false,
        steps: vec![
            step(Stage::Compile, "/cc"),
            step(Stage::Run, "/opt/python"),
        ],
        crash: None,
        memory_bytes: Some(1 << 30),
        output_bytes: Some(4 << 20),
        processes: Some(9),
    };
    assert_eq!(submission.plan(), expected);
}

#[test]
fn stdin_goes_only_where_it_is_read() {
    let check = |line: &str, expected: &str| {
        let definition = DEFINITION
            .replace("image =", &format!("{line}\nimage ="))
            .replace("entry =", "stdin = \"input\"\nentry =");
        let catalog = load(vec![source("python", &definition)]).unwrap();
        let submission = &catalog.starter("python").unwrap().submission;
        assert_eq!(submission.stdin(), "input");
        assert_eq!(submission.plan().stdin, expected, "{line}");
    };
    check("", "input");
    check("stdin = true", "input");
    check("stdin = false", "");
}

#[test]
fn a_name_is_handed_over_as_it_is() {
    let check = |entry: &str| {
        let catalog = load(vec![source("python", DEFINITION)]).unwrap();
        let file = SourceFile { path: entry.to_owned(), content: Vec::new() };
        let entry = entry.to_owned();
        let submission = catalog.submission(
            "python",
            entry.clone(),
            vec![file],
            String::new(),
            Vec::new(),
        );
        let plan = submission.unwrap().plan();
        assert_eq!(plan.steps[0].command, ["/opt/python".to_owned(), entry]);
    };
    check("main.py");
    check("a b.py");
    // Words that mean something in a definition mean nothing in a name.
    check("{entry}");
    check("a{entry}b");
    check("{memory_mib}");
    check("$(echo).py");
}

#[test]
fn every_language_has_its_expected_plan() {
    let catalog = own_languages();
    for language in catalog.languages() {
        let starter = catalog.starter(language.id()).unwrap();
        let plan = summary(&starter.submission.plan());
        let golden = format!("{}/plan-expected.txt", language.id());
        expect_file![folder().join(golden)].assert_eq(&plan);
    }
}

/// `tests/languages/compilers.rs` shows that the compilers take the fixed time.
#[test]
fn programs_are_kept_without_the_time_or_made_at_a_fixed_one() {
    let catalog = own_languages();
    let check = |lines: &str, expected: bool| {
        // Each language has a list of its own.
        for language in ["c", "cpp"] {
            // In any file.
            let files = [("main.c", ""), ("other.h", lines)];
            let files = files.map(|(path, content)| SourceFile {
                path: path.to_owned(),
                content: content.into(),
            });
            let (entry, stdin) = ("main.c".to_owned(), String::new());
            let submission = catalog
                .submission(language, entry, files.into(), stdin, Vec::new())
                .unwrap();
            let plan = submission.plan();
            assert_eq!(plan.is_repeatable, expected, "{language}, {lines:?}");
            let fixed = ("SOURCE_DATE_EPOCH".to_owned(), "0".to_owned());
            for step in plan.steps.iter().chain(&plan.crash) {
                let is_fixed = step.environment.contains(&fixed);
                let is_compiled = step.stage == Stage::Compile;
                assert_eq!(is_fixed, expected && is_compiled, "{step:?}");
            }
        }
    };
    check("puts(\"one\");", true);
    check("puts(__FILE__);", true);
    check("int __TIM, E__;", true);
    check("#define JOIN(a, b) a##b\nputs(JOIN(__TI, ME__));", true);
    check("puts(__TIME__);", false);
    check("puts(__DATE__);", false);
    check("puts(__TIMESTAMP__);", false);
}

/// The folder of the languages of this repository.
fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../languages")
}

fn own_languages() -> Catalog {
    let mut sources = Vec::new();
    for entry in fs::read_dir(folder()).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            let id = path.file_name().unwrap().to_str().unwrap().to_owned();
            let mut files = BTreeMap::new();
            read(&path, &path, &mut files);
            let path = format!("languages/{id}");
            sources.push(LanguageFolder { id, path, files });
        }
    }
    let catalog = Catalog::load(sources).unwrap();
    assert!(
        catalog.find("python").is_some(),
        "this is not the folder of the languages"
    );
    catalog
}

/// Reads a folder and those in it.
fn read(root: &Path, folder: &Path, files: &mut BTreeMap<String, Vec<u8>>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            read(root, &path, files);
        } else {
            let name = path.strip_prefix(root).unwrap().to_str().unwrap();
            files.insert(name.to_owned(), fs::read(&path).unwrap());
        }
    }
}

/// The parts of a plan that a definition decides.
fn summary(plan: &Plan) -> String {
    let mut text = format!("{} in the image {}\n", plan.language, plan.image);
    let limits = [
        ("memory", plan.memory_bytes),
        ("output", plan.output_bytes),
        ("processes", plan.processes.map(u64::from)),
    ];
    for (name, limit) in limits {
        if let Some(limit) = limit {
            writeln!(text, "{name} limit {limit}").unwrap();
        }
    }
    let steps =
        plan.steps.iter().map(|step| (format!("{:?}", step.stage), step));
    let crash = plan.crash.iter().map(|step| ("Crash".to_owned(), step));
    for (name, step) in steps.chain(crash) {
        writeln!(text, "{name} {:?}", step.command).unwrap();
        for (key, value) in &step.environment {
            writeln!(text, "  {key}={value}").unwrap();
        }
    }
    text
}
