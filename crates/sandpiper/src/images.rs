//! `sandpiper images`: builds, lists, checks, exports, imports and removes
//! images.

mod check;
mod list;
mod lock;
mod progress;
mod transfer;

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Mutex, PoisonError};
use std::thread;

use anyhow::{Context, bail};
use sandpiper_images::{
    BuildOptions, ImageError, ImageStore, InstalledImage, Queued, Recipe,
};
use tracing::Level;

use crate::config::{self, BuildArgs, CommonArgs, ImagesCommand};
use crate::data::Definitions;
use crate::logging::{self, Target};

pub(crate) use check::this_program;
use check::{CheckError, check_unfinished};
use progress::ProgressDisplay;

/// Runs the command on the images of the data folder.
pub(crate) fn images(
    common: &CommonArgs,
    command: &ImagesCommand,
) -> anyhow::Result<ExitCode> {
    if let ImagesCommand::Check(args) = command {
        return check::check(common, args);
    }
    logging::start(common, Target::Stderr, Level::WARN)?;
    let data_dir = common.data_dir()?;
    let store = ImageStore::open(&data_dir)?;
    let definitions = Definitions::load(&common.folders())?;
    match command {
        ImagesCommand::Build(args) => build(&store, common, &definitions, args),
        ImagesCommand::Lock { image, mirror } => {
            lock::lock(&store, common, image, mirror.clone())
        }
        ImagesCommand::Export { file, names } => {
            transfer::export(&store, &definitions, &data_dir, file, names)
        }
        ImagesCommand::Import { file, skip_check } => {
            let check = check_in_child(common, *skip_check)?;
            transfer::import(&store, &definitions, file, &check)
        }
        ImagesCommand::List { verbose } => {
            list::list(&store, &definitions, &data_dir, *verbose)
        }
        ImagesCommand::Check(args) => check::check(common, args),
        ImagesCommand::Remove { unused: true, .. } => {
            remove_unused(&store, &definitions)
        }
        ImagesCommand::Remove { names, .. } => remove(&store, names),
    }
}

/// Builds the chosen images, several at once. If one fails, the others are
/// still built.
fn build(
    store: &ImageStore,
    common: &CommonArgs,
    definitions: &Definitions,
    args: &BuildArgs,
) -> anyhow::Result<ExitCode> {
    let recipes = if args.names.is_empty() {
        chosen(
            definitions,
            &images_of(definitions, args.languages.as_deref())?,
        )?
    } else {
        chosen(definitions, &args.names)?
    };
    let check = check_in_child(common, args.skip_check)?;
    let downloads = config::downloads(args.mirror.clone());
    let options = BuildOptions { downloads, check: &check };
    // Their packages cannot be added: the images stay as they are.
    let (faulty, recipes): (Vec<_>, Vec<_>) = recipes
        .into_iter()
        .partition(|recipe| definitions.faults.contains_key(recipe.name()));
    // All are queued first, so that other processes see from the start that
    // the last one will be built.
    let mut queue = Vec::new();
    for recipe in &recipes {
        queue.push((recipe.name(), store.queue(recipe)?));
    }
    let display = ProgressDisplay::new();
    for name in faulty.iter().map(Recipe::name) {
        display.end(name, &format!("failed: {}", definitions.faults[name]));
    }
    let mut failed =
        run_jobs(args.jobs(), queue, |name, queued: Queued<'_>| {
            let built =
                queued.build(&options, &mut |now| display.show(name, &now));
            let end = match &built {
                Ok(rootfs) => format!("ready: {}", rootfs.display()),
                Err(error) => format!("failed: {error}"),
            };
            display.end(name, &end);
            built.is_ok()
        });
    failed.extend(faulty.iter().map(Recipe::name));
    if !failed.is_empty() {
        bail!("not built: {}", failed.join(", "));
    }
    Ok(ExitCode::SUCCESS)
}

/// Works on every entry, on `jobs` at once, and begins them in order, so that
/// two processes that build the same images cannot wait for each other.
/// Returns the names for which `work` failed.
fn run_jobs<'a, T: Send>(
    jobs: usize,
    queue: Vec<(&'a str, T)>,
    work: impl Fn(&'a str, T) -> bool + Sync,
) -> Vec<&'a str> {
    let jobs = jobs.min(queue.len());
    let queue = Mutex::new(queue.into_iter());
    let failed = Mutex::new(Vec::new());
    let worker = || {
        let next = || {
            let mut queue =
                queue.lock().unwrap_or_else(PoisonError::into_inner);
            queue.next()
        };
        while let Some((name, entry)) = next() {
            if !work(name, entry) {
                failed
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .push(name);
            }
        }
    };
    thread::scope(|scope| {
        for _ in 0..jobs {
            scope.spawn(worker);
        }
    });
    let mut failed =
        failed.into_inner().unwrap_or_else(PoisonError::into_inner);
    failed.sort_unstable();
    failed
}

