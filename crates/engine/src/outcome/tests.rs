//! The texts of every end.

use super::*;

const START: Start = Start { kind: StartKind::Cold, is_compiled: false };

fn outcome(stage: Stage, end: End, stderr: &str) -> Outcome {
    Outcome {
        stdout: Output::default(),
        stderr: Output { bytes: stderr.into(), ..Output::default() },
        warnings: None,
        stage,
        end,
        timing: Timing::default(),
        crash: None,
        start: Some(START),
        cpu_time: None,
        memory_peak: None,
        files: None,
    }
}

fn check(stage: Stage, end: End, line: &str, summary: &str) {
    let outcome = outcome(stage, end, "err");
    let expected = if line.is_empty() {
        "err".to_owned()
    } else {
        format!("err\n{line}\n")
    };
    assert_eq!(outcome.stderr_with_message(), expected);
    assert_eq!(outcome.exit_summary(), summary);
}

#[test]
fn every_end_has_its_line_and_summary() {
    use End::{Exited, Limit, Signaled};
    use LimitReached::{CpuTime, Memory, Output, WallTime};
    use Stage::{Compile, Run};
    let ten = Duration::from_secs(10);
    check(Run, Exited(0), "", "stage=run; code=0");
    check(Run, Exited(3), "", "stage=run; code=3");
    check(Run, Signaled(11), "Segmentation fault", "stage=run; signal=SIGSEGV");
    check(
        Run,
        Limit(WallTime(ten)),
        "Time limit exceeded: 10 s",
        "stage=run; limit=time",
    );
    check(
        Run,
        Limit(CpuTime(Duration::from_millis(2_500))),
        "CPU time limit exceeded: 2.5 s",
        "stage=run; limit=cpu",
    );
    check(
        Run,
        Limit(Memory(512 * MIB)),
        "Memory limit exceeded: 512 MiB",
        "stage=run; limit=memory",
    );
    check(
        Run,
        Limit(Output(64 << 10)),
        "Output limit exceeded: 64 KiB",
        "stage=run; limit=output",
    );
    check(
        Compile,
        Limit(WallTime(ten * 2)),
        "Compile time limit exceeded: 20 s",
        "stage=compile; limit=time",
    );
    check(
        Compile,
        Limit(CpuTime(ten)),
        "Compile CPU time limit exceeded: 10 s",
        "stage=compile; limit=cpu",
    );
    check(
        Compile,
        Signaled(9),
        "Compile step ended by: Killed",
        "stage=compile; signal=SIGKILL",
    );
    check(Compile, Exited(1), "", "stage=compile; code=1");
}

#[test]
fn the_closing_line_stands_alone() {
    let end = End::Signaled(6);
    for (wrote, expected) in
        [("", "Aborted\n"), ("a\n", "a\nAborted\n"), ("a", "a\nAborted\n")]
    {
        let outcome = outcome(Stage::Run, end, wrote);
        assert_eq!(outcome.stderr_with_message(), expected);
    }
}

#[test]
fn output_is_cut_at_characters_and_becomes_text() {
    let check = |bytes: &[u8], is_truncated, expected: &str| {
        let bytes = bytes.to_vec();
        let output =
            Output { bytes: bytes.clone(), is_truncated, ..Output::default() };
        let mut outcome = outcome(Stage::Run, End::Exited(0), "");
        outcome.stdout = cut_at_character(output);
        assert_eq!(outcome.stdout_text(), expected, "{bytes:x?}");
    };
    check("añb".as_bytes(), false, "añb");
    check(b"a\xffb", false, "a\u{FFFD}b");
    // A cut in the middle of a character: two, three and four bytes long.
    check(b"ab\xc3", true, "ab");
    check(b"ab\xe2\x82", true, "ab");
    check(b"ab\xf0\x9f\x98", true, "ab");
    check("ab😀".as_bytes(), true, "ab😀");
    // Not cut: the program itself wrote half a character.
    check(b"ab\xc3", false, "ab\u{FFFD}");
    // Cut, but no half character.
    check(b"ab\xff", true, "ab\u{FFFD}");
    check(b"\x80\x80\x80", true, "\u{FFFD}\u{FFFD}\u{FFFD}");
    check(b"", true, "");
}
