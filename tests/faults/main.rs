//! Faults of the host and of parts of the server. Each is reported clearly, affects
//! no other run, heals by itself and leaves nothing. Needs the images.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a failed step fails the test, which says what it saw"
)]

mod container;
mod flat;
mod full;
mod groups;
mod holdings;
mod killed;
mod leaving;
mod missing;
mod servers;
mod short;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Completion, Trial};
use sandpiper_testkit::needs_images;

/// A test of a fault, which panics if a promise is broken. If this host or user
/// cannot cause the fault, it returns the reason as ignored.
type Fault = fn() -> Completion;

fn main() -> ExitCode {
    holdings::note_earlier_files();
    let arguments = Arguments::from_args();
    let trials = [killed::FAULTS, full::FAULTS, short::FAULTS]
        .into_iter()
        .chain([container::FAULTS, missing::FAULTS, flat::FAULTS])
        .chain([leaving::FAULTS])
        .flatten()
        .map(|&(name, fault)| Trial::ignorable_test(name, move || Ok(fault())))
        .map(|trial| needs_images(&arguments, trial))
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// Returns the reason for which a test is ignored unless root runs it.
fn needs_root() -> Option<Completion> {
    let is_root = rustix::process::geteuid().is_root();
    (!is_root).then(|| Completion::ignored_with("needs root"))
}
