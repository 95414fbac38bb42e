//! Steps of benchmarks: processes with a deadline.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::process::{Command, ExitCode, Output, Stdio};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::image_folder;
use crate::server::LOG;

/// The exit code of a step that finished but missed a goal. Panics and the commands
/// around it exit with other codes.
const MISSED: u8 = 3;

/// Runs a step to its end or the deadline, a duration of timeout(1), and ends every
/// process that it left behind.
pub fn run<S: AsRef<OsStr>>(
    deadline: &str,
    step: impl IntoIterator<Item = S>,
) -> Output {
    let folder = tempfile::tempdir().unwrap();
    // Not pipes, which a process that a step leaves behind would keep open.
    let [stdout, stderr] =
        ["stdout", "stderr"].map(|name| folder.path().join(name));
    let mut child = Command::new("setpriv")
        .args(["--pdeathsig", "TERM"])
        .args(["timeout", "--verbose", "--kill-after=10s", deadline])
        .args(step)
        .stdin(Stdio::null())
        .stdout(File::create(&stdout).unwrap())
        .stderr(File::create(&stderr).unwrap())
        // So that the message of a panic is the last output.
        .env("RUST_BACKTRACE", "0")
        // An ordinary user who is root in there would use the images of root.
        .env("SANDPIPER_DATA_DIR", image_folder().parent().unwrap())
        .spawn()
        .unwrap();
    let group = Pid::from_child(&child);
    let status = child.wait().unwrap();
    // timeout(1) leads a process group; this ends the processes left in it.
    let _ = kill_process_group(group, Signal::KILL);
    let [stdout, stderr] = [stdout, stderr].map(|path| fs::read(path).unwrap());
    Output { status, stdout, stderr }
}

/// Returns the exit code of a step that finished.
#[must_use]
pub fn exit_code(has_missed: bool) -> ExitCode {
    if has_missed { MISSED.into() } else { ExitCode::SUCCESS }
}

/// Returns the reason, fit for a cell of a table, if the step did not finish.
#[must_use]
pub fn failure(step: &Output) -> Option<String> {
    let Output { status, stderr, .. } = step;
    if status.success() || status.code() == Some(MISSED.into()) {
        return None;
    }
    let stderr = String::from_utf8_lossy(stderr);
    let why = match stderr.split_once(" panicked at ") {
        Some((_, rest)) => rest.split(LOG).next().unwrap_or(rest).to_owned(),
        None => format!("{status}: {stderr}"),
    };
    let why = why.trim_end().replace('|', "/").replace('\n', " ");
    Some(why.chars().take(400).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::eventually;
    use crate::traces::shows;

    #[track_caller]
    fn check(script: &str, stdout: &str, fails: Option<&str>) {
        let step = run("100s", ["sh", "-c", script]);
        assert_eq!(String::from_utf8_lossy(&step.stdout), stdout);
        assert_eq!(failure(&step).as_deref(), fails);
    }

    #[test]
    fn a_step_that_finishes_is_no_failure_even_if_it_misses_a_goal() {
        check("echo a", "a\n", None);
        check("echo a; exit 3", "a\n", None);
    }

    #[test]
    fn a_panic_is_one_cell() {
        let script =
            "echo 'thread panicked at a.rs:1: b|' >&2; echo c >&2; exit 101";
        check(script, "", Some("a.rs:1: b/ c"));
    }

    #[test]
    fn the_log_of_a_server_is_not_in_that_cell() {
        let script =
            format!("echo \" panicked at a: b\n{LOG}\nc\" >&2; exit 101");
        check(&script, "", Some("a: b"));
    }

    /// Runs a step that leaves a process behind, and waits until that is gone.
    fn ends_all(deadline: &str, then: &str) -> Option<String> {
        // It ignores the signal of timeout(1), and holds the output open.
        let left = "(trap '' TERM; exec sleep 1000) & echo $!";
        let step = run(deadline, ["sh", "-c", &format!("{left}; {then}")]);
        let stdout = String::from_utf8_lossy(&step.stdout);
        let pid = stdout.trim().parse().unwrap();
        eventually("it is gone", || !shows(pid, "sleep"));
        failure(&step)
    }

    #[test]
    fn a_step_is_ended_with_all_that_it_began() {
        assert_eq!(ends_all("100s", "exit 3"), None);
        let hangs = ends_all("2s", "exec sleep 1000").unwrap();
        assert!(hangs.contains("exit status: 124: timeout: "), "{hangs}");
    }
}
