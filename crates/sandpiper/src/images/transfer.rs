//! `sandpiper images export` and `import`: copy built images to machines that
//! cannot or should not build them.

use std::fs::{File, Permissions};
use std::io::{self, BufWriter, IsTerminal, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::ExitCode;

use anyhow::{Context, bail};
use sandpiper_images::{BuildState, Check, Imported, Progress, Recipe, Store};

use super::progress::ProgressDisplay;
use crate::data::{Known, build_command};

/// The file name that stands for standard input or output.
const STANDARD: &str = "-";

/// Writes the named images, or all that are built, to `file`.
pub(super) fn export(
    store: &Store,
    known: &Known,
    data_dir: &Path,
    file: &Path,
    names: &[String],
) -> anyhow::Result<ExitCode> {
    let mut recipes = super::chosen(known, names)?;
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
    let mut progress = |image: &str, now: Progress| display.show(image, &now);
    if file == Path::new(STANDARD) {
        if io::stdout().is_terminal() {
            bail!("standard output is a terminal: name a file, or use a pipe");
        }
        store.export(&recipes, &mut io::stdout().lock(), &mut progress)?;
    } else {
        export_to_file(store, file, &recipes, &mut progress)
            .with_context(|| format!("cannot write {}", file.display()))?;
    }
    for recipe in &recipes {
        display.end(recipe.name(), "exported");
    }
    Ok(ExitCode::SUCCESS)
}

/// Writes a temporary file, and gives it its name when it is complete.
fn export_to_file(
    store: &Store,
    file: &Path,
    recipes: &[Recipe],
    progress: &mut dyn FnMut(&str, Progress),
) -> anyhow::Result<()> {
    let folder = file.parent().filter(|path| path != &Path::new(""));
    let unfinished = tempfile::Builder::new()
        .permissions(Permissions::from_mode(0o644))
        .tempfile_in(folder.unwrap_or(Path::new(".")))?;
    let mut output = BufWriter::new(unfinished.as_file());
    store.export(recipes, &mut output, progress)?;
    drop(output);
    unfinished.as_file().sync_all()?;
    unfinished.persist(file)?;
    Ok(())
}

/// Installs the images of `file`. If one fails, the others are still
/// installed.
pub(super) fn import(
    store: &Store,
    known: &Known,
    file: &Path,
    check: &Check<'_>,
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
    let result = store.import(
        &known.recipes,
        check,
        input,
        &mut |image, now| match now {
            Imported::Underway(progress) => display.show(image, &progress),
            Imported::Installed(rootfs) => {
                let text = format!("ready: {}", rootfs.display());
                display.end(image, &text);
            }
            Imported::Failed(error) => {
                display.end(image, &format!("not imported: {error}"));
                failed.push(image.to_owned());
            }
        },
    );
    result.with_context(|| format!("cannot import {}", file.display()))?;
    if !failed.is_empty() {
        bail!("not imported: {}", failed.join(", "));
    }
    Ok(ExitCode::SUCCESS)
}
