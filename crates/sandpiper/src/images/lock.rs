//! `sandpiper images lock`: resolves the packages that the operator adds to an
//! image, once.

use std::fs;
use std::process::ExitCode;

use anyhow::{Context, bail};
use sandpiper_images::ImageStore;

use super::progress::ProgressDisplay;
use crate::config::{self, CommonArgs, Folders};
use crate::data::{Definitions, additions, project_file};

/// Writes the lock beside the file that names the packages.
pub(super) fn lock(
    store: &ImageStore,
    common: &CommonArgs,
    image: &str,
    mirror: Option<String>,
) -> anyhow::Result<ExitCode> {
    let folders = common.folders();
    let Some(dir) = &folders.additions else {
        bail!(
            "there is no folder of additions: name it with --image-additions"
        );
    };
    let addition = additions::read(dir, image)?;
    // The recipe as it is without the additions.
    let folders = Folders { additions: None, ..folders.clone() };
    let definitions = Definitions::load(&folders)?;
    let mut recipes = definitions.recipes.iter();
    let Some(recipe) = recipes.find(|recipe| recipe.name() == image) else {
        bail!("there is no image {image:?}");
    };
    let display = ProgressDisplay::new();
    if !addition.needs_lock() {
        display.end(image, "nothing to lock: Debian's packages need no lock");
        return Ok(ExitCode::SUCCESS);
    }
    let downloads = config::downloads(mirror);
    let mut report = |now| display.show(image, &now);
    let text = store.resolve(
        recipe,
        &addition,
        project_file,
        &downloads,
        &mut report,
    )?;
    let path = additions::lock_path(dir, image);
    let context = || format!("cannot write {}", path.display());
    let text = format!("# Written by `sandpiper images lock {image}`.\n{text}");
    fs::write(&path, text).with_context(context)?;
    display.end(image, &format!("locked: {}", path.display()));
    Ok(ExitCode::SUCCESS)
}
