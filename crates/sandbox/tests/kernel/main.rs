//! Tests of the sandbox on the real kernel. A hostile program (`probe.c`), alone
//! in a root filesystem, attacks each limit and each part of the isolation.
//!
//! Started as root, the tests give up root first, like the service. Started as
//! an ordinary user, they test the isolation without root. `SANDPIPER_CGROUP`
//! names the control group to use, as for the service. The tests need `cc` and a
//! static libc.

#![expect(clippy::disallowed_methods, reason = "variables configure the tests")]
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]
#![expect(clippy::print_stdout, reason = "the run prints its user")]

mod attachment;
mod fixture;
mod isolation;
mod left;
mod life;
mod limits;
mod misbehaviour;
mod prepared;
mod processes;
mod waiting;

use std::process::ExitCode;
use std::sync::Arc;

use libtest_mimic::{Arguments, Trial};

use fixture::Fixture;

/// The name of a test, and its function.
type Test = (&'static str, fn(&Fixture));

fn main() -> ExitCode {
    let name = std::env::args().next();
    if name.as_deref() == Some(sandpiper_sandbox::INIT_NAME) {
        sandpiper_sandbox::init_main();
    }
    let arguments = Arguments::from_args();
    let Some(rootfs) = std::env::var_os(fixture::ROOTFS) else {
        return fixture::run_with_rootfs();
    };
    let fixture = Arc::new(Fixture::set_up(rootfs.into()));
    println!("{}", fixture.describe());
    let groups = [
        ("isolation", isolation::TESTS),
        ("limits", limits::TESTS),
        ("life", life::TESTS),
        ("prepared", prepared::TESTS),
        ("misbehaviour", misbehaviour::TESTS),
        ("left", left::TESTS),
        ("attachment", attachment::TESTS),
        ("waiting", waiting::TESTS),
    ];
    let trials = groups
        .into_iter()
        .flat_map(|(group, tests)| {
            let fixture = &fixture;
            tests.iter().map(move |&(name, test)| {
                let fixture = Arc::clone(fixture);
                Trial::test(format!("{group}::{name}"), move || {
                    test(&fixture);
                    Ok(())
                })
                .with_ignored_flag(
                    group == "waiting" && waiting::is_nobody_shown(),
                )
            })
        })
        .collect();
    let conclusion = libtest_mimic::run(&arguments, trials);
    fixture.close();
    conclusion.exit_code()
}
