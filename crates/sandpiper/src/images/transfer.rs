//! `sandpiper images export` and `import`: copy built images to machines that
//! cannot or should not build them.

use std::fs::{self, File, TryLockError};
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use rustix::fs::OFlags;
use sandpiper_images::{
    BuildState, ImageCheck, ImageProgress, ImageStore, Imported, Recipe,
};

use super::progress::ProgressDisplay;
use crate::data::{Definitions, build_command};

/// The file name that stands for standard input or output.
const STANDARD: &str = "-";

/// Writes the named images, or all that are built, to `file`.
pub(super) fn export(
    store: &ImageStore,
    definitions: &Definitions,
    data_dir: &Path,
    file: &Path,
    names: &[String],
) -> anyhow::Result<ExitCode> {
    let mut recipes = super::chosen(definitions, names)?;
    let is_there =
        |it: &Recipe| matches!(store.state(it), BuildState::Ready { .. });
    if names.is_empty() {
        recipes.retain(is_there);
    }
    if let Some(missing) = recipes.iter().find(|it| !is_there(it)) {
        let name = missing.name();
        let build = build_command(data_dir, Some(name));
        bail!("image {name} is not built: run `{build}`");
    }
    if recipes.is_empty() {
        let build = build_command(data_dir, None);
        bail!("no image is built in {}: run `{build}`", data_dir.display());
    }
    let display = ProgressDisplay::new();
    let mut progress =
        |image: &str, now: ImageProgress| display.show(image, &now);
    if file == Path::new(STANDARD) {
        if io::stdout().is_terminal() {
            bail!("standard output is a terminal: name a file, or use a pipe");
        }
        store.export(&recipes, &mut io::stdout().lock(), &mut progress)?;
    } else {
        let export = |output: &mut dyn Write| {
            Ok(store.export(&recipes, output, &mut progress)?)
        };
        write_whole(file, export)
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    for recipe in &recipes {
        display.end(recipe.name(), "exported");
    }
    Ok(ExitCode::SUCCESS)
}

/// Lets `write` write `<file>.partial`, and gives it its name when it is complete. If
/// the process is killed, the next attempt writes that file anew.
fn write_whole(
    file: &Path,
    write: impl FnOnce(&mut dyn Write) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let mut partial = file.as_os_str().to_owned();
    partial.push(".partial");
    let partial = Path::new(&partial);
    let unfinished = File::options()
        .write(true)
        .create(true)
        .truncate(false)
        .mode(0o644)
        .custom_flags(
            (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed(),
        )
        .open(partial)
        .with_context(|| format!("cannot open {}", partial.display()))?;
    // The folder may be one that others write to, too.
    let found = unfinished.metadata()?;
    let is_own = found.uid() == rustix::process::geteuid().as_raw();
    if !is_own || !found.is_file() || found.nlink() != 1 {
        bail!("{} is not a file of this user's own", partial.display());
    }
    if let Err(TryLockError::WouldBlock) = unfinished.try_lock() {
        bail!("another export writes {}", partial.display());
    }
    let finish = || {
        unfinished.set_len(0)?;
        let mut output = BufWriter::new(&unfinished);
        write(&mut output)?;
        output.flush()?;
        unfinished.sync_all()?;
        Ok(fs::rename(partial, file)?)
    };
    let finished = finish();
    if finished.is_err() {
        let _ = fs::remove_file(partial);
    }
    finished
}

/// Installs the images of `file`. If one fails, the others are still
/// installed.
pub(super) fn import(
    store: &ImageStore,
    definitions: &Definitions,
    file: &Path,
    check: &ImageCheck<'_>,
) -> anyhow::Result<ExitCode> {
    let input: Box<dyn Read> = if file == Path::new(STANDARD) {
        Box::new(io::stdin().lock())
    } else {
        let opened = File::open(file);
        Box::new(
            opened
                .with_context(|| format!("cannot read {}", file.display()))?,
        )
    };
    let display = ProgressDisplay::new();
    let mut failed = Vec::new();
    let result =
        store.import(&definitions.recipes, check, input, &mut |image, now| {
            match now {
                Imported::Underway(progress) => display.show(image, &progress),
                Imported::Installed(rootfs) => {
                    let text = format!("ready: {}", rootfs.display());
                    display.end(image, &text);
                }
                Imported::Failed(error) => {
                    display.end(image, &format!("not imported: {error}"));
                    failed.push(image.to_owned());
                }
            }
        });
    result.with_context(|| format!("cannot import {}", file.display()))?;
    if !failed.is_empty() {
        bail!("not imported: {}", failed.join(", "));
    }
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_file_has_its_name_when_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.tar");
        let partial = folder.path().join("a.tar.partial");
        let put = |text: &str| {
            write_whole(&file, |output| Ok(output.write_all(text.as_bytes())?))
        };
        // Of an export that was killed.
        fs::write(&partial, "longer than the next").unwrap();
        put("one").unwrap();
        assert_eq!(fs::read_to_string(&file).unwrap(), "one");
        let mode = file.metadata().unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o644);

        let failed = write_whole(&file, |output| {
            output.write_all(b"two")?;
            bail!("no disk")
        });
        assert_eq!(failed.unwrap_err().to_string(), "no disk");
        assert_eq!(fs::read_to_string(&file).unwrap(), "one");
        assert!(!partial.exists());

        let other = File::create(&partial).unwrap();
        other.lock().unwrap();
        put("three").unwrap_err();
        assert!(partial.exists());
        drop(other);
        fs::remove_file(&partial).unwrap();
        std::os::unix::fs::symlink(&file, &partial).unwrap();
        put("four").unwrap_err();
        assert_eq!(fs::read_to_string(&file).unwrap(), "one");
    }
}
