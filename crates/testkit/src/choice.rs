//! Which tests of a suite run.

use std::env;

use libtest_mimic::Arguments;

/// Whether all there is shall run, as `FULL=1` asks for; else each promise is
/// tested once.
#[expect(clippy::disallowed_methods, reason = "chosen by whoever runs tests")]
pub fn is_full() -> bool {
    env::var_os("FULL").is_some_and(|value| value == "1")
}

/// Whether a test of this name is to run: libtest-mimic will decide the same,
/// but servers are started before.
pub fn is_chosen(arguments: &Arguments, name: &str) -> bool {
    let is_named = |part: &String| {
        if arguments.exact { name == part } else { name.contains(part) }
    };
    arguments.filter.as_ref().is_none_or(is_named)
        && !arguments.skip.iter().any(is_named)
}
