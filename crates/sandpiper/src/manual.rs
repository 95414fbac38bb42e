//! `sandpiper man` and `sandpiper completions`: what packages install beside
//! the binary, made of the same definitions as its help.

use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;

use anyhow::Context;
use clap_complete::Shell;

use crate::config;

/// Writes a page for the program and one for each of its commands.
pub(crate) fn man(folder: &Path) -> anyhow::Result<ExitCode> {
    // It does not make its folder.
    std::fs::create_dir_all(folder)
        .and_then(|()| clap_mangen::generate_to(config::command(), folder))
        .with_context(|| format!("cannot write to {}", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}

/// Prints what makes a shell complete the command line.
pub(crate) fn completions(shell: Shell) -> anyhow::Result<ExitCode> {
    let mut command = config::command();
    let name = command.get_name().to_owned();
    // In memory first: it panics where its output fails.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut command, name, &mut script);
    io::stdout().write_all(&script)?;
    Ok(ExitCode::SUCCESS)
}
