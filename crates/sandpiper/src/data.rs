//! The embedded data: definitions of languages, recipes of images.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, bail};
use rust_embed::RustEmbed;
use sandpiper_engine::languages::{Catalog, Language, Source};
use sandpiper_engine::{ImageState, Images};
use sandpiper_images::{Recipe, State, Store};

#[derive(RustEmbed)]
#[folder = "../../languages"]
struct LanguageFiles;

#[derive(RustEmbed)]
#[folder = "../../images"]
struct ImageFiles;

/// Returns the catalogue of all languages, or of those that `only` names.
///
/// # Errors
/// `only` names a language that does not exist.
pub(crate) fn catalog(only: Option<&[String]>) -> anyhow::Result<Catalog> {
    let all = Catalog::load(sources()).context("an embedded definition")?;
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
    let sources = sources().into_iter();
    let chosen = sources.filter(|source| ids.contains(&source.id.as_str()));
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
fn sources() -> Vec<Source> {
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
    folders.into_iter().map(|(id, files)| Source { id, files }).collect()
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
        let catalog = catalog(None).unwrap();
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
        let catalog = catalog(Some(&only)).unwrap();
        let ids: Vec<&str> = catalog.languages().map(Language::id).collect();
        assert_eq!(ids, ["python", "cpp"]);

        let unknown = ["c".to_owned(), "cobol".to_owned()];
        let error = super::catalog(Some(&unknown)).unwrap_err().to_string();
        assert!(error.contains("no language \"cobol\""), "{error}");
        assert!(error.contains("are python, c, cpp"), "{error}");
    }
}
