//! The sandbox on the real kernel: each limit and each wall, tried by a
//! hostile program (`probe.c`) in a root filesystem that holds nothing else.
//!
//! As root the tests run like the service: root is left first. As an ordinary
//! user they show what holds without it. `--cgroup` comes by the variable
//! `SANDPIPER_CGROUP`, as for the service.

#![expect(
    clippy::disallowed_methods,
    reason = "a test is told by variables where it runs"
)]
#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

mod fixture;

use std::process::ExitCode;

use fixture::Fixture;

fn main() -> ExitCode {
    if std::env::args().next().as_deref() == Some(sandpiper_sandbox::INIT_NAME)
    {
        sandpiper_sandbox::init_main();
    }
    let Some(rootfs) = std::env::var_os(fixture::ROOTFS) else {
        return fixture::run_with_rootfs();
    };
    let fixture = Fixture::prepare(rootfs.into());
    let outcome = fixture.run(&["hello"]);
    println!("{outcome:?}");
    let outcome = fixture.run(&["hello"]);
    println!("{outcome:?}");
    ExitCode::SUCCESS
}
