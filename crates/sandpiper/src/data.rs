//! The embedded data: definitions of languages, recipes of images.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use anyhow::{Context, bail};
use rust_embed::RustEmbed;
use sandpiper_engine::languages::{Catalog, Language, LanguageFolder};
use sandpiper_engine::{ImageState, Images};
use sandpiper_images::{Recipe, State, Store};

#[derive(RustEmbed)]
#[folder = "../../languages"]
struct LanguageFiles;

#[derive(RustEmbed)]
#[folder = "../../images"]
struct ImageFiles;

/// Returns the catalogue of the embedded languages and those in `dir`, or of
/// those among them that `only` names.
///
/// # Errors
/// `dir` cannot be read, a definition in it is wrong, or `only` names a
/// language that does not exist.
pub(crate) fn catalog(
    dir: Option<&Path>,
    only: Option<&[String]>,
) -> anyhow::Result<Catalog> {
    let mut sources = sources();
    if let Some(dir) = dir {
        sources.extend(sources_in(dir)?);
    }
    let all = Catalog::load(sources.clone()).with_context(|| match dir {
        Some(dir) => format!("--languages-dir {}", dir.display()),
        None => "an embedded definition".to_owned(),
    })?;
    let Some(only) = only else { return Ok(all) };
    let mut ids = Vec::new();
    for name in only {
        let Some(language) = all.find(name) else {
            let known: Vec<&str> = all.languages().map(Language::id).collect();
            bail!(
                "--languages: there is no language {name:?}; the languages \
                 are {}",
                known.join(", ")
            );
        };
        ids.push(language.id());
    }
    let chosen =
        sources.into_iter().filter(|source| ids.contains(&source.id.as_str()));
    Ok(Catalog::load(chosen)?)
}

/// Returns the recipes of all images, sorted by name.
pub(crate) fn recipes() -> anyhow::Result<Vec<Recipe>> {
    let mut recipes = Vec::new();
    for path in ImageFiles::iter() {
        let Some(name) = path.strip_suffix("/image.toml") else { continue };
        let text = ImageFiles::get(&path)
            .and_then(|file| String::from_utf8(file.data.into_owned()).ok())
            .with_context(|| format!("images/{path} is not text"))?;
        recipes.push(Recipe::parse(name, &text, project_file)?);
    }
    recipes.sort_by(|a, b| a.name().cmp(b.name()));
    Ok(recipes)
}

/// The images of a data folder, for the engine.
#[derive(Debug)]
pub(crate) struct ImageStore {
    /// The store, or why it could not be opened.
    store: Result<Store, String>,
    recipes: Vec<Recipe>,
}

impl ImageStore {
    /// Opens the store in `data_dir`. If that fails, every image is broken, and
    /// whatever needs no image still works.
    ///
    /// # Errors
    /// An embedded recipe is invalid.
    pub(crate) fn open(data_dir: &Path) -> anyhow::Result<Self> {
        let store = Store::open(data_dir).map_err(|error| error.to_string());
        Ok(Self { store, recipes: recipes()? })
    }
}

impl Images for ImageStore {
    fn state(&self, image: &str) -> ImageState {
        let mut recipes = self.recipes.iter();
        let Some(recipe) = recipes.find(|recipe| recipe.name() == image) else {
            return ImageState::Broken("there is no recipe for it".to_owned());
        };
        let store = match &self.store {
            Ok(store) => store,
            Err(why) => return ImageState::Broken(why.clone()),
        };
        match store.state(recipe) {
            State::Ready { rootfs } => ImageState::Ready(rootfs),
            State::Building { progress } => ImageState::Building(progress),
            State::Missing => ImageState::Missing,
            State::Broken { why } => ImageState::Broken(why),
        }
    }

    fn describe(&self, image: &str, state: &ImageState) -> String {
        describe(image, state)
    }

    fn versions(&self, image: &str) -> BTreeMap<String, String> {
        let recipe = self.recipes.iter().find(|it| it.name() == image);
        match (&self.store, recipe) {
            (Ok(store), Some(recipe)) => store.versions(recipe),
            _ => BTreeMap::new(),
        }
    }
}

/// Returns the state of an image in words for clients.
pub(crate) fn describe(image: &str, state: &ImageState) -> String {
    match state {
        ImageState::Ready(_) => "its image is ready".to_owned(),
        ImageState::Building(progress) => progress.clone(),
        ImageState::Missing => format!(
            "its image has not been built; run `sandpiper images build {image}`"
        ),
        // The first line: the end of the build's log follows, which is full of
        // this host.
        ImageState::Broken(why) => match why.trim_end().split_once('\n') {
            None => why.trim_end().to_owned(),
            Some((first, _)) => {
                format!("{first} (`sandpiper images list` says more)")
            }
        },
    }
}

/// Returns a folder of `languages/` for each language.
fn sources() -> Vec<LanguageFolder> {
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
        .map(|(id, files)| LanguageFolder { id, files })
        .collect()
}

