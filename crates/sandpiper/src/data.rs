//! The embedded data: definitions of languages, recipes of images.

use std::collections::{BTreeMap, BTreeSet};
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

/// Returns all languages that this program knows: its own and those in `dir`. A
/// few of them may have a name or an extension in common.
///
/// # Errors
/// `dir` cannot be read, or a definition in it is wrong.
pub(crate) fn known(dir: Option<&Path>) -> anyhow::Result<Catalog> {
    let mut sources = sources();
    if let Some(dir) = dir {
        sources.extend(sources_in(dir)?);
    }
    Ok(Catalog::load(sources)?)
}

/// Returns the languages that `--languages` chooses among those that are known;
/// by default those that need no choice.
///
/// # Errors
/// `choice` names a language that is not known, or two that are chosen have a
/// name or an extension in common.
pub(crate) fn served(
    known: &Catalog,
    choice: Option<&[String]>,
) -> anyhow::Result<Catalog> {
    let default = ["default".to_owned()];
    let mut ids = BTreeSet::new();
    for name in choice.unwrap_or(&default) {
        let mut add = |is_chosen: &dyn Fn(&Language) -> bool| {
            let chosen = known.languages().filter(|it| is_chosen(it));
            ids.extend(chosen.map(Language::id));
        };
        if name.eq_ignore_ascii_case("all") {
            add(&|_| true);
        } else if name.eq_ignore_ascii_case("default") {
            add(&Language::is_default);
        } else if let Some(language) = known.find(name) {
            add(&|it| it.id() == language.id());
        } else {
            let known: Vec<&str> =
                known.languages().map(Language::id).collect();
            bail!(
                "--languages: there is no language {name:?}; the languages \
                 are {}, and default and all stand for several",
                known.join(", ")
            );
        }
    }
    let served = known.only(|language| ids.contains(language.id()));
    served.check_names()?;
    Ok(served)
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
        .map(|(id, files)| {
            let path = format!("languages/{id}");
            LanguageFolder { id, path, files }
        })
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
        let catalog = known(None).unwrap();
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
        let folder = tempfile::tempdir().unwrap();
        let put = |id: &str, lines: &str| put(folder.path(), id, lines);
        put("lua", "extensions = [\"lua\"]");
        put("cobol", "default = false\naliases = [\"lua\"]");
        put("ada", "default = false\nextensions = [\"js\", \"py\"]");
        put("zig", "default = false\nextensions = [\"js\"]");
        let known = known(Some(folder.path())).unwrap();
        let check = |choice: Option<&str>, expected: Result<&str, &str>| {
            let choice = choice.map(|names| {
                names.split(',').map(str::to_owned).collect::<Vec<_>>()
            });
            let found = served(&known, choice.as_deref()).map(|served| {
                let ids = served.languages().map(Language::id);
                ids.collect::<Vec<_>>().join(" ")
            });
            let found = found.map_err(|error| format!("{error:#}"));
            match expected {
                Ok(ids) => assert_eq!(found, Ok(ids.to_owned()), "{choice:?}"),
                Err(part) => assert!(
                    found.as_ref().is_err_and(|text| text.contains(part)),
                    "{choice:?}: {found:?}"
                ),
            }
        };
        let eleven = "python c cpp java php csharp mysql mongodb web react vue";
        check(None, Ok(&format!("{eleven} lua")));
        check(Some("default"), Ok(&format!("{eleven} lua")));
        check(Some("C++,py"), Ok("python cpp"));
        check(Some("c,Default,zig"), Ok(&format!("{eleven} lua zig")));
        // An alias gives way to the id of another language.
        check(Some("lua"), Ok("lua"));
        check(Some("cobol,lua"), Err("name \"lua\" belongs to "));
        check(
            Some("default,ada"),
            Err("extension \"py\" belongs to languages/"),
        );
        check(Some("c,ada"), Ok("c ada"));
        check(Some("all"), Err("belongs to "));
        check(Some("c,pascal"), Err("no language \"pascal\""));
        check(Some("c,pascal"), Err("are python, c, cpp"));

        // Of two languages with one extension that of the fallback gives way.
        let by = |choice: &str, path: &str| {
            let served =
                served(&known, Some(&[choice.into(), "mongodb".into()]));
            let served = served.unwrap();
            served.by_path(path).map(|it| it.id().to_owned()).unwrap()
        };
        assert_eq!(by("python", "x.js"), "mongodb");
        assert_eq!(by("zig", "x.js"), "zig");
        assert_eq!(by("zig", "a.b/x.mongodb.js"), "mongodb");
    }

    #[test]
    fn the_manual_names_languages_and_aliases_that_there_are() {
        let path =
            concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/embedding.md");
        let manual = fs::read_to_string(path).unwrap();
        let quoted = |text: &str| -> Vec<String> {
            text.split('`').skip(1).step_by(2).map(str::to_owned).collect()
        };
        let catalog = known(None).unwrap();
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

    /// A language in a folder of `dir`, with these lines in its definition.
    fn put(dir: &Path, id: &str, lines: &str) {
        let definition = format!(
            "name = \"The {id}\"\n{lines}\nimage = \"native\"\n\
             [run]\ncommand = [\"/bin/sh\", \"{{entry}}\"]\n\
             [starter]\nentry = \"main.sh\""
        );
        let folder = dir.join(id);
        fs::create_dir_all(folder.join("starter")).unwrap();
        for (path, text) in [
            ("language.toml", definition.as_str()),
            ("starter/main.sh", "echo 1"),
            ("starter-expected.txt", "1\n"),
        ] {
            fs::write(folder.join(path), text).unwrap();
        }
    }

    #[test]
    fn a_folder_adds_languages() {
        let folder = tempfile::tempdir().unwrap();
        let dir = folder.path();
        let check = |expected: Result<&str, &str>| {
            let found = known(Some(dir)).map(|known| {
                let last = known.languages().last();
                last.map(|it| it.name().to_owned()).unwrap_or_default()
            });
            let found = found.map_err(|error| format!("{error:#}"));
            match expected {
                Ok(name) => assert_eq!(found, Ok(name.to_owned())),
                Err(parts) => {
                    let parts = parts.replace("DIR", &dir.to_string_lossy());
                    let error = found.unwrap_err();
                    for part in parts.split('|') {
                        assert!(error.contains(part), "{part}: {error}");
                    }
                }
            }
        };
        let missing = known(Some(&dir.join("none"))).unwrap_err();
        let error = format!("{missing:#}");
        assert!(error.contains("none: cannot read"), "{error}");

        fs::create_dir(dir.join("notes")).unwrap();
        fs::write(dir.join("notes/README.md"), "not a language").unwrap();
        check(Ok("Vue"));
        put(dir, "sh", "");
        check(Ok("The sh"));
        put(dir, "sh", "order = [");
        check(Err("DIR/sh/language.toml: |line 3"));
        put(dir, "all", "");
        put(dir, "sh", "");
        check(Err("DIR/all/language.toml: id \"all\" means several languages"));
        fs::remove_dir_all(dir.join("all")).unwrap();
        put(dir, "c", "");
        check(Err("DIR/c/language.toml: id \"c\" belongs to languages/c/"));
        fs::remove_dir_all(dir.join("c")).unwrap();
    }
}
