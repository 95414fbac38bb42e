//! Several nodes as one service: three servers behind a real balancer, with real
//! Valkeys for all that they share. Every part is killed; no request is lost,
//! doubled or answered wrong. Needs the images.

#![expect(
    clippy::print_stdout,
    clippy::unwrap_used,
    reason = "a failed step fails the test, which says what it saw"
)]

mod as_one;
mod catalogue;
mod client;
mod clients;
mod cut;
mod dispatch;
mod doctor;
mod fleet;
mod killed;
mod limits;
mod live;
mod minute;
mod overload;
mod pair;
mod parts;
mod random;
mod secrets;
mod share;
mod upgrade;
mod valkey;
mod writers;

use std::process::ExitCode;

use libtest_mimic::{Arguments, Trial};
use sandpiper_testkit::fleet::{balancer, node, process};
use sandpiper_testkit::needs_images;

/// A test, which panics if a promise is broken.
type Test = fn();

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().skip(1).collect();
    if let Some((first, flags)) = words.split_first()
        && first == "serve"
    {
        as_one::serve(flags);
        return ExitCode::SUCCESS;
    }
    let arguments = Arguments::from_args();
    // Those with most load come first: limits need an answer of Valkey in 50 ms.
    let tests = [parts::TESTS, catalogue::TESTS, dispatch::TESTS]
        .into_iter()
        .chain([doctor::TESTS, killed::TESTS])
        .chain([minute::TESTS, limits::TESTS, live::TESTS, overload::TESTS])
        .chain([secrets::TESTS, share::TESTS])
        .chain([upgrade::TESTS])
        .flatten()
        .map(|&(name, test)| {
            Trial::test(name, move || {
                test();
                Ok(())
            })
        });
    let cuts = cut::TESTS
        .iter()
        .map(|&(name, cut)| Trial::ignorable_test(name, move || Ok(cut())));
    let trials = tests
        .chain(cuts)
        .map(|trial| needs_images(&arguments, trial))
        .collect();
    libtest_mimic::run(&arguments, trials).exit_code()
}
