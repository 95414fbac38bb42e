//! The life of a box: its files, its steps and its end, after which nothing is
//! left.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::time::Duration;

use sandpiper_sandbox::{
    Attachment, BoxFile, CompileArtifact, Inputs, Sandbox, StepEnd,
};

use crate::Test;
use crate::fixture::{Fixture, step};
use crate::processes::{find, has_ended, open, until, until_it_runs};

pub(crate) const TESTS: &[Test] = &[
    ("files_are_written", files_are_written),
    ("files_do_not_follow_links", files_do_not_follow_links),
    ("a_step_leaves_no_process", a_step_leaves_no_process),
    ("artifacts_are_kept_for_the_run", artifacts_are_kept_for_the_run),
    ("artifacts_go_from_box_to_box", artifacts_go_from_box_to_box),
    ("only_whole_artifacts_are_kept", only_whole_artifacts_are_kept),
    ("a_command_that_is_not_there", a_command_that_is_not_there),
    ("a_box_that_is_dropped_is_gone", a_box_that_is_dropped_is_gone),
    ("a_box_that_is_killed_runs_nothing", a_box_that_is_killed_runs_nothing),
    ("a_box_given_up_while_it_is_made", a_box_given_up_while_it_is_made),
    ("a_box_given_up_while_it_ends", a_box_given_up_while_it_ends),
    ("streams_end_with_the_program", streams_end_with_the_program),
    ("an_image_that_is_not_there", an_image_that_is_not_there),
    ("many_boxes_one_after_another", many_boxes_one_after_another),
];

fn file(path: &str, content: &str) -> BoxFile {
    BoxFile { path: path.to_owned(), content: content.into() }
}

fn files_are_written(fixture: &Fixture) {
    let files = || {
        vec![
            file("a.txt", "one"),
            file("deep/er/b.txt", "two"),
            file("deep/c d.txt", "three"),
        ]
    };
    for (path, content) in [
        ("a.txt", "one"),
        ("/box/deep/er/b.txt", "two"),
        ("deep/c d.txt", "three"),
    ] {
        let outcome = fixture.run_step(
            fixture.box_spec(),
            step(&["show", path]),
            files(),
        );
        assert_eq!(outcome.stdout.bytes, content.as_bytes(), "{path}");
    }
    // They belong to the program, which may write beside them.
    let create = step(&["create", "/box/deep/new"]);
    let outcome = fixture.run_step(fixture.box_spec(), create, files());
    assert_eq!(outcome.stdout.bytes, b"ok\n");
}

fn files_do_not_follow_links(fixture: &Fixture) {
    let spec = fixture.box_spec();
    for (link, path) in [("/box/out", "out/x"), ("/box/file", "file")] {
        fixture.runtime.block_on(async {
            let mut sandbox =
                Sandbox::make(&fixture.host, &spec).await.unwrap();
            let plant = step(&["link", "/tmp", link]);
            assert_eq!(
                sandbox.run(&plant).await.unwrap().stdout.bytes,
                b"ok\n"
            );
            let files = &[file(path, "x")];
            let inputs = Inputs { files, compile_artifacts: &[] };
            let ran = sandbox
                .run_with(&step(&["hello"]), inputs, &mut Attachment::default())
                .await;
            let error = ran.expect_err("a file written through a link");
            let error = error.to_string();
            assert!(error.starts_with("in the box: "), "{path}: {error}");
            sandbox.destroy().await;
        });
    }
}

fn a_step_leaves_no_process(fixture: &Fixture) {
    let spec = fixture.box_spec();
    fixture.runtime.block_on(async {
        let mut sandbox = Sandbox::make(&fixture.host, &spec).await.unwrap();
        let left = sandbox.run(&step(&["daemon"])).await.unwrap();
        assert_eq!(left.end, StepEnd::Exited(0));
        assert_eq!(left.stdout.bytes, b"left\n");
        let seen = sandbox.run(&step(&["list", "/proc"])).await.unwrap();
        let seen = String::from_utf8(seen.stdout.bytes).unwrap();
        assert_eq!(seen.split_whitespace().count(), 3, "{seen}");
        sandbox.destroy().await;
    });
}

