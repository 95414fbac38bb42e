//! A program that spoils a later step of its box. That step then has an outcome:
//! the sandbox has not failed.

use sandpiper_sandbox::{
    Attachment, CompileArtifact, Inputs, Sandbox, StepEnd, StepOutcome,
    StepSpec,
};

use crate::Test;
use crate::fixture::{Fixture, step};
use crate::prepared::{launch, with_prepared};

pub(crate) const TESTS: &[Test] = &[
    ("its_program_cannot_be_executed", its_program_cannot_be_executed),
    ("its_folder_cannot_be_entered", its_folder_cannot_be_entered),
    ("its_launcher_is_killed", its_launcher_is_killed),
    ("its_launcher_is_stopped", its_launcher_is_stopped),
];

/// Runs the program that a step left at this path.
fn run_left(
    fixture: &Fixture,
    left: Option<(&[u8], u32)>,
    path: &str,
) -> StepOutcome {
    let file = left.map(|(content, mode)| CompileArtifact {
        path: "main".to_owned(),
        mode,
        content: Some(content.to_vec().into()),
    });
    fixture.runtime.block_on(async {
        let spec = fixture.box_spec();
        let mut sandbox = Sandbox::make(&fixture.host, &spec).await.unwrap();
        let mut own = step(&[]);
        own.command = vec![path.to_owned()];
        let inputs = Inputs { files: &[], compile_artifacts: file.as_slice() };
        let outcome = sandbox
            .run_with(&own, inputs, &mut Attachment::default())
            .await
            .unwrap();
        sandbox.destroy().await;
        outcome
    })
}

/// It ends as in a shell: with a line on stderr, and 126 or 127.
fn its_program_cannot_be_executed(fixture: &Fixture) {
    let check = |left: Option<(&[u8], u32)>, path: &str, code, reason: &str| {
        let outcome = run_left(fixture, left, path);
        let stderr = String::from_utf8(outcome.stderr.bytes).unwrap();
        assert_eq!(outcome.end, StepEnd::Exited(code), "{path}: {stderr}");
        assert!(outcome.stdout.bytes.is_empty(), "{path}");
        let line = format!("main: cannot execute: {reason}");
        assert!(stderr.starts_with(&line), "{stderr}");
        assert_eq!(stderr.matches('\n').count(), 1, "{stderr}");
    };
    let path = "/artifacts/main";
    let probe = std::fs::read(fixture.rootfs.join("bin/probe")).unwrap();
    check(None, path, 127, "No such file");
    check(Some((b"", 0o644)), path, 126, "Permission denied");
    check(Some((b"no program", 0o755)), path, 126, "Exec format error");
    check(Some((b"#!/nowhere\n", 0o755)), path, 127, "No such file");
    // Each script is the interpreter of the next.
    let own = b"#!/artifacts/main\n";
    check(Some((own, 0o755)), path, 126, "Too many levels");
    check(Some((&probe[..512], 0o755)), path, 126, "Exec format error");
    for folder in ["/box", "/tmp", "/dev/shm"] {
        check(None, &format!("{folder}/main"), 127, "No such file");
    }
    let outcome = run_left(fixture, Some((&probe, 0o755)), path);
    assert_eq!(outcome.end, StepEnd::Exited(99), "one that can be executed");
}

fn its_folder_cannot_be_entered(fixture: &Fixture) {
    fixture.runtime.block_on(async {
        let spec = fixture.box_spec();
        let mut sandbox = Sandbox::make(&fixture.host, &spec).await.unwrap();
        let close = step(&["mode", "/box", "0"]);
        assert_eq!(sandbox.run(&close).await.unwrap().stdout.bytes, b"ok\n");
        let next = sandbox.run(&step(&["show", "file"])).await.unwrap();
        assert_eq!(next.stdout.bytes, b"EACCES\n");
        sandbox.destroy().await;
    });
}

/// Returns the outcome of the step whose launcher waited while the step before
/// signalled it.
async fn run_after_signal(
    sandbox: &mut Sandbox,
    signal: i32,
    next: &StepSpec,
) -> StepOutcome {
    let first = step(&["signal-others", &signal.to_string()]);
    let first = sandbox.run(&first).await.unwrap();
    assert_eq!(first.stdout.bytes, b"ok\n");
    sandbox.run(next).await.unwrap()
}

fn its_launcher_is_killed(fixture: &Fixture) {
    for _ in 0..10 {
        with_prepared(fixture, &["heavy"], async |sandbox| {
            let next = launch("heavy", "text");
            let outcome = run_after_signal(sandbox, libc::SIGKILL, &next).await;
            // If it ended before the step, another was started.
            let stops = [StepEnd::Signaled(libc::SIGKILL), StepEnd::Exited(0)];
            assert!(stops.contains(&outcome.end), "{outcome:?}");
        });
    }
}

fn its_launcher_is_stopped(fixture: &Fixture) {
    with_prepared(fixture, &[""], async |sandbox| {
        let next = launch("", "text");
        let outcome = run_after_signal(sandbox, libc::SIGSTOP, &next).await;
        assert_eq!(outcome.end, StepEnd::Exited(0));
    });
}
