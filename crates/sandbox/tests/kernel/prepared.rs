//! Launchers that are started before their submission comes.

use std::time::{Duration, Instant};

use sandpiper_sandbox::{
    Attachment, BoxFile, Inputs, Sandbox, StepEnd, StepSpec,
};
use tokio::time::timeout;

use crate::Test;
use crate::fixture::{Fixture, PATIENCE, step};
use crate::processes::{kill, until, until_it_runs};

pub(crate) const TESTS: &[Test] = &[
    ("prepared_is_as_started", prepared_is_as_started),
    ("the_wait_is_not_the_programs", the_wait_is_not_the_programs),
    ("one_of_two_waits_on", one_of_two_waits_on),
    ("a_step_that_is_skipped", a_step_that_is_skipped),
    ("another_step_is_started_anew", another_step_is_started_anew),
    ("a_launcher_that_ends", a_launcher_that_ends),
    ("submitted_files_need_no_inodes", submitted_files_need_no_inodes),
    ("each_run_finds_its_files", each_run_finds_its_files),
];

pub(crate) fn launch(how: &str, text: &str) -> StepSpec {
    let mut spec = step(&["launch", how]);
    spec.gate = Some(text.to_owned());
    spec.stdin = b"in\n".to_vec();
    spec
}

/// Runs a test in a box that is made ahead, with these launchers prepared.
pub(crate) fn with_prepared<F>(fixture: &Fixture, prepared: &[&str], test: F)
where
    F: AsyncFnOnce(&mut Sandbox),
{
    fixture.runtime.block_on(async {
        let spec = fixture.box_spec();
        let mut sandbox =
            Sandbox::make_ahead(&fixture.host, &spec).await.unwrap();
        for how in prepared {
            sandbox.prepare(launch(how, "")).await.unwrap();
        }
        test(&mut sandbox).await;
        sandbox.destroy().await;
    });
}

async fn check(sandbox: &mut Sandbox, spec: &StepSpec, expected: &str) {
    let outcome = sandbox.run(spec).await.unwrap();
    let stdout = String::from_utf8(outcome.stdout.bytes).unwrap();
    assert_eq!((outcome.end, &*stdout), (StepEnd::Exited(0), expected));
}

/// Returns the number of processes that a program sees, besides itself.
async fn others(sandbox: &mut Sandbox) -> usize {
    let outcome = sandbox.run(&step(&["list", "/proc"])).await.unwrap();
    let names = String::from_utf8(outcome.stdout.bytes).unwrap();
    names.split_whitespace().filter(|name| name.parse::<u32>().is_ok()).count()
        - 1
}

fn prepared_is_as_started(fixture: &Fixture) {
    for prepared in [&[][..], &[""]] {
        with_prepared(fixture, prepared, async |sandbox| {
            // It has only its three streams: the gate is closed.
            let expected = "dir/main.c\n0 1 2 \nin\n";
            check(sandbox, &launch("", "dir/main.c"), expected).await;
            assert_eq!(others(sandbox).await, 0);
        });
    }
}

fn the_wait_is_not_the_programs(fixture: &Fixture) {
    with_prepared(fixture, &[""], async |sandbox| {
        let prepared = Instant::now();
        let pause = Duration::from_millis(50);
        tokio::time::sleep(pause).await;
        let outcome = sandbox.run(&launch("", "a")).await.unwrap();
        assert!(outcome.wall_time + pause <= prepared.elapsed());
    });
}

fn one_of_two_waits_on(fixture: &Fixture) {
    with_prepared(fixture, &["leave", ""], async |sandbox| {
        let left = launch("leave", "first");
        check(sandbox, &left, "first\n0 1 2 \nin\n").await;
        // Processes that it left are killed. The launcher that waits is not.
        assert_eq!(others(sandbox).await, 1);
        check(sandbox, &launch("", "second"), "second\n0 1 2 \nin\n").await;
        assert_eq!(others(sandbox).await, 0);
    });
}

fn a_step_that_is_skipped(fixture: &Fixture) {
    with_prepared(fixture, &["leave", ""], async |sandbox| {
        sandbox.skip(&launch("leave", ""));
        check(sandbox, &launch("", "second"), "second\n0 1 2 \nin\n").await;
    });
    // A step without a launcher may follow.
    with_prepared(fixture, &["leave"], async |sandbox| {
        sandbox.skip(&launch("leave", ""));
        assert_eq!(others(sandbox).await, 0);
    });
}

