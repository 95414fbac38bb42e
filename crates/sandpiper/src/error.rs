//! Errors of commands, as one line for the operator.

use std::io;

/// Returns an error and its causes in one line. A cause that an error before
/// it already names is not repeated.
pub(crate) fn describe(error: &anyhow::Error) -> String {
    let mut text = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if text.is_empty() {
            text = cause;
        } else if !text.contains(&cause) {
            text = format!("{text}: {cause}");
        }
    }
    text
}

/// Returns whether the reader of the command's output has gone.
pub(crate) fn is_broken_pipe(error: &anyhow::Error) -> bool {
    // An error with a context belongs to another pipe.
    let first = error.chain().next();
    let failed = first.and_then(|error| error.downcast_ref::<io::Error>());
    failed.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_reader_that_has_gone_is_recognised() {
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(is_broken_pipe(&gone().into()));
        let other = anyhow::Error::new(gone()).context("cannot build");
        assert!(!is_broken_pipe(&other));
        assert!(!is_broken_pipe(&anyhow!("no disk")));
    }

    #[test]
    fn causes_are_not_repeated() {
        let plain = anyhow!("no disk").context("no file").context("no image");
        assert_eq!(describe(&plain), "no image: no file: no disk");
        let twice = anyhow!("no disk").context("no file: no disk");
        assert_eq!(describe(&twice), "no file: no disk");
        let advised = anyhow!("no disk").context("no file: no disk; buy one");
        assert_eq!(describe(&advised), "no file: no disk; buy one");
    }
}
