//! The files of `sandpiper run --artifacts`. If root runs the command, another
//! process writes them: the one that runs programs is not root any more, and may
//! not be allowed to write to the folder.

use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Component, Path};
use std::process::{ChildStdin, ChildStdout, Command, ExitCode, Stdio};

use anyhow::{Context, bail};
use sandpiper_engine::RunFiles;

/// The hidden command of the process that writes.
pub(crate) const COMMAND: &str = "write-artifacts";

/// A process that writes the files of one run.
#[derive(Debug)]
pub(crate) struct Writer {
    files: ChildStdin,
    result: ChildStdout,
}

impl Writer {
    /// Starts the process. It must be called before root is given up.
    ///
    /// # Errors
    /// The folder cannot be made, or the process cannot be started.
    pub(crate) fn start(folder: &Path) -> anyhow::Result<Self> {
        fs::create_dir_all(folder)
            .with_context(|| format!("cannot make {}", folder.display()))?;
        let child = Command::new(std::env::current_exe()?)
            .arg(COMMAND)
            .arg(folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .context("cannot start the process that writes files")?;
        let pipes = child.stdin.zip(child.stdout);
        let (files, result) = pipes.context("the pipes are missing")?;
        Ok(Self { files, result })
    }

    /// Has the files written, and waits for that.
    ///
    /// # Errors
    /// One of them cannot be written.
    pub(crate) fn write(mut self, left: &RunFiles) -> anyhow::Result<()> {
        let files = left.files.iter();
        let files: Vec<_> =
            files.map(|file| (&file.path, &file.content)).collect();
        serde_json::to_writer(&mut self.files, &files)?;
        self.files.flush()?;
        // Root's own process has the pipe open as well, so there is no end of
        // file, and the process is its child. So it answers with a line.
        let mut message = String::new();
        BufReader::new(self.result).read_line(&mut message)?;
        match message.strip_suffix('\n') {
            Some("") => Ok(()),
            Some(message) => bail!("{message}"),
            None => bail!("the process that writes files has ended"),
        }
    }
}

/// Writes the files that come on standard input below `folder`, and answers with
/// an empty line, or with what went wrong.
pub(crate) fn write(folder: &Path) -> anyhow::Result<ExitCode> {
    let input = serde_json::Deserializer::from_reader(io::stdin());
    // None if the run was refused.
    let Some(files) = input.into_iter::<Vec<(String, Vec<u8>)>>().next() else {
        return Ok(ExitCode::SUCCESS);
    };
    let message = match write_files(folder, &files?) {
        Ok(()) => String::new(),
        Err(error) => format!("{error:#}"),
    };
    writeln!(io::stdout(), "{message}")?;
    Ok(ExitCode::SUCCESS)
}

fn write_files(
    folder: &Path,
    files: &[(String, Vec<u8>)],
) -> anyhow::Result<()> {
    for (path, content) in files {
        // They come from a process that may not write here itself.
        let mut parts = Path::new(path).components();
        if !parts.all(|part| matches!(part, Component::Normal(_))) {
            bail!("{path} does not lie below the folder");
        }
        let path = folder.join(path);
        let parent = path.parent().unwrap_or(folder);
        fs::create_dir_all(parent)
            .and_then(|()| fs::write(&path, content))
            .with_context(|| format!("cannot write {}", path.display()))?;
    }
    Ok(())
}