/// A folder of `dir` for each language.
fn sources_in(dir: &Path) -> anyhow::Result<Vec<LanguageFolder>> {
    let mut sources = Vec::new();
    let context = || format!("--languages-dir {}: cannot read", dir.display());
    for entry in fs::read_dir(dir).with_context(context)? {
        let path = entry.with_context(context)?.path();
        if !path.join("language.toml").is_file() {
            continue;
        }
        let name = path.file_name().unwrap_or_default();
        let mut files = BTreeMap::new();
        read_folder(&path, &path, &mut files).with_context(context)?;
        sources
            .push(LanguageFolder { id: name.to_string_lossy().into(), files });
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
        if path.is_dir() {
            read_folder(root, &path, files)?;
        } else {
            let name = path.strip_prefix(root)?.to_string_lossy();
            let content =
                fs::read(&path).with_context(|| path.display().to_string())?;
            files.insert(name.into_owned(), content);
        }
    }
    Ok(())
}

/// Returns the file that a recipe names by its path in the repository.
fn project_file(path: &str) -> Option<Vec<u8>> {
    let file = if let Some(path) = path.strip_prefix("images/") {
        ImageFiles::get(path)
    } else {
        LanguageFiles::get(path.strip_prefix("languages/")?)
    };
    file.map(|file| file.data.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_language_has_a_recipe() {
        let recipes = recipes().unwrap();
        let catalog = catalog(None, None).unwrap();
        assert!(catalog.find("python").is_some());
        for language in catalog.languages() {
            let mut recipes = recipes.iter();
            let found = recipes.any(|recipe| recipe.name() == language.image());
            assert!(found, "{} has no image", language.id());
        }
    }

    #[test]
    fn without_a_data_folder_every_image_is_broken() {
        let images = ImageStore::open(Path::new("/proc/none")).unwrap();
        let state = images.state("python");
        let ImageState::Broken(why) = &state else { panic!("{state:?}") };
        assert!(why.contains("/proc/none"), "{why}");
        assert!(matches!(images.state("cobol"), ImageState::Broken(_)));
    }

    #[test]
    fn clients_read_one_line_of_an_image() {
        let check = |state: ImageState, expected: &str| {
            assert_eq!(describe("c", &state), expected, "{state:?}");
        };
        check(ImageState::Building("3 of 9".to_owned()), "3 of 9");
        check(
            ImageState::Missing,
            "its image has not been built; run `sandpiper images build c`",
        );
        check(ImageState::Broken("no space\n".to_owned()), "no space");
        // No line of a build's log.
        let log = "it failed: 100\nE: http://proxy:3128 said 407\n";
        let short = "it failed: 100 (`sandpiper images list` says more)";
        check(ImageState::Broken(log.to_owned()), short);
    }

    #[test]
    fn languages_can_be_chosen() {
        let only = ["C++".to_owned(), "py".to_owned()];
        let catalog = catalog(None, Some(&only)).unwrap();
        let ids: Vec<&str> = catalog.languages().map(Language::id).collect();
        assert_eq!(ids, ["python", "cpp"]);

        let unknown = ["c".to_owned(), "cobol".to_owned()];
        let error =
            super::catalog(None, Some(&unknown)).unwrap_err().to_string();
        assert!(error.contains("no language \"cobol\""), "{error}");
        assert!(error.contains("are python, c, cpp"), "{error}");
    }

    #[test]
    fn the_manual_names_languages_and_aliases_that_there_are() {
        let path =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/embedding.md");
        let manual = fs::read_to_string(path).unwrap();
        let quoted = |text: &str| -> Vec<String> {
            text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
        };
        let catalog = catalog(None, None).unwrap();
        let row = manual.lines().find(|line| line.starts_with("| `lang` |"));
        let ids = quoted(row.unwrap().split('|').nth(2).unwrap());
        assert!(ids.len() >= 11, "{ids:?}");
        for id in ids {
            let found = catalog.find(&id).map(Language::id);
            assert_eq!(found, Some(id.as_str()));
        }
        let (_, names) =
            manual.split_once("takes the values of `lang`").unwrap();
        let aliases = quoted(names.split_once(';').unwrap().0);
        assert!(aliases.len() >= 6, "{aliases:?}");
        for alias in aliases {
            assert!(catalog.find(&alias).is_some(), "{alias}");
        }
    }

    #[test]
    fn a_folder_adds_languages() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        let put = |path: &str, text: &str| {
            let path = dir.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        let load = |only: Option<&[String]>| {
            let loaded = catalog(Some(dir), only);
            loaded.map_err(|error| format!("{error:#}"))
        };
        let unreadable = catalog(Some(&dir.join("none")), None);
        let error = format!("{:#}", unreadable.unwrap_err());
        assert!(error.contains("none: cannot read"), "{error}");

        put("notes/README.md", "not a language");
        put("sh/language.toml", "name = 1");
        let error = load(None).unwrap_err();
        assert!(error.contains("languages/sh/language.toml: "), "{error}");
        let definition = "name = \"Shell\"\nimage = \"native\"\n\
                          [run]\ncommand = [\"/bin/sh\", \"{entry}\"]\n\
                          [starter]\nentry = \"main.sh\"";
        put("sh/language.toml", definition);
        put("sh/starter/main.sh", "echo 1");
        put("sh/starter-expected.txt", "1\n");
        let catalog = load(None).unwrap();
        assert_eq!(catalog.languages().last().unwrap().name(), "Shell");
        assert!(catalog.find("python").is_some());
        let only = load(Some(&["sh".to_owned()])).unwrap();
        assert_eq!(only.languages().count(), 1);
        put("c/language.toml", definition);
        put("c/starter/main.sh", "echo 1");
        put("c/starter-expected.txt", "1\n");
        let error = load(None).unwrap_err();
        assert!(error.contains("name \"c\" belongs to c too"), "{error}");
    }
}
