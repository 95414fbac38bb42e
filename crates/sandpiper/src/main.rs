//! The `sandpiper` binary: serve, run, images, doctor; each a thin call into
//! a room.

#![forbid(unsafe_code)]

mod config;
mod data;
mod doctor;
mod images;
mod listen;
mod logging;
mod machine;
mod manual;
mod run;
mod serve;
mod service;

use std::io::{self, Write};
use std::process::ExitCode;

use config::{Cli, Command};

fn main() -> ExitCode {
    // In a box this program is its init: nothing may come before.
    let name = std::env::args_os().next();
    if name.is_some_and(|name| name == sandpiper_engine::INIT_NAME) {
        sandpiper_engine::init_main();
    }
    let Cli { common, command } = config::parse();
    let result = match command {
        Command::Serve(args) => serve::serve(&common, &args),
        Command::Run(args) => run::run(&common, &args),
        Command::Images(command) => images::images(&common, &command),
        Command::Doctor(args) => doctor::doctor(&common, &args),
        Command::Completions { shell } => manual::completions(shell),
        Command::Man { folder } => manual::man(&folder),
    };
    result.unwrap_or_else(|error| {
        // A reader that has gone, as in `images list | head`, is no failure.
        if is_broken_pipe(&error) {
            return ExitCode::SUCCESS;
        }
        // In one piece, since others may write there too. Nobody may be
        // reading, and there is nobody else to tell.
        let line = format!("sandpiper: {}\n", in_words(&error));
        let _ = io::stderr().write_all(line.as_bytes());
        ExitCode::FAILURE
    })
}

fn is_broken_pipe(error: &anyhow::Error) -> bool {
    // With a context it was another pipe than the command's own output.
    let first = error.chain().next();
    let failed = first.and_then(|error| error.downcast_ref::<io::Error>());
    failed.is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe)
}

/// An error and its causes, each told once: some tell their cause themselves.
fn in_words(error: &anyhow::Error) -> String {
    let mut words = String::new();
    for cause in error.chain() {
        let cause = cause.to_string();
        if words.is_empty() {
            words = cause;
        } else if !words.ends_with(&cause) {
            words = format!("{words}: {cause}");
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn a_reader_that_has_gone_is_known() {
        let gone = || io::Error::from(io::ErrorKind::BrokenPipe);
        assert!(is_broken_pipe(&gone().into()));
        let other = anyhow::Error::new(gone()).context("cannot build");
        assert!(!is_broken_pipe(&other));
        assert!(!is_broken_pipe(&anyhow!("no disk")));
    }

    #[test]
    fn causes_are_told_once() {
        let plain = anyhow!("no disk").context("no file").context("no image");
        assert_eq!(in_words(&plain), "no image: no file: no disk");
        let twice = anyhow!("no disk").context("no file: no disk");
        assert_eq!(in_words(&twice), "no file: no disk");
    }
}
