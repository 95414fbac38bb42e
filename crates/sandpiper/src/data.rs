//! The data of this program and of the operator: definitions of languages,
//! recipes of images.

pub(crate) mod additions;
mod advice;
mod folders;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use anyhow::bail;
use sandpiper_engine::languages::{Catalog, Language};
use sandpiper_engine::{ImageState, Images};
use sandpiper_images::{
    BuildState, ImageStore, InstalledImage, Recipe, open_file,
};

use crate::config::Folders;
pub(crate) use advice::build_command;
use advice::{build_command_for_clients, build_command_of_served};
pub(crate) use folders::project_file;

/// The languages and images that there can be: this program's own, and those of
/// the operator.
#[derive(Debug)]
pub(crate) struct Definitions {
    /// All languages. A few may have a name or an extension in common.
    pub(crate) languages: Catalog,
    /// The recipes of all images, sorted by name, with the packages that the
    /// operator adds.
    pub(crate) recipes: Vec<Recipe>,
    /// Why the packages of some images cannot be added, by the image's name.
    pub(crate) faults: BTreeMap<String, String>,
}

impl Definitions {
    /// Loads this program's own, and those in the folders of the operator.
    ///
    /// # Errors
    /// A folder cannot be read, or a language or a recipe in it is wrong.
    pub(crate) fn load(operator: &Folders) -> anyhow::Result<Self> {
        let dir = operator.languages.as_deref();
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
        let languages = Catalog::load(all)?;
        let additions = operator.additions.as_deref();
        let faults = additions
            .map(|dir| additions::apply(dir, &mut recipes))
            .transpose()?
            .unwrap_or_default();
        let definitions = Self { languages, recipes, faults };
        for folder in &added {
            let language = definitions.languages.find(&folder.id);
            let image = language.map(Language::image).unwrap_or_default();
            if !definitions.has_image(image) {
                let names: Vec<&str> = definitions.images().collect();
                bail!(
                    "{}/language.toml: there is no image {image:?}; the images \
                     are {}",
                    folder.path,
                    names.join(", ")
                );
            }
        }
        Ok(definitions)
    }

    /// Returns the languages that `--languages` chooses; by default those whose
    /// definition does not say `default = false`.
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
pub(crate) struct EngineImages {
    data_dir: PathBuf,
    /// The store, or why it could not be opened.
    store: Result<ImageStore, String>,
    recipes: Vec<Recipe>,
    /// Why the packages of some images cannot be added.
    faults: BTreeMap<String, String>,
    /// The image that is used until one with the operator's packages is built.
    stand_ins: BTreeMap<String, InstalledImage>,
}

impl EngineImages {
    /// Opens the store in `data_dir`. If that fails, every image is broken, and
    /// whatever needs no image still works.
    pub(crate) fn open(data_dir: &Path, definitions: &Definitions) -> Self {
        let store =
            ImageStore::open(data_dir).map_err(|error| error.to_string());
        let faults = definitions.faults.clone();
        let mut stand_ins = BTreeMap::new();
        for recipe in &definitions.recipes {
            let name = recipe.name();
            let is_added_to = recipe.addition().is_some();
            let Ok(store) = &store else { continue };
            if (is_added_to || faults.contains_key(name))
                && let Ok(Some(image)) = store.stand_in(recipe)
            {
                stand_ins.insert(name.to_owned(), image);
            }
        }
        let data_dir = data_dir.to_owned();
        let recipes = definitions.recipes.clone();
        Self { data_dir, store, recipes, faults, stand_ins }
    }

    /// Returns the command that builds an image.
    pub(crate) fn build_command(&self, image: &str) -> String {
        build_command(&self.data_dir, Some(image))
    }

    /// Returns the command that builds the image of a language that is served.
    pub(crate) fn build_command_of_served(&self, image: &str) -> String {
        build_command_of_served(&self.data_dir, image)
    }

    /// Returns the reasons that the operator's packages are not there, a line
    /// for each image.
    pub(crate) fn notes(&self) -> Vec<String> {
        let faults = self.faults.iter().map(|(image, fault)| {
            format!("image {image} stays as it was: {fault}")
        });
        let unbuilt = self.recipes.iter().filter_map(|recipe| {
            let (name, store) = (recipe.name(), self.store.as_ref().ok()?);
            let is_ready =
                matches!(store.state(recipe), BuildState::Ready { .. });
            (recipe.addition().is_some() && !is_ready).then(|| {
                format!(
                    "image {name} is not built with the operator's packages: \
                     run `{}`",
                    self.build_command(name)
                )
            })
        });
        faults.chain(unbuilt).collect()
    }

    /// Returns the image that serves in place of one in this state.
    fn stand_in(
        &self,
        image: &str,
        state: &BuildState,
        store: &ImageStore,
    ) -> Option<&InstalledImage> {
        let is_ready = matches!(state, BuildState::Ready { .. })
            && !self.faults.contains_key(image);
        let stand_in = self.stand_ins.get(image).filter(|_| !is_ready);
        stand_in.filter(|image| store.rootfs(image).exists())
    }
}

impl Images for EngineImages {
    fn state(&self, image: &str) -> ImageState {
        let mut recipes = self.recipes.iter();
        let Some(recipe) = recipes.find(|recipe| recipe.name() == image) else {
            return ImageState::Broken("there is no recipe for it".to_owned());
        };
        let store = match &self.store {
            Ok(store) => store,
            Err(why) => return ImageState::Broken(why.clone()),
        };
        let state = store.state(recipe);
        if let Some(stand_in) = self.stand_in(image, &state, store) {
            return ImageState::Ready(store.rootfs(stand_in));
        }
        match state {
            BuildState::Ready { rootfs } => ImageState::Ready(rootfs),
            BuildState::Building { progress } => ImageState::Building(progress),
            BuildState::Missing => ImageState::Missing,
            BuildState::Broken { why } => ImageState::Broken(why),
        }
    }

    fn describe(&self, image: &str, state: &ImageState) -> String {
        describe(state, || build_command_for_clients(&self.data_dir, image))
    }

    fn versions(&self, image: &str) -> BTreeMap<String, String> {
        let recipe = self.recipes.iter().find(|it| it.name() == image);
        let (Ok(store), Some(recipe)) = (&self.store, recipe) else {
            return BTreeMap::new();
        };
        let stand_in = self.stand_in(image, &store.state(recipe), store);
        stand_in.map_or_else(
            || store.versions(recipe),
            |image| image.versions.clone(),
        )
    }

    fn open_file(&self, image: &str, path: &str) -> io::Result<File> {
        open_in(&self.state(image), path)
    }
}

/// Opens a file of an image in this state.
pub(crate) fn open_in(state: &ImageState, path: &str) -> io::Result<File> {
    match state {
        ImageState::Ready(rootfs) => open_file(rootfs, path),
        ImageState::Building(_)
        | ImageState::Missing
        | ImageState::Broken(_) => Err(io::ErrorKind::NotFound.into()),
    }
}

/// Returns the state of an image, which this command builds, in words for clients.
pub(crate) fn describe(
    state: &ImageState,
    build_command: impl FnOnce() -> String,
) -> String {
    match state {
        ImageState::Ready(_) => "its image is ready".to_owned(),
        ImageState::Building(progress) => progress.clone(),
        ImageState::Missing => {
            format!("its image has not been built; run `{}`", build_command())
        }
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
