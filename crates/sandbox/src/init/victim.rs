//! Whom the kernel ends first when a box is out of memory: the program, before
//! init.

use std::fs::{self, File};
use std::io::{self, Write};

const PATH: &str = "/proc/self/oom_score_adj";
/// The kernel's most (`proc_pid_oom_score_adj(5)`).
const FIRST: &[u8] = b"1000";

/// Init's own place among the victims. A child has that of its parent; while
/// the two share their memory they cannot differ.
#[derive(Debug)]
pub(super) struct Victim {
    file: File,
    usual: String,
}

impl Victim {
    /// To be called while init is dumpable: the files of an undumpable process
    /// in /proc are those of the host's root.
    pub(super) fn open() -> io::Result<Self> {
        let usual = fs::read_to_string(PATH)?;
        let file = File::options().write(true).open(PATH)?;
        Ok(Self { file, usual })
    }

    /// Makes init a first victim, and who is forked now.
    pub(super) fn come_first(&self) -> io::Result<()> {
        (&self.file).write_all(FIRST)
    }

    /// Takes init back, when nobody shares its memory.
    pub(super) fn step_back(&self) -> io::Result<()> {
        (&self.file).write_all(self.usual.as_bytes())
    }
}
