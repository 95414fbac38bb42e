//! The folders of languages and images: those that this program holds, and those
//! in a folder of the operator's.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use rust_embed::RustEmbed;
use sandpiper_engine::languages::LanguageFolder;
use sandpiper_images::Recipe;

#[derive(RustEmbed)]
#[folder = "../../languages"]
struct LanguageFiles;

#[derive(RustEmbed)]
#[folder = "../../images"]
struct ImageFiles;

/// The file of a language's folder that is the recipe of an image. The image has
/// the name of the folder.
const IMAGE: &str = "image.toml";

/// Returns a folder of `languages/` for each language of this program.
pub(super) fn own_languages() -> Vec<LanguageFolder> {
    let mut folders: BTreeMap<String, BTreeMap<String, Vec<u8>>> =
        BTreeMap::new();
    for path in LanguageFiles::iter() {
        let Some((id, name)) = path.split_once('/') else { continue };
        if let Some(file) = LanguageFiles::get(&path) {
            let files = folders.entry(id.to_owned()).or_default();
            files.insert(name.to_owned(), file.data.into_owned());
        }
    }
    // A folder without a definition is not a language.
    folders.retain(|_, files| files.contains_key("language.toml"));
    folders
        .into_iter()
        .map(|(id, files)| {
            let path = format!("languages/{id}");
            LanguageFolder { id, path, files }
        })
        .collect()
}

/// Returns the recipes of this program's images.
pub(super) fn own_recipes() -> anyhow::Result<Vec<Recipe>> {
    let mut recipes = Vec::new();
    for path in ImageFiles::iter() {
        let Some(name) = path.strip_suffix("/image.toml") else { continue };
        let text = ImageFiles::get(&path)
            .and_then(|file| String::from_utf8(file.data.into_owned()).ok())
            .with_context(|| format!("images/{path} is not text"))?;
        recipes.push(Recipe::parse(name, &text, project_file)?);
    }
    Ok(recipes)
}

/// Returns the recipes in the operator's folders of languages. Each names files
/// beside it or, as `images/gate.h`, of the project.
pub(super) fn recipes_in(
    folders: &[LanguageFolder],
) -> anyhow::Result<Vec<Recipe>> {
    let mut recipes = Vec::new();
    for folder in folders {
        let Some(text) = folder.files.get(IMAGE) else { continue };
        let read = |path: &str| {
            let beside = folder.files.get(path).cloned();
            beside.or_else(|| project_file(path))
        };
        let path = || format!("{}/{IMAGE}", folder.path);
        let text = std::str::from_utf8(text).with_context(path)?;
        recipes.push(Recipe::parse(&folder.id, text, read).with_context(path)?);
    }
    Ok(recipes)
}

/// Returns a folder of `dir` for each language.
pub(super) fn languages_in(dir: &Path) -> anyhow::Result<Vec<LanguageFolder>> {
    let mut sources = Vec::new();
    let context = || format!("--languages-dir {}: cannot read", dir.display());
    for entry in fs::read_dir(dir).with_context(context)? {
        let path = entry.with_context(context)?.path();
        if !path.join("language.toml").is_file() {
            continue;
        }
        let id = path.file_name().unwrap_or_default();
        let id = id.to_string_lossy().into();
        let mut files = BTreeMap::new();
        read_folder(&path, &path, &mut files).with_context(context)?;
        let path = path.display().to_string();
        sources.push(LanguageFolder { id, path, files });
    }
    Ok(sources)
}

/// Reads the files below `folder` by their paths relative to `root`.
fn read_folder(
    root: &Path,
    folder: &Path,
    files: &mut BTreeMap<String, Vec<u8>>,
) -> anyhow::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let shown = || path.display().to_string();
        let kind = fs::metadata(&path).with_context(shown)?;
        if kind.is_dir() {
            read_folder(root, &path, files)?;
        } else if kind.is_file() {
            let name = path.strip_prefix(root)?.to_string_lossy();
            let content = fs::read(&path).with_context(shown)?;
            files.insert(name.into_owned(), content);
        } else {
            // A pipe would be read for ever.
            bail!("{}: it is not a file", path.display());
        }
    }
    Ok(())
}

/// Returns the file that a recipe names by its path in the repository.
pub(crate) fn project_file(path: &str) -> Option<Vec<u8>> {
    let file = if let Some(path) = path.strip_prefix("images/") {
        ImageFiles::get(path)
    } else {
        LanguageFiles::get(path.strip_prefix("languages/")?)
    };
    file.map(|file| file.data.into_owned())
}
