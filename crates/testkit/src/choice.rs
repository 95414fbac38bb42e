//! Decides which tests of a suite run.

use std::env;

use libtest_mimic::{Arguments, Trial};

use crate::read;

/// Returns whether `FULL=1` asks for every test in every way. Otherwise each
/// promise is tested once.
#[expect(clippy::disallowed_methods, reason = "chosen by whoever runs tests")]
pub fn is_full() -> bool {
    env::var_os("FULL").is_some_and(|value| value == "1")
}

/// Returns whether a language of the repository is served if none is chosen.
/// Without [`is_full`], little is tested of the others.
pub fn is_default_language(id: &str) -> bool {
    let definition = read(&format!("languages/{id}/language.toml"));
    !definition.lines().any(|line| line == "default = false")
}

/// Returns whether the arguments select a test of this name. libtest-mimic decides
/// the same, but only after the servers of a suite are started.
pub fn is_chosen(arguments: &Arguments, name: &str) -> bool {
    let is_named = |part: &String| {
        if arguments.exact { name == part } else { name.contains(part) }
    };
    arguments.filter.as_ref().is_none_or(is_named)
        && !arguments.skip.iter().any(is_named)
}

/// Returns whether tests that need the images run. Cargo ignores them unless
/// `--include-ignored` or `--ignored` asks for them.
pub fn is_with_images(arguments: &Arguments) -> bool {
    arguments.include_ignored || arguments.ignored
}

/// Marks a test that needs the images: it is ignored, with this reason, unless
/// [`is_with_images`].
pub fn needs_images(arguments: &Arguments, trial: Trial) -> Trial {
    let reason = if is_with_images(arguments) { "" } else { "needs images" };
    trial.with_kind(reason).with_ignored_flag(true)
}
