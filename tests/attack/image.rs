//! Programs in the image of their language, entered on the host without the
//! walls of a box: there the toolchain may do what a box keeps it from.

use std::fs;
use std::path::PathBuf;

use crate::checkout;
use sandpiper_testkit::image_folder;

/// What is run in namespaces of its own, as `sh -c` takes it.
pub(crate) const ENTER: &str = include_str!("image.sh");
/// What every script there begins with.
pub(crate) const WORDS: &str = include_str!("image_words.sh");

/// The root filesystem that programs of a language run in.
pub(crate) fn rootfs(language: &str) -> Result<PathBuf, String> {
    let prefix = format!("{}-", name(language)?);
    let folders = fs::read_dir(image_folder()).map_err(|e| e.to_string())?;
    let images = folders.flatten().filter(|folder| {
        folder.file_name().to_string_lossy().starts_with(&prefix)
            && folder.path().join("rootfs").is_dir()
    });
    let newest = images.max_by_key(|folder| {
        folder.metadata().and_then(|data| data.modified()).ok()
    });
    let newest = newest.ok_or(format!("there is no image {prefix}*"))?;
    Ok(newest.path().join("rootfs"))
}

/// The image's name, as the language has it.
fn name(language: &str) -> Result<String, String> {
    let path = checkout().join("languages").join(language);
    let path = path.join("language.toml");
    let text = fs::read_to_string(path).map_err(|error| error.to_string())?;
    let table: toml::Table =
        text.parse().map_err(|error| format!("{error}"))?;
    let image = table.get("image").and_then(toml::Value::as_str);
    Ok(image.ok_or("a language without an image")?.to_owned())
}
