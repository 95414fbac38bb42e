//! The data of this program and of the operator: definitions of languages,
//! recipes of images.

mod folders;

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::bail;
use sandpiper_engine::languages::{Catalog, Language};
use sandpiper_engine::{ImageState, Images};
use sandpiper_images::{Recipe, State, Store};

/// The languages and images that there can be: this program's own, and those of
/// the operator.
#[derive(Debug)]
pub(crate) struct Known {
    /// All languages. A few may have a name or an extension in common.
    pub(crate) languages: Catalog,
    /// The recipes of all images, sorted by name.
    pub(crate) recipes: Vec<Recipe>,
}

impl Known {
    /// Loads this program's own, and those in the folder `dir` of the operator's.
    ///
    /// # Errors
    /// `dir` cannot be read, or a file in it is wrong.
    pub(crate) fn load(dir: Option<&Path>) -> anyhow::Result<Self> {
        let added = dir.map(folders::languages_in).transpose()?;
        let added = added.unwrap_or_default();
        let mut recipes = folders::own_recipes()?;
        for recipe in folders::recipes_in(&added)? {
            let name = recipe.name();
            if recipes.iter().any(|own| own.name() == name) {
                bail!(
                    "{}/{name}/image.toml: the image {name:?} belongs to \
                     images/{name}/image.toml, too",
                    dir.unwrap_or(Path::new("")).display()
                );
            }
            recipes.push(recipe);
        }
        recipes.sort_by(|a, b| a.name().cmp(b.name()));
        let all = folders::own_languages().into_iter().chain(added.clone());
        let known = Self { languages: Catalog::load(all)?, recipes };
        for folder in &added {
            let language = known.languages.find(&folder.id);
            let image = language.map(Language::image).unwrap_or_default();
            if !known.has_image(image) {
                let names: Vec<&str> = known.images().collect();
                bail!(
                    "{}/language.toml: there is no image {image:?}; the images \
                     are {}",
                    folder.path,
                    names.join(", ")
                );
            }
        }
        Ok(known)
    }

    /// Returns the languages that `--languages` chooses; by default those that
    /// need no choice.
    ///
    /// # Errors
    /// `choice` names a language that is not known, or two that are chosen have
    /// a name or an extension in common.
    pub(crate) fn served(
        &self,
        choice: Option<&[String]>,
    ) -> anyhow::Result<Catalog> {
        let default = ["default".to_owned()];
        let mut ids = BTreeSet::new();
        for name in choice.unwrap_or(&default) {
            let mut add = |is_chosen: &dyn Fn(&Language) -> bool| {
                let all = self.languages.languages();
                ids.extend(all.filter(|it| is_chosen(it)).map(Language::id));
            };
            if name.eq_ignore_ascii_case("all") {
                add(&|_| true);
            } else if name.eq_ignore_ascii_case("default") {
                add(&Language::is_default);
            } else if let Some(language) = self.languages.find(name) {
                add(&|it| it.id() == language.id());
            } else {
                let all = self.languages.languages();
                let ids: Vec<&str> = all.map(Language::id).collect();
                bail!(
                    "--languages: there is no language {name:?}; the \
                     languages are {}, and default and all stand for several",
                    ids.join(", ")
                );
            }
        }
        let is_chosen = |language: &Language| ids.contains(language.id());
        let served = self.languages.only(is_chosen);
        served.check_names()?;
        Ok(served)
    }

    /// Returns the names of all images.
    pub(crate) fn images(&self) -> impl Iterator<Item = &str> {
        self.recipes.iter().map(Recipe::name)
    }

    pub(crate) fn has_image(&self, name: &str) -> bool {
        self.images().any(|image| image == name)
    }
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
    pub(crate) fn open(data_dir: &Path, known: &Known) -> Self {
        let store = Store::open(data_dir).map_err(|error| error.to_string());
        Self { store, recipes: known.recipes.clone() }
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

#[cfg(test)]
mod tests;
