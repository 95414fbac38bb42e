//! The limits of a program in a box, and the effect of reaching them.

use std::time::Duration;

use sandpiper_sandbox::{
    BoxFile, BoxSpec, Sandbox, StepEnd, StepOutcome, StepSpec,
};

use crate::Test;
use crate::fixture::{Fixture, MIB, PATIENCE, step};

pub(crate) const TESTS: &[Test] = &[
    ("exits_and_signals", exits_and_signals),
    ("memory", memory),
    ("memory_of_submitted_files", memory_of_submitted_files),
    ("memory_beside_submitted_files", memory_beside_submitted_files),
    ("memory_of_each_step", memory_of_each_step),
    ("processes_and_threads", processes_and_threads),
    ("a_box_that_cannot_fork", a_box_that_cannot_fork),
    ("fork_bomb", fork_bomb),
    ("wall_time", wall_time),
    ("cpu_time", cpu_time),
    ("output", output),
    ("one_file", one_file),
    ("all_files", all_files),
    ("inodes", inodes),
    ("open_files", open_files),
    ("stdin", stdin),
];

/// A time limit that the program reaches.
const SHORT: Duration = Duration::from_millis(300);

/// Runs the probe with a step that `change` changed.
fn run_with(
    fixture: &Fixture,
    arguments: &[&str],
    change: impl FnOnce(&mut StepSpec),
) -> StepOutcome {
    let mut step = step(arguments);
    change(&mut step);
    fixture.run_step(fixture.box_spec(), step, Vec::new())
}

fn exits_and_signals(fixture: &Fixture) {
    let check = |arguments: &[&str], expected| {
        assert_eq!(fixture.run(arguments).end, expected, "{arguments:?}");
    };
    check(&["hello"], StepEnd::Exited(0));
    check(&["exit", "3"], StepEnd::Exited(3));
    check(&["exit", "255"], StepEnd::Exited(255));
    check(&["crash"], StepEnd::Signaled(libc::SIGSEGV));
    if fixture.host.controllers().cpu_time {
        // A program that sends itself the signal has reached no limit.
        let itself = libc::SIGXCPU.to_string();
        check(&["raise", &itself], StepEnd::Signaled(libc::SIGXCPU));
    }
    assert_eq!(fixture.run(&["crash"]).stdout.bytes, b"before");
}

fn memory(fixture: &Fixture) {
    if !fixture.host.controllers().memory {
        fixture.cannot("limit memory");
        return;
    }
    for hog in ["hog", "hog-memfd", "hog-in-child"] {
        assert_eq!(fixture.run(&[hog]).end, StepEnd::Memory, "{hog}");
    }
    // Files count as memory, too.
    let spec = BoxSpec {
        memory_bytes: 16 * MIB,
        disk_bytes: 256 * MIB,
        ..fixture.box_spec()
    };
    let outcome = fixture.run_step(spec, step(&["fill", "100"]), Vec::new());
    assert_eq!(outcome.end, StepEnd::Memory);
}

/// Init writes the files. If the kernel kills it, the sandbox has not failed.
fn memory_of_submitted_files(fixture: &Fixture) {
    if !fixture.host.controllers().memory {
        fixture.cannot("limit memory");
        return;
    }
    let check = |mebibytes: u64, expected: StepEnd| {
        let spec = BoxSpec {
            memory_bytes: 32 * MIB,
            disk_bytes: 256 * MIB,
            ..fixture.box_spec()
        };
        let files = (0..mebibytes).map(|number| BoxFile {
            path: format!("{number}"),
            content: "x".repeat(1 << 20).into(),
        });
        let hello = step(&["hello"]);
        let outcome = fixture.run_step(spec, hello, files.collect());
        assert_eq!(outcome.end, expected, "{mebibytes} MiB");
    };
    check(1, StepEnd::Exited(0));
    check(48, StepEnd::Memory);
}