/// Returns the check that an image must pass before it is installed.
fn check_in_child(
    common: &CommonArgs,
    skip: bool,
) -> anyhow::Result<impl Fn(&Recipe, &Path) -> Result<(), String> + Sync> {
    let data_dir = common.data_dir()?;
    let folders = common.folders();
    Ok(move |recipe: &Recipe, rootfs: &Path| {
        if skip {
            return Ok(());
        }
        let command = this_program(&data_dir, &folders);
        check_unfinished(command, recipe.name(), rootfs)
            .map_err(|error| describe(&error))
    })
}

/// Returns the error as the end of `image python was not installed: `.
fn describe(error: &CheckError) -> String {
    match error {
        CheckError::Programs(lines) => lines.clone(),
        CheckError::NotRun(why) => format!(
            "its sample programs could not be run: {why} (`sandpiper doctor` \
             says how to fix this host; --skip-check installs images without \
             running them)"
        ),
    }
}

/// Returns the images that programs in the chosen languages run in.
fn images_of(
    definitions: &Definitions,
    languages: Option<&[String]>,
) -> anyhow::Result<Vec<String>> {
    let catalog = definitions.served(languages)?;
    Ok(catalog.languages().map(|it| it.image().to_owned()).collect())
}

/// Returns the recipes with these names, or all if no name is given.
fn chosen(
    definitions: &Definitions,
    names: &[String],
) -> anyhow::Result<Vec<Recipe>> {
    for name in names {
        if !definitions.has_image(name) {
            let all: Vec<&str> = definitions.images().collect();
            bail!("no image {name:?}; the images are {}", all.join(", "));
        }
    }
    let wanted = |recipe: &&Recipe| {
        names.is_empty() || names.iter().any(|name| name == recipe.name())
    };
    Ok(definitions.recipes.iter().filter(wanted).cloned().collect())
}

fn remove(store: &ImageStore, names: &[String]) -> anyhow::Result<ExitCode> {
    let mut text = String::new();
    for name in names {
        let removed = store
            .remove(name)
            .with_context(|| format!("{text}cannot remove {name}"))?;
        for InstalledImage { name, hash, .. } in removed {
            writeln!(text, "removed {name} {hash}")?;
        }
    }
    io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Removes the images whose recipe this version of the program does not have,
/// except for images that another process is building.
fn remove_unused(
    store: &ImageStore,
    definitions: &Definitions,
) -> anyhow::Result<ExitCode> {
    let mut text = String::new();
    for installed in store.list()? {
        if list::is_used(store, &installed, definitions) {
            continue;
        }
        let InstalledImage { name, hash, .. } = installed;
        match store.remove(&hash) {
            Ok(_) => writeln!(text, "removed {name} {hash}")?,
            Err(ImageError::Busy(_)) => {
                writeln!(text, "kept {name} {hash}: it is being built")?;
            }
            Err(error) => return Err(error.into()),
        }
    }
    io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Folders;

    #[test]
    fn images_are_those_of_languages() {
        let check = |languages: &[&str], expected: &[&str]| {
            let languages: Vec<_> =
                languages.iter().map(|&it| it.to_owned()).collect();
            let definitions = Definitions::load(&Folders::default()).unwrap();
            let names = images_of(&definitions, Some(&languages)).unwrap();
            let recipes = chosen(&definitions, &names).unwrap();
            let found: Vec<&str> = recipes.iter().map(Recipe::name).collect();
            assert_eq!(found, expected, "{languages:?}");
        };
        check(&["php"], &["php"]);
        check(&["vue", "c", "cpp", "react"], &["native", "web"]);
        check(&["c++"], &["native"]);
        let default = [
            "csharp", "java", "mongodb", "mysql", "native", "php", "python",
            "web",
        ];
        check(&["default"], &default);
    }

    #[test]
    fn jobs_begin_in_order_and_failures_are_returned() {
        let begun = Mutex::new(Vec::new());
        let queue = vec![("a", true), ("b", false), ("c", true), ("d", false)];
        let failed = run_jobs(1, queue.clone(), |name, right| {
            begun.lock().unwrap().push(name);
            right
        });
        assert_eq!(failed, ["b", "d"]);
        assert_eq!(*begun.lock().unwrap(), ["a", "b", "c", "d"]);
        assert_eq!(run_jobs(8, queue, |_, right| right), ["b", "d"]);
    }
}
