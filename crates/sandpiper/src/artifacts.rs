//! The files of `sandpiper run --artifacts`. If root runs the command, another
//! process writes them: the one that runs programs is not root any more, and may
//! not be allowed to write to the folder.

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::path::Path;
use std::process::{ChildStdin, ChildStdout, Command, ExitCode, Stdio};

use anyhow::{Context, bail};
use rustix::fs::{Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
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
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(folder, flags, Mode::empty())
        .with_context(|| format!("cannot open {}", folder.display()))?;
    for (path, content) in files {
        write_file(root.as_fd(), path, content)
            .with_context(|| format!("cannot write {path}"))?;
    }
    Ok(())
}

/// Writes a file below `root`, through no link. The paths come from a process that
/// may not write here itself, and a link in the folder may lead anywhere.
fn write_file(
    root: BorrowedFd<'_>,
    path: &str,
    content: &[u8],
) -> io::Result<()> {
    let below = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
    let mut folder = root.try_clone_to_owned()?;
    let (parents, name) = path.rsplit_once('/').unwrap_or(("", path));
    for segment in parents.split('/').filter(|segment| !segment.is_empty()) {
        let mode = Mode::from_raw_mode(0o777);
        match rustix::fs::mkdirat(&folder, segment, mode) {
            Ok(()) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error.into()),
        }
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let mode = Mode::empty();
        folder = rustix::fs::openat2(&folder, segment, flags, mode, below)?;
    }
    let flags =
        OFlags::WRONLY | OFlags::CREATE | OFlags::TRUNC | OFlags::CLOEXEC;
    let mode = Mode::from_raw_mode(0o666);
    let file = rustix::fs::openat2(&folder, name, flags, mode, below)?;
    File::from(file).write_all(content)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    #[test]
    fn files_are_written_below_their_folder_alone() {
        let outside = tempfile::tempdir().unwrap();
        let folder = tempfile::tempdir().unwrap();
        symlink(outside.path(), folder.path().join("link")).unwrap();
        let victim = outside.path().join("victim");
        symlink(&victim, folder.path().join("file")).unwrap();
        let absolute = victim.to_str().unwrap();
        let check = |path: &str, expected| {
            let files = [(path.to_owned(), b"new".to_vec())];
            let written = write_files(folder.path(), &files).is_ok();
            assert_eq!(written, expected, "{path}");
        };
        check("a", true);
        check("a", true);
        check("b/c/d", true);
        check("link/victim", false);
        check("file", false);
        check("../x", false);
        check("b/../../x", false);
        check("", false);
        // Below the folder, too.
        check(absolute, true);
        let written = fs::read(folder.path().join("b/c/d")).unwrap();
        assert_eq!(written, b"new");
        assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 0);
    }
}
