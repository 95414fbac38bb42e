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
    };
    result.unwrap_or_else(|error| {
        // Nobody may be reading, and there is nobody else to tell.
        let _ = writeln!(io::stderr(), "sandpiper: {error:#}");
        ExitCode::FAILURE
    })
}