/// The content is in memory only once, as files: init does not keep it.
fn memory_beside_submitted_files(fixture: &Fixture) {
    if !fixture.host.controllers().memory {
        fixture.cannot("limit memory");
        return;
    }
    let spec = BoxSpec { memory_bytes: 64 * MIB, ..fixture.box_spec() };
    let content = "x".repeat(20 << 20).into();
    let files = vec![BoxFile { path: "large".to_owned(), content }];
    let touch = step(&["touch", "30"]);
    let outcome = fixture.run_step(spec, touch, files);
    assert_eq!(outcome.end, StepEnd::Exited(0));
    assert_eq!(outcome.stdout.bytes, b"ok\n");
}

/// The limit can be lowered and raised from one command to the next.
fn memory_of_each_step(fixture: &Fixture) {
    if !fixture.host.controllers().memory {
        fixture.cannot("limit memory");
        return;
    }
    let check = |steps: &[(&[&str], Option<u64>)], expected: &[StepEnd]| {
        let spec = BoxSpec { disk_bytes: 128 * MIB, ..fixture.box_spec() };
        let stops = fixture.runtime.block_on(async {
            let host = &fixture.host;
            let mut sandbox = Sandbox::make(host, &spec).await.unwrap();
            let mut stops = Vec::new();
            for (arguments, mebibytes) in steps {
                let mut step = step(arguments);
                step.memory_bytes = mebibytes.map(|number| number * MIB);
                stops.push(sandbox.run(&step).await.unwrap().end);
            }
            sandbox.destroy().await;
            stops
        });
        assert_eq!(stops, expected, "{steps:?}");
    };
    let good = StepEnd::Exited(0);
    let [touch, keep]: [&[&str]; 2] = [&["touch", "90"], &["fill", "8"]];
    check(&[(touch, None), (touch, Some(64))], &[good, StepEnd::Memory]);
    check(&[(touch, Some(200)), (touch, None)], &[good, good]);
    check(&[(touch, Some(64))], &[StepEnd::Memory]);
    let hello: &[&str] = &["hello"];
    check(&[(hello, Some(64)), (touch, Some(128))], &[good, good]);
    // The content of files counts, and cannot be freed.
    check(&[(keep, None), (hello, Some(96))], &[good, good]);
    check(&[(keep, None), (hello, Some(32))], &[good, StepEnd::Memory]);
}

fn processes_and_threads(fixture: &Fixture) {
    for what in ["forks", "threads"] {
        let outcome = fixture.run(&[what]);
        let said = String::from_utf8(outcome.stdout.bytes).unwrap();
        // 32 in all, the program itself included.
        assert_eq!(said, "31 EAGAIN\n", "{what}");
    }
}

/// The process of the first program is forked before the first request. If
/// that fails, the box stands, and the answer to the request reports it.
fn a_box_that_cannot_fork(fixture: &Fixture) {
    if !fixture.host.controllers().processes {
        fixture.cannot("limit processes");
        return;
    }
    let spec = BoxSpec { processes: 0, ..fixture.box_spec() };
    fixture.runtime.block_on(async {
        let mut sandbox = Sandbox::make(&fixture.host, &spec).await.unwrap();
        let ran = sandbox.run(&step(&["hello"])).await;
        let error = ran.expect_err("a program without a process").to_string();
        assert!(error.contains("fork the program"), "{error}");
        sandbox.destroy().await;
    });
}

fn fork_bomb(fixture: &Fixture) {
    let outcome = run_until_it_speaks(fixture, "fork-bomb");
    // Memory is possible: processes that ended count until the kernel has freed
    // them.
    assert!(
        matches!(
            outcome.end,
            StepEnd::WallTime | StepEnd::CpuTime | StepEnd::Memory
        ),
        "{:?}",
        outcome.end
    );
    assert!(outcome.stdout.bytes.starts_with(b"boom\n"));
    assert_eq!(fixture.run(&["hello"]).stdout.bytes, b"hello\n");
}