fn another_step_is_started_anew(fixture: &Fixture) {
    let check_other = |change: fn(&mut StepSpec)| {
        with_prepared(fixture, &[""], async |sandbox| {
            let mut other = launch("", "other");
            change(&mut other);
            check(sandbox, &other, "other\n0 1 2 \nin\n").await;
            assert_eq!(others(sandbox).await, 1);
        });
    };
    check_other(|other| other.environment.clear());
    check_other(|other| other.command.push("more".to_owned()));
    check_other(|other| other.open_files = 32);
    check_other(|other| other.file_bytes += 1);
    check_other(|other| other.cpu_time *= 2);
}

fn a_launcher_that_ends(fixture: &Fixture) {
    fixture.runtime.block_on(async {
        let spec = fixture.box_spec();
        let mut sandbox =
            Sandbox::make_ahead(&fixture.host, &spec).await.unwrap();
        let error = sandbox.prepare(launch("end", "")).await.unwrap_err();
        assert!(error.to_string().contains("launcher ended"), "{error}");
        sandbox.destroy().await;
    });
    // The end of one is found while the next one prepares.
    with_prepared(fixture, &["ends-while"], async |sandbox| {
        let next = sandbox.prepare(launch("prepares-for-ever", ""));
        let (next, ()) = tokio::join!(timeout(PATIENCE, next), async {
            until_it_runs("prepares-for-ever").await;
            kill("ends-while");
        });
        assert!(next.expect("an end").is_err());
    });
    // One that ends while it waits ends the box.
    with_prepared(fixture, &["", "ends-later"], async |sandbox| {
        assert!(sandbox.is_alive());
        kill("ends-later");
        until(|| !sandbox.is_alive(), "it takes the box with it").await;
        assert!(sandbox.run(&launch("", "a")).await.is_err());
    });
}

fn submitted_files_need_no_inodes(fixture: &Fixture) {
    fixture.runtime.block_on(async {
        let mut spec = fixture.box_spec();
        spec.inodes = 50;
        let mut sandbox = Sandbox::make(&fixture.host, &spec).await.unwrap();
        let file = |n| BoxFile { path: format!("d/{n}"), content: "x".into() };
        let files: Vec<_> = (0..500).map(file).collect();
        let inputs = Inputs { files: &files, compile_artifacts: &[] };
        let fill = step(&["fill", "101"]);
        let filled = sandbox
            .run_with(&fill, inputs, &mut Attachment::default())
            .await
            .unwrap();
        let filled = String::from_utf8(filled.stdout.bytes).unwrap();
        assert!(filled.contains("ENOSPC"), "{filled}");
        sandbox.destroy().await;
    });
}

fn each_run_finds_its_files(fixture: &Fixture) {
    let check = |counts: [usize; 2]| {
        let runs = async {
            let mut spec = fixture.box_spec();
            spec.inodes = 50;
            let mut sandbox =
                Sandbox::make_ahead(&fixture.host, &spec).await.unwrap();
            for (run, count) in counts.into_iter().enumerate() {
                let file = |n| BoxFile {
                    path: format!("{run}-{n}"),
                    content: format!("{n} of {run}").into(),
                };
                let files: Vec<_> = (0..count).map(file).collect();
                let inputs = Inputs { files: &files, compile_artifacts: &[] };
                let last = files.last().cloned().unwrap_or_else(|| file(0));
                let show = step(&["show", &last.path]);
                let shown = sandbox
                    .run_with(&show, inputs, &mut Attachment::default())
                    .await
                    .unwrap();
                let missing = &b"ENOENT\n"[..];
                let expected = if count > 0 { &*last.content } else { missing };
                assert_eq!(shown.stdout.bytes, expected, "{counts:?} {run}");
                // It uses all inodes of the box.
                let fill = step(&["fill", "101"]);
                let filled = sandbox.run(&fill).await.unwrap().stdout.bytes;
                let filled = String::from_utf8(filled).unwrap();
                assert!(filled.contains("ENOSPC"), "{counts:?} {filled}");
            }
            sandbox.destroy().await;
        };
        fixture.runtime.block_on(runs);
    };
    for counts in [[0, 0], [8, 8], [40, 1], [0, 40]] {
        check(counts);
    }
}
