//! The floor of a box: what the kernel alone takes for the same namespaces,
//! mounts and control groups; and of a run in one that is ready, for handing it
//! from process to process.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::time::{Duration, Instant};

/// Controllers whose groups boxes are in, where control groups are version 1.
const CONTROLLERS: [&str; 4] = ["memory", "pids", "cpu", "cpuacct"];

/// A process that makes a box when it is asked to; it ends with its input.
pub(crate) struct Floor {
    ask: File,
    answer: File,
    /// Not waited for: by then this is another process, without root.
    _process: Child,
}

impl Floor {
    /// Where its program is in a root filesystem.
    fn program(rootfs: &Path) -> PathBuf {
        rootfs.join("bin/floor")
    }

    /// Builds it.
    pub(crate) fn build(rootfs: &Path) {
        let source = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../../bench/performance/floor.c");
        let built = Command::new("cc")
            .args(["-static", "-O1", "-Wall", "-Wextra", "-Werror", "-o"])
            .arg(Self::program(rootfs))
            .arg(source)
            .status();
        assert!(built.unwrap().success(), "cc cannot build");
    }

    /// Starts it, as root where this process still is: it makes control groups
    /// beside those of this process.
    pub(crate) fn start(rootfs: &Path) -> Self {
        let mut process = Command::new(Self::program(rootfs))
            .arg(rootfs)
            .args(groups())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let ask = OwnedFd::from(process.stdin.take().unwrap());
        let answer = OwnedFd::from(process.stdout.take().unwrap());
        Self { ask: ask.into(), answer: answer.into(), _process: process }
    }

    /// Has one box made and removed. It says itself what it cannot do.
    pub(crate) fn one_box(&self) -> Output {
        let result = self.ask_for(b'b');
        let code = i32::from(result.is_err()) << 8;
        let why = result.err().map(|error| error.to_string());
        Output {
            status: ExitStatus::from_raw(code),
            stdout: Vec::new(),
            stderr: why.unwrap_or_default().into_bytes(),
        }
    }

    /// Has a box made, in which a run is timed, and then removed.
    pub(crate) fn run_in_ready_box(&self, rest: impl FnOnce()) -> Duration {
        self.ask_for(b'p').unwrap();
        rest();
        let begun = Instant::now();
        self.ask_for(b'r').unwrap();
        let time = begun.elapsed();
        self.ask_for(b'g').unwrap();
        time
    }

    fn ask_for(&self, what: u8) -> io::Result<()> {
        (&self.ask).write_all(&[what])?;
        (&self.answer).read_exact(&mut [0])
    }
}

/// The folders of the groups that this process is in.
fn groups() -> Vec<PathBuf> {
    let text = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let top = Path::new("/sys/fs/cgroup");
    let below = |controllers: &str, path: &str| {
        top.join(controllers).join(path.trim_start_matches('/'))
    };
    let of_line = |line: &str| {
        let mut parts = line.splitn(3, ':').skip(1);
        let (controllers, path) = (parts.next()?, parts.next()?);
        let mut names = controllers.split(',');
        let counts = names.any(|name| CONTROLLERS.contains(&name));
        counts.then(|| below(controllers, path))
    };
    let found: Vec<_> = text.lines().filter_map(of_line).collect();
    if !found.is_empty() {
        return found;
    }
    let own = text.lines().find_map(|line| line.strip_prefix("0::"));
    own.map(|path| below("", path)).into_iter().collect()
}
