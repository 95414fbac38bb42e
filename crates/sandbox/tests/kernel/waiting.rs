//! The process that waits to become a program, as others see it.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use sandpiper_sandbox::{INIT_NAME, Sandbox};

use crate::Test;
use crate::fixture::Fixture;
use crate::processes::{field, is_ours, status_of, until};

pub(crate) const TESTS: &[Test] =
    &[("cannot_be_looked_into", cannot_be_looked_into)];

/// The process that will be the box's first program has a copy of init's
/// memory until then, and is undumpable: only the host's root may trace it.
fn cannot_be_looked_into(fixture: &Fixture) {
    let spec = fixture.box_spec();
    fixture.runtime.block_on(async {
        let sandbox = Sandbox::make(&fixture.host, &spec).await.unwrap();
        // It has given up its rights a moment after the box is ready.
        until(is_any_waiting, "it waits").await;
        sandbox.destroy().await;
    });
}

/// Whether /proc shows only processes that its reader may trace, as under our
/// unit (`ProtectProc=invisible`). Then the test cannot see the process.
pub(crate) fn is_nobody_shown() -> bool {
    let mounts = fs::read_to_string("/proc/self/mountinfo").unwrap();
    let mut of_proc = mounts.lines().filter(|line| line.contains(" /proc "));
    of_proc.any(|line| line.contains("hidepid="))
}

/// Whether a process waits to become the first program of a box of this test.
/// Every such process must be undumpable.
fn is_any_waiting() -> bool {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let paths = processes.map(|process| process.path());
    paths.filter(|folder| is_waiting(folder)).count() > 0
}

fn is_waiting(folder: &Path) -> bool {
    let status = status_of(folder);
    // The second process of its box. It installs its filter last.
    let is_second = field(&status, "NSpid:").count() > 1
        && field(&status, "NSpid:").last() == Some("2");
    let is_filtered = field(&status, "Seccomp:").last() == Some("2");
    if !is_second || !is_filtered || !is_ours(&status) {
        return false;
    }
    let Ok(files) = fs::metadata(folder.join("environ")) else {
        return false;
    };
    // Check this last: by now it may be the program.
    let command = fs::read(folder.join("cmdline")).unwrap_or_default();
    if !command.starts_with(INIT_NAME.as_bytes()) {
        return false;
    }
    // The files of an undumpable process in /proc do not belong to its user.
    let user = field(&status, "Uid:").nth(1).unwrap_or_default();
    assert_ne!(files.uid().to_string(), user, "{}", folder.display());
    true
}
