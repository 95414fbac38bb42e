//! Attacks as data, sent to the running service: one file an attack, each
//! with a control that shows that the attack would be seen to succeed. Each
//! runs once, as the service starts it; with `FULL=1` it runs in a box that is
//! made then and in one that was ready. Needs the images.

#![expect(clippy::unwrap_used, reason = "a failed step fails the test")]

mod bystander;
mod canaries;
mod case;
mod control;
mod crash;
mod crossed;
mod exhaustion;
mod image;
mod left;
mod live;
mod program;
mod request;
mod servers;
mod source;
mod suite;

use std::env;
use std::fs;
use std::process::{Command, ExitCode};
use std::sync::{Arc, RwLock};

use libtest_mimic::{Arguments, Completion, Trial};
use sandpiper_testkit::{
    checkout, entries, is_chosen, is_with_images, needs_images,
};

use canaries::SECRET;
use case::Case;
use program::Shown;
use servers::Start;
use suite::Suite;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    #[expect(clippy::disallowed_methods, reason = "a canary of the tests")]
    let Some(secret) = env::var_os(SECRET) else {
        return with_secret();
    };
    let secret = secret.into_string().unwrap();
    let turn: Arc<RwLock<()>> = Arc::default();
    let mut suites = Vec::new();
    // They take longest: others run beside the last of them.
    let mut trials = live::trials(&arguments, &turn);
    let cases = cases();
    for start in [Start::Usual, Start::Cold, Start::Warm] {
        let chosen = chosen(&arguments, start, &cases);
        // A listing starts nothing.
        let is_run = !arguments.list && is_with_images(&arguments);
        let suite = (is_run && !chosen.is_empty()).then(|| {
            let cases = chosen.iter().map(|(_, case)| Arc::clone(case));
            let turn = Arc::clone(&turn);
            Arc::new(Suite::new(&secret, start, turn, cases.collect()))
        });
        trials.extend(chosen.into_iter().map(|(name, case)| {
            let suite = suite.clone();
            let trial = Trial::ignorable_test(name, move || {
                let suite = suite.ok_or("nothing was started")?;
                Ok(match suite.check((*case).as_ref()?)? {
                    Shown::Yes => Completion::Completed,
                    Shown::No(reason) => Completion::ignored_with(reason),
                })
            });
            needs_images(&arguments, trial)
        }));
        suites.push(suite);
    }
    let conclusion = libtest_mimic::run(&arguments, trials);
    // Ends the servers and removes the canaries.
    drop(suites);
    conclusion.exit_code()
}

/// The cases that are to run, named with how their boxes start.
fn chosen(
    arguments: &Arguments,
    start: Start,
    cases: &[(String, Arc<Result<Case, String>>)],
) -> Vec<(String, Arc<Result<Case, String>>)> {
    let of_start = cases.iter().filter(|(_, case)| match &**case {
        Ok(case) => Start::of(case).contains(&start),
        Err(_) => start == Start::Usual,
    });
    let named =
        of_start.map(|(name, case)| (start.name(name), Arc::clone(case)));
    named.filter(|(name, _)| is_chosen(arguments, name)).collect()
}

/// Runs this program again with a secret in its environment, which every
/// process that it starts has then, the servers among them.
fn with_secret() -> ExitCode {
    let status = Command::new("/proc/self/exe")
        .args(env::args().skip(1))
        .env(SECRET, canaries::random())
        .status()
        .unwrap();
    ExitCode::from(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1))
}

/// Every attack, by its `<kind>/<name>`.
fn cases() -> Vec<(String, Arc<Result<Case, String>>)> {
    let root = checkout().join("tests/attack");
    let mut cases = Vec::new();
    for folder in entries(&root).iter().filter(|path| path.is_dir()) {
        for path in entries(folder) {
            let text = fs::read_to_string(&path).unwrap();
            let name = path.strip_prefix(&root).unwrap().with_extension("");
            let name = name.to_str().unwrap().to_owned();
            let case = Case::read(&name, &text);
            cases.push((name, Arc::new(case)));
        }
    }
    cases.sort_by(|(one, _), (other, _)| one.cmp(other));
    cases
}
