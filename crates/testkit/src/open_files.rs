//! The limit of open files of a test.

use rustix::process::{Resource, getrlimit, setrlimit};

/// Raises the limit as far as it goes: each connection of a test is a file.
///
/// # Panics
///
/// If the kernel refuses that.
pub fn raise_open_files() {
    let mut limit = getrlimit(Resource::Nofile);
    limit.current = limit.maximum;
    setrlimit(Resource::Nofile, limit).expect("the soft limit can be raised");
}
