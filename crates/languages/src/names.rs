//! The rules for the names and paths in a definition.

use crate::OutputKind;
use crate::definition::LanguageDefinition;

/// The names that choose several languages at once.
const GROUPS: [&str; 2] = ["default", "all"];

/// Checks the words by which a language is called, its image's, and the path of
/// its framework.
pub(crate) fn check_names(
    id: &str,
    definition: &LanguageDefinition,
) -> Result<(), String> {
    check_word("id", id)?;
    if GROUPS.contains(&id) {
        return Err(format!("id {id:?} means several languages"));
    }
    check_word("image", &definition.image)?;
    if definition.name.trim().is_empty() {
        return Err("name is empty".to_owned());
    }
    for alias in &definition.aliases {
        check_alias(alias)?;
    }
    let own = definition.extensions.iter();
    for extension in own.chain(&definition.fallback_extensions) {
        check_extension(extension)?;
    }
    if let Some(path) = &definition.framework {
        check_framework(path, definition.output)?;
    }
    Ok(())
}

/// Extensions are compared with the ends of names, behind a dot.
fn check_extension(extension: &str) -> Result<(), String> {
    if !extension.split('.').all(is_plain) {
        return Err(format!(
            "extension {extension:?} must be printable ASCII without space, and \
             without a dot at its beginning or end"
        ));
    }
    Ok(())
}

/// A framework is a file of the image, and documents contain it.
fn check_framework(path: &str, output: OutputKind) -> Result<(), String> {
    if output != OutputKind::Document {
        return Err("a framework is a part of documents: set output".to_owned());
    }
    let is_name = |segment: &str| !matches!(segment, "" | "." | "..");
    let is_file =
        path.strip_prefix('/').is_some_and(|path| path.split('/').all(is_name));
    if !is_file || path.contains('\0') {
        return Err(format!("framework {path:?} is no absolute path"));
    }
    Ok(())
}

/// Ids and images become parts of paths and of URLs.
fn check_word(key: &str, word: &str) -> Result<(), String> {
    let plain = |byte: u8| {
        byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-'
    };
    if word.is_empty() || !word.bytes().all(plain) {
        return Err(format!(
            "{key} {word:?} must be lower case letters, digits and dashes"
        ));
    }
    Ok(())
}

/// Aliases are compared with what people type.
fn check_alias(alias: &str) -> Result<(), String> {
    if !is_plain(alias) {
        return Err(format!(
            "alias {alias:?} must be printable ASCII without space or dot"
        ));
    }
    Ok(())
}

fn is_plain(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_graphic() && byte != b'.';
    !text.is_empty() && text.bytes().all(plain)
}
