//! A reader and a writer beside a running command.

use std::time::Duration;

use sandpiper_sandbox::{
    Attachment, Inputs, Sandbox, StepEnd, StepOutcome, StepSpec, input_queue,
};
use tokio::sync::{mpsc, watch};

use crate::Test;
use crate::fixture::{Fixture, MIB, PATIENCE, step};

pub(crate) const TESTS: &[Test] = &[
    ("a_reader_that_stalls_holds_the_program", a_reader_that_stalls),
    ("input_may_be_larger_than_a_pipe", input_larger_than_a_pipe),
    ("a_stopped_command_was_answered", a_stopped_command),
    ("an_idle_command_keeps_its_output", an_idle_command),
];

/// An idle time that is longer than the start of a program takes, if the machine
/// is not busy.
const SHORT: Duration = Duration::from_millis(300);
/// The capacity of a pipe.
const PIPE: usize = 64 << 10;

async fn run(
    fixture: &Fixture,
    step: &StepSpec,
    mut attachment: Attachment,
) -> StepOutcome {
    let spec = fixture.box_spec();
    let mut sandbox = Sandbox::make(&fixture.host, &spec).await.unwrap();
    let inputs = Inputs { files: &[], compile_artifacts: &[] };
    let outcome = sandbox.run_with(step, inputs, &mut attachment).await;
    sandbox.destroy().await;
    outcome.unwrap()
}

/// The program waits in a write, which is no activity; little is in memory.
fn a_reader_that_stalls(fixture: &Fixture) {
    fixture.runtime.block_on(async {
        let (outcome, waiting) = idle_until_it_speaks(async |idle_time| {
            let (output, mut chunks) = mpsc::channel(1);
            let attachment = Attachment {
                output: Some(output),
                idle_time: Some(idle_time),
                ..Attachment::default()
            };
            let step = step(&["flood", "1"]);
            let outcome = run(fixture, &step, attachment).await;
            let first = chunks.recv().await;
            assert_eq!(chunks.recv().await, None);
            (outcome, first.map_or(0, |chunk| chunk.bytes.len()))
        })
        .await;
        assert_eq!(outcome.end, StepEnd::Idle);
        let rest = outcome.stdout.bytes.len();
        assert!(waiting > 0 && waiting + rest <= 4 * PIPE, "{waiting} {rest}");
        assert!(!outcome.stdout.is_truncated);
    });
}

fn input_larger_than_a_pipe(fixture: &Fixture) {
    fixture.runtime.block_on(async {
        let (sender, input) = input_queue(2 << 20);
        let (output, mut chunks) = mpsc::channel(1);
        let attachment = Attachment {
            output: Some(output),
            input: Some(input),
            ..Attachment::default()
        };
        let bytes: Vec<u8> =
            (0..1_u32 << 18).flat_map(u32::to_ne_bytes).collect();
        let (first, rest) = bytes.split_at(300_000);
        let mut step = step(&["echo"]);
        step.stdin = first.to_vec();
        step.output_bytes = 2 * MIB;
        for piece in rest.chunks(100_000) {
            sender.try_send(piece.to_vec()).unwrap();
        }
        drop(sender);
        let read = async {
            let mut read = Vec::new();
            while let Some(chunk) = chunks.recv().await {
                read.extend(chunk.bytes);
            }
            read
        };
        let (outcome, mut read) =
            tokio::join!(run(fixture, &step, attachment), read);
        assert_eq!(outcome.end, StepEnd::Exited(0));
        read.extend(outcome.stdout.bytes);
        assert!(read == bytes, "{} bytes", read.len());
    });
}

fn a_stopped_command(fixture: &Fixture) {
    fixture.runtime.block_on(async {
        let (sender, input) = input_queue(100);
        let (output, mut chunks) = mpsc::channel(1);
        let (stop, stopped) = watch::channel(false);
        let attachment = Attachment {
            output: Some(output),
            input: Some(input),
            stop: Some(stopped),
            ..Attachment::default()
        };
        let talk = async {
            for text in ["one", "two"] {
                sender.try_send(text.into()).unwrap();
                let chunk = chunks.recv().await.unwrap();
                assert_eq!(chunk.bytes, text.as_bytes());
            }
            stop.send_replace(true);
        };
        let step = step(&["echo"]);
        let (outcome, ()) = tokio::join!(run(fixture, &step, attachment), talk);
        assert_eq!(outcome.end, StepEnd::Stopped);
        assert!(sender.try_send(Vec::new()).is_err(), "nobody is left");
    });
}

fn an_idle_command(fixture: &Fixture) {
    fixture.runtime.block_on(async {
        let (outcome, _) = idle_until_it_speaks(async |idle_time| {
            let (_sender, input) = input_queue(100);
            let attachment = Attachment {
                input: Some(input),
                idle_time: Some(idle_time),
                ..Attachment::default()
            };
            let mut step = step(&["echo"]);
            step.stdin = b"begun".to_vec();
            let outcome = run(fixture, &step, attachment).await;
            assert!(outcome.wall_time >= idle_time, "{outcome:?}");
            let printed = outcome.stdout.bytes.len();
            (outcome, printed)
        })
        .await;
        assert_eq!(outcome.end, StepEnd::Idle);
        assert_eq!(outcome.stdout.bytes, b"begun");
    });
}

/// Runs a program with an idle time that is doubled until it has printed
/// something: a slow machine takes longer to start it.
async fn idle_until_it_speaks(
    run: impl AsyncFn(Duration) -> (StepOutcome, usize),
) -> (StepOutcome, usize) {
    let mut idle_time = SHORT;
    loop {
        let (outcome, printed) = run(idle_time).await;
        if printed > 0 || idle_time > PATIENCE {
            return (outcome, printed);
        }
        idle_time *= 2;
    }
}
