//! The files that a program leaves, of whatever kind it makes them.

use std::time::Duration;

use sandpiper_sandbox::{
    BoxFile, BoxSpec, FilesSpec, Fingerprint, LeftFiles, Sandbox, StepEnd,
    StepSpec,
};

use crate::fixture::{Fixture, MIB, step};
use crate::{Test, processes};

pub(crate) const TESTS: &[Test] = &[
    ("files_of_odd_kinds_are_skipped", files_of_odd_kinds_are_skipped),
    ("displays_come_first", displays_come_first),
    ("a_folder_of_displays_is_no_link", a_folder_of_displays_is_no_link),
    ("deep_folders_are_not_read", deep_folders_are_not_read),
    ("many_files_are_too_many", many_files_are_too_many),
    ("files_are_read_when_all_are_dead", files_are_read_when_all_are_dead),
    (
        "files_that_take_too_long_are_skipped",
        files_that_take_too_long_are_skipped,
    ),
    ("after_a_limit_there_are_none", after_a_limit_there_are_none),
];

/// Returns all files that the probe leaves beside one that was submitted.
fn left(fixture: &Fixture, what: &str, number: usize) -> LeftFiles {
    let spec = roomy(fixture);
    let submitted =
        BoxFile { path: "submitted".to_owned(), content: "as it was".into() };
    let step = keeping(&["leave", what, &number.to_string()]);
    let outcome = fixture.run_step(spec, step, vec![submitted]);
    assert_eq!(outcome.end, StepEnd::Exited(0), "{what}: {outcome:?}");
    outcome.files.unwrap()
}

/// Returns a box for many files.
fn roomy(fixture: &Fixture) -> BoxSpec {
    let (inodes, disk_bytes) = (20_000, 100 * MIB);
    BoxSpec { inodes, disk_bytes, ..fixture.box_spec() }
}

fn keeping(arguments: &[&str]) -> StepSpec {
    let mut step = step(arguments);
    step.file_bytes = 64 * MIB;
    step.keep_files = Some(FilesSpec {
        patterns: Vec::new(),
        submitted: vec![Fingerprint::of("submitted", b"as it was")],
        max_files: 32,
        max_bytes: 4 * MIB,
        wall_time: Duration::from_secs(60),
    });
    step
}

fn paths(left: &LeftFiles) -> Vec<&str> {
    left.files.iter().map(|file| file.path.as_str()).collect()
}

fn skipped(left: &LeftFiles) -> Vec<(&str, &str)> {
    let skipped = left.skipped.iter();
    skipped.map(|it| (it.path.as_str(), it.reason.word())).collect()
}

fn files_of_odd_kinds_are_skipped(fixture: &Fixture) {
    let left = left(fixture, "odd", 0);
    let files = left.files.iter();
    let files: Vec<(&str, &[u8])> =
        files.map(|it| (it.path.as_str(), &it.content[..])).collect();
    // Whether init, which is root in its namespace, reads files that are closed
    // to their owner, is not promised.
    let files: Vec<_> = files
        .into_iter()
        .filter(|(path, _)| !["closed", "shut/in"].contains(path))
        .collect();
    let hard: &[u8] = b"as it was";
    assert_eq!(files, [("hard", hard), ("z", b"z")], "{left:?}");
    let mut skipped = skipped(&left);
    skipped.retain(|(path, _)| !["closed", "shut"].contains(path));
    let expected = [
        ("\\x1b[31m", "name"),
        ("a-device", "link"),
        ("a-link", "link"),
        ("a-link-folder", "link"),
        ("a-loop", "link"),
        ("a-pipe", "not-a-file"),
        ("a-socket", "not-a-file"),
        ("back\\\\..\\\\slash", "name"),
        ("new\\nline", "name"),
        ("not-\\xff-text", "name"),
        ("nul-\\xc0\\x80", "name"),
        ("sparse", "too-large"),
    ];
    assert_eq!(skipped, expected);
}

fn displays_come_first(fixture: &Fixture) {
    let left = left(fixture, "displays", 0);
    assert_eq!(paths(&left), ["001.png", "002.svg", "a"]);
    let are: Vec<bool> = left.files.iter().map(|it| it.is_display).collect();
    assert_eq!(are, [true, true, false]);
    let expected =
        [("003.txt", "link"), ("004.svg", "not-a-file"), ("005", "not-a-file")];
    assert_eq!(skipped(&left), expected);
}

fn a_folder_of_displays_is_no_link(fixture: &Fixture) {
    let left = left(fixture, "display-link", 0);
    assert_eq!(paths(&left), ["001.svg"]);
    assert!(!left.files[0].is_display);
}

fn deep_folders_are_not_read(fixture: &Fixture) {
    let left = left(fixture, "deep", 5_000);
    let folder = "d/".repeat(8);
    // The first lies in the working directory, the last eight folders below.
    assert_eq!(left.files.len(), 9);
    assert!(paths(&left).contains(&format!("{folder}f").as_str()));
    assert_eq!(skipped(&left), [(format!("{folder}d").as_str(), "too-deep")]);
}

fn many_files_are_too_many(fixture: &Fixture) {
    let left = left(fixture, "many", 15_000);
    assert_eq!(left.files.len(), 32);
    assert_eq!(paths(&left)[31], "f000031");
    // The list of the others has an end, too.
    let skipped = skipped(&left);
    assert_eq!(skipped.len(), 64);
    assert_eq!(skipped[0], ("f000032", "too-many"));
}

fn files_that_take_too_long_are_skipped(fixture: &Fixture) {
    // To read so many takes longer than no time at all.
    let mut step = keeping(&["leave", "many", "15000"]);
    step.keep_files.as_mut().unwrap().wall_time = Duration::ZERO;
    let outcome = fixture.run_step(roomy(fixture), step, Vec::new());
    assert_eq!(outcome.end, StepEnd::Exited(0), "{outcome:?}");
    let left = outcome.files.unwrap();
    assert_eq!(left.files, []);
    assert_eq!(skipped(&left), [(".", "unreadable")]);
}

/// A process counts in two files. If it went on between the two reads, the
/// second would be far ahead: there are many files between them.
fn files_are_read_when_all_are_dead(fixture: &Fixture) {
    let spec = roomy(fixture);
    let mut step = keeping(&["leave", "writer", "4000"]);
    let wanted = step.keep_files.as_mut().unwrap();
    wanted.patterns = ["a", "z"].map(str::to_owned).into();
    let left = fixture.runtime.block_on(async {
        let mut sandbox = Sandbox::make(&fixture.host, &spec).await.unwrap();
        let outcome = sandbox.run(&step).await.unwrap();
        assert_eq!(outcome.end, StepEnd::Exited(0), "{outcome:?}");
        // It would run until the box is removed.
        assert_eq!(processes::find("writer"), None);
        sandbox.destroy().await;
        outcome.files.unwrap()
    });
    assert_eq!(paths(&left), ["a", "z"]);
    let count = |place: usize| {
        let bytes: &[u8] = &left.files[place].content;
        u32::from_ne_bytes(bytes.try_into().unwrap())
    };
    let (first, last) = (count(0), count(1));
    assert!(last == first || last + 1 == first, "{first} {last}");
}

fn after_a_limit_there_are_none(fixture: &Fixture) {
    let mut step = keeping(&["flood", "1"]);
    step.output_bytes = 1_000;
    let outcome = fixture.run_step(fixture.box_spec(), step, Vec::new());
    assert_eq!((outcome.end, outcome.files), (StepEnd::Output, None));
}
