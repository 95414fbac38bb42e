//! `sandpiper images`: builds, lists and removes images.

use std::fmt::Write as _;
use std::io::{self, IsTerminal, Write as _};
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use anyhow::{Context, bail};
use sandpiper_images::{Downloads, Listing, Progress, Recipe, State, Store};
use tracing::Level;

use crate::config::{self, CommonArgs, ImagesCommand};
use crate::data;
use crate::logging::{self, Target};

/// Runs the command on the images of the data folder.
pub(crate) fn images(
    common: &CommonArgs,
    command: &ImagesCommand,
) -> anyhow::Result<ExitCode> {
    logging::start(common, Target::Stderr, Level::WARN)?;
    let store = Store::open(&common.data_dir()?)?;
    match command {
        ImagesCommand::Build { names, mirror } => {
            build(&store, names, &config::downloads(mirror.clone()))
        }
        ImagesCommand::List => list(&store),
        ImagesCommand::Remove { names } => remove(&store, names),
    }
}

/// Builds one image after the other; one that fails does not keep the others
/// from being built.
fn build(
    store: &Store,
    names: &[String],
    downloads: &Downloads,
) -> anyhow::Result<ExitCode> {
    let recipes = chosen(names)?;
    // All at once, so that whoever waits for the last one is told so from the
    // start.
    let mut queue = Vec::new();
    for recipe in &recipes {
        queue.push((recipe.name(), store.queue(recipe)?));
    }
    let mut failed = Vec::new();
    for (name, queued) in queue {
        let mut display = Display::new(name);
        match queued.build(downloads, &mut |now| display.show(now)) {
            Ok(rootfs) => display.end(&format!("ready: {}", rootfs.display())),
            Err(error) => {
                display.end(&format!("failed: {error}"));
                failed.push(name);
            }
        }
    }
    if !failed.is_empty() {
        bail!("not built: {}", failed.join(", "));
    }
    Ok(ExitCode::SUCCESS)
}

/// The recipes with these names, or all where no name is given.
fn chosen(names: &[String]) -> anyhow::Result<Vec<Recipe>> {
    let recipes = data::recipes()?;
    let all: Vec<&str> = recipes.iter().map(Recipe::name).collect();
    for name in names {
        if !all.contains(&name.as_str()) {
            bail!("no image {name:?}; the images are {}", all.join(", "));
        }
    }
    let wanted = |recipe: &Recipe| {
        names.is_empty() || names.iter().any(|name| name == recipe.name())
    };
    Ok(recipes.into_iter().filter(wanted).collect())
}

fn list(store: &Store) -> anyhow::Result<ExitCode> {
    let recipes = data::recipes()?;
    let listings = store.list()?;
    let mut text = String::new();
    for listing in &listings {
        let in_use = recipes.iter().any(|recipe| {
            (recipe.name(), recipe.hash()) == (&listing.name, &listing.hash)
        });
        describe(&mut text, listing, in_use)?;
    }
    for recipe in &recipes {
        let name = recipe.name();
        match store.state(recipe) {
            State::Ready { .. } => {}
            State::Building { progress } => {
                writeln!(text, "{name}: being built: {progress}")?;
            }
            State::Missing => writeln!(
                text,
                "{name}: not built; `sandpiper images build {name}` builds it"
            )?,
            State::Broken { why } => {
                writeln!(text, "{name}: broken: {}", why.trim_end())?;
            }
        }
    }
    io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

fn describe(
    text: &mut String,
    listing: &Listing,
    in_use: bool,
) -> std::fmt::Result {
    let Listing { name, hash, versions, packages, origin, bytes, built_at } =
        listing;
    let built = SystemTime::UNIX_EPOCH + Duration::from_secs(*built_at);
    let age = SystemTime::now().duration_since(built).unwrap_or_default();
    // Two units are precise enough for an age.
    let age = humantime::format_duration(Duration::from_secs(age.as_secs()))
        .to_string();
    let age: Vec<&str> = age.split(' ').take(2).collect();
    let replaced = if in_use { "" } else { ", of another version's recipe" };
    writeln!(
        text,
        "{name} {hash}: {} MiB, built {} ago{replaced}",
        bytes >> 20,
        age.join(" ")
    )?;
    for (toolchain, version) in versions {
        writeln!(text, "  {toolchain} {version}")?;
    }
    for source in origin {
        writeln!(text, "  from {source}")?;
    }
    for package in packages {
        writeln!(text, "  {} {}", package.name, package.version)?;
    }
    Ok(())
}

fn remove(store: &Store, names: &[String]) -> anyhow::Result<ExitCode> {
    let mut text = String::new();
    for name in names {
        let removed = store
            .remove(name)
            .with_context(|| format!("{text}cannot remove {name}"))?;
        for Listing { name, hash, .. } in removed {
            writeln!(text, "removed {name} {hash}")?;
        }
    }
    io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Shows how far a build is: on a terminal in one line that changes, else a
/// line for every stage.
struct Display<'a> {
    image: &'a str,
    on_terminal: bool,
    shown: String,
}

impl<'a> Display<'a> {
    fn new(image: &'a str) -> Self {
        let on_terminal = io::stderr().is_terminal();
        Self { image, on_terminal, shown: String::new() }
    }

    fn show(&mut self, progress: Progress) {
        let text = if self.on_terminal {
            progress.to_string()
        } else {
            Progress { done: 0, total: 0, ..progress }.to_string()
        };
        if text != self.shown {
            self.print(&text, if self.on_terminal { "" } else { "\n" });
            self.shown = text;
        }
    }

    fn end(&mut self, text: &str) {
        self.print(text, "\n");
    }

    fn print(&self, text: &str, end: &str) {
        let start = if self.on_terminal { "\r\x1b[K" } else { "" };
        let line = format!("{start}{}: {text}{end}", self.image);
        // Progress that nobody can read is no reason to stop building.
        let _ = io::stderr().write_all(line.as_bytes());
    }
}