fn wall_time(fixture: &Fixture) {
    for program in [["stop", ""], ["spin", "1"]] {
        let outcome =
            run_with(fixture, &program, |step| step.wall_time = SHORT);
        assert_eq!(outcome.end, StepEnd::WallTime, "{program:?}");
        assert!(outcome.wall_time >= SHORT);
    }
    let outcome = run_until_it_speaks(fixture, "stubborn");
    assert_eq!(outcome.end, StepEnd::WallTime);
    assert_eq!(outcome.stdout.bytes, b"still here\n");
}

/// Runs a program that does not end by itself. The wall time is doubled until
/// the program has printed something: a slow machine takes longer to start it.
fn run_until_it_speaks(fixture: &Fixture, program: &str) -> StepOutcome {
    let mut limit = SHORT;
    loop {
        let outcome =
            run_with(fixture, &[program], |step| step.wall_time = limit);
        if !outcome.stdout.bytes.is_empty() || limit > PATIENCE {
            return outcome;
        }
        limit *= 2;
    }
}

fn cpu_time(fixture: &Fixture) {
    if !fixture.host.controllers().cpu_time {
        fixture.cannot("account CPU time");
        return;
    }
    let outcome =
        run_with(fixture, &["spin", "30"], |step| step.cpu_time = SHORT);
    assert_eq!(outcome.end, StepEnd::CpuTime);
    let spent = outcome.cpu_time.unwrap();
    assert!(spent >= SHORT);
    // Each process used less, so the limit of a single process did not end it.
    assert!(spent / 30 < SHORT, "{spent:?}");
}

fn output(fixture: &Fixture) {
    let cap = 100_000;
    let outcome =
        run_with(fixture, &["flood", "1"], |step| step.output_bytes = cap);
    assert_eq!(outcome.end, StepEnd::Output);
    assert_eq!(outcome.stdout.bytes.len() as u64, cap);
    assert!(outcome.stderr.bytes.is_empty());
    let outcome =
        run_with(fixture, &["flood", "2"], |step| step.output_bytes = cap);
    assert_eq!(outcome.end, StepEnd::Output);
    assert_eq!(outcome.stderr.bytes.len() as u64, cap);
    // Exactly the limit is allowed.
    let outcome = run_with(fixture, &["hello"], |step| step.output_bytes = 6);
    assert_eq!(outcome.end, StepEnd::Exited(0));
    // One byte more is not, although the program has ended by then.
    let outcome = run_with(fixture, &["hello"], |step| step.output_bytes = 5);
    assert_eq!(outcome.end, StepEnd::Output);
    assert_eq!(outcome.stdout.bytes, b"hello");
}

fn one_file(fixture: &Fixture) {
    let outcome = fixture.run(&["big-file"]);
    assert_eq!(outcome.stdout.bytes, b"EFBIG\n");
    assert_eq!(outcome.end, StepEnd::Exited(0));
}

fn all_files(fixture: &Fixture) {
    assert_eq!(fixture.run(&["fill", "100"]).stdout.bytes, b"ENOSPC\n");
}

fn inodes(fixture: &Fixture) {
    assert_eq!(fixture.run(&["fill", "5000"]).stdout.bytes, b"ENOSPC\n");
}

fn open_files(fixture: &Fixture) {
    assert_eq!(fixture.run(&["open-many"]).stdout.bytes, b"61 EMFILE\n");
}

fn stdin(fixture: &Fixture) {
    // More than a pipe holds, in both directions at once.
    let bytes: Vec<u8> = (0..900_000_u32).map(|i| (i % 251) as u8).collect();
    let outcome =
        run_with(fixture, &["echo"], |step| step.stdin.clone_from(&bytes));
    assert_eq!(outcome.stdout.bytes, bytes);
    let by_name = |step: &mut StepSpec| step.stdin = b"a\n".to_vec();
    let outcome = run_with(fixture, &["streams-by-name"], by_name);
    assert_eq!(outcome.stdout.bytes, b"a\nok\nok\n");
    assert_eq!(outcome.stderr.bytes, b"a\n");
    // A program may leave it unread.
    let outcome = run_with(fixture, &["hello"], |step| step.stdin = bytes);
    assert_eq!(outcome.stdout.bytes, b"hello\n");
    assert_eq!(outcome.end, StepEnd::Exited(0));
}
