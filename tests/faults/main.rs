//! Faults of the host and of the server's own parts: each is told clearly,
//! touches nobody else, heals by itself and leaves nothing. Needs the images.

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
mod missing;
mod servers;
mod short;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Completion, Trial};
use sandpiper_testkit::needs_images;

/// A fault; it panics where something does not hold. Where this host or user
/// cannot make it, it says why it was not seen.
type Fault = fn() -> Completion;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let trials = [killed::FAULTS, full::FAULTS, short::FAULTS]
        .into_iter()
        .chain([container::FAULTS, missing::FAULTS, flat::FAULTS])
        .flatten()
        .map(|&(name, fault)| Trial::ignorable_test(name, move || Ok(fault())))
        .map(|trial| needs_images(&arguments, trial))
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// What only root can do to a server of its own.
fn needs_root() -> Option<Completion> {
    let is_root = rustix::process::geteuid().is_root();
    (!is_root).then(|| Completion::ignored_with("needs root"))
}
