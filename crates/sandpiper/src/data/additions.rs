//! The packages that the operator adds to images: `<image>.toml` in a folder, and
//! beside it `<image>.lock`.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::Context;
use sandpiper_images::{Addition, Recipe};

use super::advice::lock_command;
use super::project_file;
use crate::error;

/// Adds the packages of the files in `dir` to the recipes. Returns why some
/// cannot be added, by the name of the image.
///
/// # Errors
/// `dir` cannot be read.
pub(super) fn apply(
    dir: &Path,
    recipes: &mut [Recipe],
) -> anyhow::Result<BTreeMap<String, String>> {
    let context =
        || format!("--image-additions {}: cannot read", dir.display());
    let mut faults = BTreeMap::new();
    for entry in fs::read_dir(dir).with_context(context)? {
        let path = entry.with_context(context)?.path();
        if path.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        let name = path.file_stem().unwrap_or_default().to_string_lossy();
        let mut named = recipes.iter_mut();
        let result = match named.find(|recipe| recipe.name() == name) {
            Some(recipe) => add(dir, recipe),
            None => Err(anyhow::anyhow!(
                "{}: there is no image {name:?}",
                path.display()
            )),
        };
        if let Err(error) = result {
            faults.insert(name.into_owned(), error::describe(&error));
        }
    }
    Ok(faults)
}

/// Returns the packages of the image, without their lock.
///
/// # Errors
/// The file cannot be read, or is wrong.
pub(crate) fn read(dir: &Path, image: &str) -> anyhow::Result<Addition> {
    let path = dir.join(format!("{image}.toml"));
    let shown = path.display().to_string();
    let text = fs::read_to_string(&path)
        .with_context(|| format!("cannot read {shown}"))?;
    Ok(Addition::parse(image, &shown, &text)?)
}

/// Returns the path of the lock of the image's packages.
pub(crate) fn lock_path(dir: &Path, image: &str) -> PathBuf {
    dir.join(format!("{image}.lock"))
}

fn add(dir: &Path, recipe: &mut Recipe) -> anyhow::Result<()> {
    let path = lock_path(dir, recipe.name());
    let lock = match fs::read_to_string(&path) {
        Ok(text) => Some(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => {
            return Err(error)
                .with_context(|| format!("cannot read {}", path.display()));
        }
    };
    let image = recipe.name();
    let locked = read(dir, image)?.with_lock(lock.as_deref());
    let addition = locked.map_err(|error| {
        anyhow::anyhow!("{error}: run `{}`", lock_command(dir, image))
    })?;
    *recipe = recipe.with(addition, project_file)?;
    Ok(())
}
