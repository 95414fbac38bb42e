//! The findings on languages and their images.

use std::fmt::Write as _;
use std::path::Path;

use sandpiper_engine::Images;
use sandpiper_engine::languages::{Catalog, Language};
use sandpiper_images::Addition;

use super::{Finding, checks};
use crate::config::{CommonArgs, DoctorArgs};
use crate::data::{Definitions, EngineImages};
use crate::error;

/// Returns the findings on the languages that are served, and on their images.
pub(super) fn languages(
    common: &CommonArgs,
    args: &DoctorArgs,
) -> anyhow::Result<Vec<Finding>> {
    let folders = common.folders();
    let definitions = match Definitions::load(&folders) {
        Ok(definitions) => definitions,
        Err(error) => {
            let error = error::describe(&error);
            return Ok(vec![Finding::missing("languages", error)]);
        }
    };
    let served = definitions.served(args.languages.as_deref())?;
    let images = EngineImages::open(&common.data_dir()?, &definitions);
    let dir = folders.languages.as_deref();
    let mut findings = vec![served_ones(&served, dir)];
    for recipe in &definitions.recipes {
        let image = recipe.name();
        if served.languages().any(|it| it.image() == image) {
            let build = images.build_command_of_served(image);
            findings.push(checks::image(image, &images.state(image), build));
            findings.extend(recipe.addition().map(added_ones));
        }
    }
    let notes = images.notes().into_iter();
    findings.extend(notes.map(|note| Finding::weak("additions", note)));
    Ok(findings)
}

/// Names the languages that are served, and the operator's folder of languages.
fn served_ones(served: &Catalog, dir: Option<&Path>) -> Finding {
    let ids: Vec<&str> = served.languages().map(Language::id).collect();
    let mut found = ids.join(", ");
    if let Some(dir) = dir {
        let _ = write!(found, " (with those of {})", dir.display());
    }
    Finding::good("languages", found)
}

/// Names the packages that the operator adds to an image.
fn added_ones(addition: &Addition) -> Finding {
    let names = addition.names();
    let found = format!("+{}: {}", names.len(), names.join(", "));
    Finding::good(&format!("additions to {}", addition.image()), found)
}