fn artifacts_are_kept_for_the_run(fixture: &Fixture) {
    let spec = fixture.box_spec();
    fixture.runtime.block_on(async {
        let mut sandbox = Sandbox::make(&fixture.host, &spec).await.unwrap();
        let mut make = step(&["create", "/artifacts/main"]);
        make.artifacts_writable = true;
        assert_eq!(sandbox.run(&make).await.unwrap().stdout.bytes, b"ok\n");
        let show = step(&["list", "/artifacts"]);
        assert_eq!(sandbox.run(&show).await.unwrap().stdout.bytes, b"main\n");
        let change = step(&["create", "/artifacts/other"]);
        assert_eq!(
            sandbox.run(&change).await.unwrap().stdout.bytes,
            b"EROFS\n"
        );
        // Even if a message still holds a file there open for writing.
        let mut hide = step(&["hide", "/artifacts/hidden"]);
        hide.artifacts_writable = true;
        assert_eq!(sandbox.run(&hide).await.unwrap().stdout.bytes, b"ok\n");
        assert_eq!(
            sandbox.run(&change).await.unwrap().stdout.bytes,
            b"EROFS\n"
        );
        sandbox.destroy().await;
    });
}

/// Runs a step that makes files. Returns them, up to `max_bytes`.
fn keep(
    fixture: &Fixture,
    make: &[&str],
    max_bytes: u64,
) -> Option<Vec<CompileArtifact>> {
    let mut make = step(make);
    make.artifacts_writable = true;
    make.keep_compile_artifacts = Some(max_bytes);
    let outcome = fixture.run_step(fixture.box_spec(), make, Vec::new());
    outcome.compile_artifacts
}

fn artifacts_go_from_box_to_box(fixture: &Fixture) {
    let made = keep(fixture, &["tree", "/artifacts"], 1 << 20).unwrap();
    let mut paths: Vec<&str> = made.iter().map(|a| a.path.as_str()).collect();
    paths.sort_unstable();
    assert_eq!(paths, ["a", "closed", "closed/b", "empty"]);
    let spec = fixture.box_spec();
    fixture.runtime.block_on(async {
        let mut sandbox = Sandbox::make(&fixture.host, &spec).await.unwrap();
        let change = step(&["create", "/artifacts/other"]);
        let inputs = Inputs { files: &[], compile_artifacts: &made };
        let outcome = sandbox
            .run_with(&change, inputs, &mut Attachment::default())
            .await
            .unwrap();
        assert_eq!(outcome.stdout.bytes, b"EROFS\n");
        // They are the same again, their permissions included.
        let mut look = step(&["hello"]);
        look.keep_compile_artifacts = Some(1 << 20);
        let mut again =
            sandbox.run(&look).await.unwrap().compile_artifacts.unwrap();
        let mut made = made;
        for list in [&mut again, &mut made] {
            list.sort_by(|a, b| a.path.cmp(&b.path));
        }
        assert_eq!(again, made);
        sandbox.destroy().await;
    });
}

fn only_whole_artifacts_are_kept(fixture: &Fixture) {
    assert_eq!(keep(fixture, &["tree", "/artifacts"], 5), None);
    assert_eq!(keep(fixture, &["link", "a", "/artifacts/l"], 1_000), None);
    assert_eq!(keep(fixture, &["fifo", "/artifacts/f"], 1_000), None);
    // Files of a step that failed are not kept.
    assert_eq!(keep(fixture, &["exit", "1"], 1_000), None);
    // Names count as well, because they are in the answer.
    let create = ["create", "/artifacts/main"];
    assert_eq!(keep(fixture, &create, 30), None);
    assert_eq!(keep(fixture, &create, 40).unwrap().len(), 1);
}

fn a_command_that_is_not_there(fixture: &Fixture) {
    let spec = fixture.box_spec();
    fixture.runtime.block_on(async {
        let mut sandbox = Sandbox::make(&fixture.host, &spec).await.unwrap();
        let mut missing = step(&[]);
        missing.command = vec!["/bin/missing".to_owned()];
        let error = sandbox.run(&missing).await.unwrap_err().to_string();
        assert!(error.contains("/bin/missing"), "{error}");
        assert!(error.contains("No such file"), "{error}");
        sandbox.destroy().await;
    });
}

fn a_box_that_is_dropped_is_gone(fixture: &Fixture) {
    let spec = fixture.box_spec();
    // More often than there are user namespaces: each must come back.
    for _ in 0..12 {
        fixture.runtime.block_on(async {
            let mut sandbox =
                Sandbox::make(&fixture.host, &spec).await.unwrap();
            until_it_runs_in(&mut sandbox, "dropped").await;
            drop(sandbox);
            until(|| find("dropped").is_none(), "it is killed").await;
        });
    }
    assert_eq!(fixture.run(&["hello"]).stdout.bytes, b"hello\n");
}

