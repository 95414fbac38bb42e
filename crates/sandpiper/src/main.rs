//! The `sandpiper` binary: its commands `serve`, `run`, `images` and `doctor`
//! are thin calls into the other crates.

#![forbid(unsafe_code)]

mod artifacts;
mod config;
mod data;
mod doctor;
mod engine_runtime;
mod error;
mod images;
mod listen;
mod logging;
mod machine;
mod manual;
mod run;
mod serve;
mod terminal;

use std::io::{self, Write};
use std::process::ExitCode;

use config::{Cli, CliCommand};

fn main() -> ExitCode {
    // Inside a box this program is init: nothing may run before this.
    let name = std::env::args_os().next();
    if name.is_some_and(|name| name == sandpiper_engine::INIT_NAME) {
        sandpiper_engine::init_main();
    }
    let Cli { common, command } = config::parse();
    let result = match command {
        CliCommand::Serve(args) => serve::serve(&common, &args),
        CliCommand::Run(args) => run::run(&common, &args),
        CliCommand::Images(command) => images::images(&common, &command),
        CliCommand::Doctor(args) => doctor::doctor(&common, &args),
        CliCommand::Completions { shell } => manual::completions(shell),
        CliCommand::Man { folder } => manual::man(&folder),
        CliCommand::WriteArtifacts { folder } => artifacts::write(&folder),
    };
    result.unwrap_or_else(|error| {
        // In `images list | head` the reader goes first. That is no failure.
        if error::is_broken_pipe(&error) {
            return ExitCode::SUCCESS;
        }
        // One write, since other processes may write there too. If it fails,
        // there is nowhere else to report the error.
        let line = format!("sandpiper: {}\n", error::describe(&error));
        let _ = io::stderr().write_all(line.as_bytes());
        ExitCode::FAILURE
    })
}
