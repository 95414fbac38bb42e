//! `sandpiper man` and `sandpiper completions`: the files that packages install
//! beside the binary. They are made from the same definitions as its help.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use clap_complete::Shell;

use crate::config;

/// Writes a man page for the program and one for each of its commands.
pub(crate) fn man(folder: &Path) -> anyhow::Result<ExitCode> {
    // clap_mangen does not create the folder.
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(config::command(), folder))
        .with_context(|| format!("cannot write to {}", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints the completion script of a shell.
pub(crate) fn completions(shell: Shell) -> anyhow::Result<ExitCode> {
    let mut command = config::command();
    let name = command.get_name().to_owned();
    // Into memory first: clap_complete panics if its output fails.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    io::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}