fn a_box_that_is_killed_runs_nothing(fixture: &Fixture) {
    let spec = fixture.box_spec();
    let name = "killed-and-waited-for";
    fixture.runtime.block_on(async {
        let mut sandbox = Sandbox::make(&fixture.host, &spec).await.unwrap();
        until_it_runs_in(&mut sandbox, name).await;
        let process = open(name);
        assert!(!has_ended(&process));
        sandbox.kill().await.unwrap();
        assert!(has_ended(&process));
        // Nothing of the request began: another box may run it.
        let error = sandbox.run(&step(&["hello"])).await.unwrap_err();
        assert!(error.was_not_delivered(), "{error}");
    });
}

/// Runs a program with this argument, and drops the run when it has started.
async fn until_it_runs_in(sandbox: &mut Sandbox, name: &str) {
    let forever = step(&["stubborn", name]);
    let is_there = tokio::select! {
        _ = sandbox.run(&forever) => false,
        () = until_it_runs(name) => true,
    };
    assert!(is_there, "it cannot have ended");
}

fn a_box_given_up_while_it_is_made(fixture: &Fixture) {
    let spec = fixture.box_spec();
    fixture.runtime.block_on(async {
        // Dropped at the first step that waits, and a little later each time.
        for patience in 0..100 {
            let making = Sandbox::make(&fixture.host, &spec);
            let patience = Duration::from_micros(patience * 40);
            let _ = tokio::time::timeout(patience, making).await;
        }
        nothing_is_left().await;
    });
}

fn a_box_given_up_while_it_ends(fixture: &Fixture) {
    let spec = fixture.box_spec();
    fixture.runtime.block_on(async {
        for patience in 0..30 {
            let sandbox = Sandbox::make(&fixture.host, &spec).await.unwrap();
            let patience = Duration::from_micros(patience * 40);
            let _ = tokio::time::timeout(patience, sandbox.destroy()).await;
        }
        nothing_is_left().await;
    });
}

/// Waits until the groups and inits of boxes that were dropped are gone.
async fn nothing_is_left() {
    // The fixture has four boxes, and other tests use them meanwhile.
    let groups = || most_groups(Path::new("/sys/fs/cgroup"));
    until(|| groups() <= 4, "no groups are left").await;
    // Others may end now.
    for child in unreaped_children() {
        let what = format!("process {child} is waited for");
        until(|| !is_unreaped(&child), &what).await;
    }
}

/// Returns the maximum number of groups of boxes of this user in one folder, in
/// or below `folder`.
fn most_groups(folder: &Path) -> usize {
    let me = rustix::process::geteuid().as_raw();
    let (mut own, mut below) = (0, 0);
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let Ok(found) = entry.metadata() else { continue };
        let is_box = entry.file_name().to_string_lossy().starts_with("box-");
        if is_box && found.uid() == me {
            own += 1;
        } else if found.is_dir() {
            below = below.max(most_groups(&entry.path()));
        }
    }
    own.max(below)
}

/// Returns the children of this process that ended and were not reaped.
fn unreaped_children() -> Vec<String> {
    let children = fs::read_dir("/proc/self/task").unwrap().flatten();
    let children = children.filter_map(|thread| {
        fs::read_to_string(thread.path().join("children")).ok()
    });
    let children: String = children.collect();
    let children = children.split_whitespace().map(str::to_owned);
    children.filter(|child| is_unreaped(child)).collect()
}

fn is_unreaped(child: &str) -> bool {
    let status = fs::read_to_string(format!("/proc/{child}/status"));
    status.is_ok_and(|status| status.contains("State:\tZ"))
}

fn streams_end_with_the_program(fixture: &Fixture) {
    for _ in 0..20 {
        let outcome = fixture.run(&["hide", "/box/file"]);
        assert_eq!(outcome.stdout.bytes, b"ok\n");
        assert_eq!(outcome.end, StepEnd::Exited(0));
    }
}

fn an_image_that_is_not_there(fixture: &Fixture) {
    let mut spec = fixture.box_spec();
    spec.rootfs = "/nowhere/at/all".into();
    let made = fixture.runtime.block_on(Sandbox::make(&fixture.host, &spec));
    let error = made.unwrap_err().to_string();
    assert!(error.contains("/nowhere/at/all"), "{error}");
}

fn many_boxes_one_after_another(fixture: &Fixture) {
    let descriptors = || fs::read_dir("/proc/self/fd").unwrap().count();
    fixture.run(&["hello"]);
    let before = descriptors();
    for _ in 0..50 {
        assert_eq!(fixture.run(&["hello"]).stdout.bytes, b"hello\n");
    }
    // Other tests run at the same time and have some descriptors. A leak of one
    // for each box would be more than these. Wait until they are closed.
    let are_gone = || descriptors() <= before + 40;
    fixture.runtime.block_on(until(are_gone, "no descriptors leak"));
}
