//! `sandpiper images list`: a table of the images, or all details of them.

use std::fmt::Write as _;
use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, SystemTime};

use sandpiper_engine::languages::{Catalog, Language};
use sandpiper_images::{BuildState, ImageStore, InstalledImage};

use crate::data::{Definitions, build_command};

/// The text of an empty cell.
const NONE: &str = "-";
const HEAD: [&str; 7] =
    ["IMAGE", "HASH", "LANGUAGES", "SIZE", "AGE", "ADDED", "TOOLCHAINS"];

/// Prints the images that are built, and those that could be.
pub(super) fn list(
    store: &ImageStore,
    definitions: &Definitions,
    data_dir: &Path,
    verbose: bool,
) -> anyhow::Result<ExitCode> {
    let images = store.list()?;
    let text = if verbose {
        let describe = |installed| {
            describe(installed, is_used(store, installed, definitions))
        };
        images.iter().map(describe).collect()
    } else {
        table(&rows(store, &images, definitions, data_dir))
    };
    io::stdout().write_all(text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// Returns whether this version of the program runs programs in the image: it is
/// that of a recipe, or is used until the packages are there that the operator
/// adds.
pub(super) fn is_used(
    store: &ImageStore,
    installed: &InstalledImage,
    definitions: &Definitions,
) -> bool {
    let mut recipes = definitions.recipes.iter();
    let Some(recipe) = recipes.find(|it| it.name() == installed.name) else {
        return false;
    };
    let is_stand_in = || {
        let image = store.stand_in(recipe);
        image.is_ok_and(|image| image.is_some_and(|it| it == *installed))
    };
    let is_faulty = definitions.faults.contains_key(&installed.name);
    match store.state(recipe) {
        BuildState::Ready { .. } if !is_faulty => {
            recipe.hash() == installed.hash
        }
        _ => is_stand_in(),
    }
}

fn rows(
    store: &ImageStore,
    images: &[InstalledImage],
    definitions: &Definitions,
    data_dir: &Path,
) -> Vec<[String; 7]> {
    let Definitions { languages: catalog, recipes, faults } = definitions;
    let mut rows = Vec::new();
    for recipe in recipes {
        let (name, hash) = (recipe.name(), recipe.hash());
        let why = match store.state(recipe) {
            BuildState::Ready { .. } => continue,
            // A build would fail, with the reason that follows.
            BuildState::Missing if faults.contains_key(name) => continue,
            BuildState::Building { progress } => {
                format!("being built: {progress}")
            }
            BuildState::Missing => {
                let build = build_command(data_dir, Some(name));
                format!("not built: run `{build}`")
            }
            BuildState::Broken { why } => format!("broken: {}", why.trim_end()),
        };
        let none = NONE.to_owned();
        rows.push([
            name.to_owned(),
            hash.to_owned(),
            languages(catalog, name),
            none.clone(),
            none,
            added(recipe.addition().map_or(0, |it| it.names().len())),
            why,
        ]);
    }
    for (name, fault) in faults {
        let mut row = std::array::from_fn(|_| NONE.to_owned());
        row[0].clone_from(name);
        row[6] = format!("packages not added: {fault}");
        rows.push(row);
    }
    for installed in images {
        let is_used = is_used(store, installed, definitions);
        rows.push([
            installed.name.clone(),
            installed.hash.clone(),
            if is_used {
                languages(catalog, &installed.name)
            } else {
                NONE.to_owned()
            },
            size(installed.bytes),
            age(installed.built_at),
            added(installed.added.len()),
            toolchains(installed, is_used),
        ]);
    }
    rows.sort_by(|a, b| a[0].cmp(&b[0]));
    rows
}

/// Formats the rows with columns as wide as their widest cell. The last column
/// is not padded.
fn table(rows: &[[String; 7]]) -> String {
    let head = HEAD.map(str::to_owned);
    let lines = || [&head].into_iter().chain(rows);
    let widths: [usize; 6] = std::array::from_fn(|column| {
        lines().map(|row| row[column].chars().count()).max().unwrap_or(0)
    });
    lines().fold(String::new(), |mut text, row| {
        for (cell, width) in row.iter().zip(widths) {
            let _ = write!(text, "{cell:width$}  ");
        }
        let _ = writeln!(text, "{}", row[6]);
        text
    })
}

fn languages(catalog: &Catalog, image: &str) -> String {
    let names = catalog.languages().filter(|it| it.image() == image);
    let names: Vec<&str> = names.map(Language::id).collect();
    if names.is_empty() { NONE.to_owned() } else { names.join(", ") }
}

fn toolchains(installed: &InstalledImage, is_used: bool) -> String {
    let versions = installed.versions.iter();
    let versions: Vec<String> =
        versions.map(|(name, version)| format!("{name} {version}")).collect();
    let mut text = versions.join(", ");
    if !is_used {
        if !text.is_empty() {
            text += "; ";
        }
        text += "unused: built by another version";
    } else if text.is_empty() {
        text += NONE;
    }
    text
}

/// Formats the number of packages that the operator added.
fn added(count: usize) -> String {
    if count == 0 { NONE.to_owned() } else { format!("+{count}") }
}

fn size(bytes: u64) -> String {
    format!("{} MiB", bytes >> 20)
}

/// Formats an age in two units, or `0s` if the clock was set back.
#[expect(clippy::disallowed_methods, reason = "of a date in a file")]
fn age(built_at: u64) -> String {
    let built = SystemTime::UNIX_EPOCH + Duration::from_secs(built_at);
    let age = SystemTime::now().duration_since(built).unwrap_or_default();
    let age = humantime::format_duration(Duration::from_secs(age.as_secs()))
        .to_string();
    let units: Vec<&str> = age.split(' ').take(2).collect();
    units.join(" ")
}

fn describe(installed: &InstalledImage, is_used: bool) -> String {
    let InstalledImage { name, hash, bytes, built_at, .. } = installed;
    let mut text = format!(
        "{name} {hash}: {}, built {} ago\n",
        size(*bytes),
        age(*built_at)
    );
    let _ = writeln!(text, "  {}", toolchains(installed, is_used));
    for name in &installed.added {
        let _ = writeln!(text, "  added {name}");
    }
    for source in &installed.origin {
        let _ = writeln!(text, "  from {source}");
    }
    for package in &installed.packages {
        let _ = writeln!(text, "  {} {}", package.name, package.version);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_cells() {
        let row = |cells: [&str; 7]| cells.map(str::to_owned);
        let rows = [
            row(["native", "ab", "c, cpp", "9 MiB", "2days", "+3", "GCC 14"]),
            row(["php", "cd", "php", "-", "-", "-", "not built"]),
        ];
        assert_eq!(
            table(&rows),
            "IMAGE   HASH  LANGUAGES  SIZE   AGE    ADDED  TOOLCHAINS\n\
             native  ab    c, cpp     9 MiB  2days  +3     GCC 14\n\
             php     cd    php        -      -      -      not built\n"
        );
    }
}
