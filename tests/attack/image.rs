//! Programs in the image of their language, entered on the host without the
//! isolation of a box: there the toolchain may do what a box keeps it from.

use std::fs;
use std::path::PathBuf;

use sandpiper_testkit::checkout;

/// The script for `sh -c` in namespaces of its own.
pub(crate) const ENTER: &str = include_str!("image.sh");
/// The beginning of every script there.
pub(crate) const WORDS: &str = include_str!("image_words.sh");

/// The root filesystem that programs of a language run in.
pub(crate) fn rootfs(language: &str) -> Result<PathBuf, String> {
    Ok(sandpiper_testkit::image(&name(language)?).join("rootfs"))
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
