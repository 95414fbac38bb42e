//! One build, from an empty folder to a complete image.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::addition::Addition;
use crate::downloads::{DownloadSettings, Downloads};
use crate::error::{ImageError, io_error};
use crate::manifest::{Manifest, installed_packages};
use crate::mirror;
use crate::mmdebstrap::{self, Invocation, MmdebstrapError, VERSIONS};
use crate::prerequisites::{Prerequisite, missing_prerequisites};
use crate::progress::{ImageProgress, Phase};
use crate::recipe::{Recipe, architecture};
use crate::rootfs;

/// Builds `recipe` in the empty folder `scratch`, and returns the folder with
/// the complete image.
pub(crate) fn build(
    recipe: &Recipe,
    downloads: &Downloads,
    scratch: &Path,
    log_path: &Path,
    report: &mut dyn FnMut(ImageProgress),
) -> Result<PathBuf, ImageError> {
    let as_root = rustix::process::geteuid().is_root();
    let mirror = downloads.mirror.as_deref();
    check_host(recipe, mirror)?;
    report(ImageProgress::start(Phase::ReadingLists));
    let image = scratch.join("image");
    let root = image.join("rootfs");
    for folder in [&image, &root] {
        fs::create_dir(folder).map_err(io_error("create", folder))?;
        fs::set_permissions(folder, Permissions::from_mode(0o755))
            .map_err(io_error("change the mode of", folder))?;
    }
    let files = scratch.join(mmdebstrap::FILES);
    let settings = downloads.settings();
    pack_files(recipe, &settings, &files).map_err(io_error("write", &files))?;
    let mut log =
        File::create(log_path).map_err(io_error("create", log_path))?;
    let sources = mirror::sources(&recipe.definition.suite, mirror, scratch);
    let work = mmdebstrap::work_folder(as_root, scratch, downloads);
    let invocation = Invocation {
        recipe,
        sources: &sources,
        settings: &settings,
        as_root,
        scratch,
        work: &work,
        rootfs: &root,
    };
    mmdebstrap::run(&invocation, &mut log, report).map_err(
        |MmdebstrapError { reason, tail }| {
            let log = log_path.display();
            let place = recipe.addition().map(|it| it.place_of(&tail));
            let place = place.map(|place| place + ": ").unwrap_or_default();
            ImageError::Build {
                image: recipe.name.clone(),
                reason: format!("{place}{reason} (whole log: {log})"),
                tail,
            }
        },
    )?;
    report(ImageProgress::start(Phase::Finishing));
    describe(recipe, &root)?.save(&image)?;
    Ok(image)
}

/// Finishes the root filesystem, and returns its description.
#[expect(
    clippy::disallowed_methods,
    reason = "shown to the operator as a date"
)]
fn describe(recipe: &Recipe, root: &Path) -> Result<Manifest, ImageError> {
    let read = |path: &str| {
        let path = root.join(path);
        fs::read_to_string(&path).map_err(io_error("read", &path))
    };
    let packages = installed_packages(&read("var/lib/dpkg/status")?);
    let origin = mirror::origins(&read("etc/apt/sources.list")?);
    let versions = versions(recipe, root)?;
    let bytes = rootfs::finish(root)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    Ok(Manifest {
        name: recipe.name.clone(),
        hash: recipe.hash.clone(),
        origin,
        versions,
        packages,
        added: recipe.addition().map(Addition::names).unwrap_or_default(),
        base: recipe
            .addition()
            .map(|_| recipe.base().to_owned())
            .unwrap_or_default(),
        bytes,
        built_at: now.unwrap_or_default().as_secs(),
    })
}

/// Returns the output of the recipe's version commands.
fn versions(
    recipe: &Recipe,
    root: &Path,
) -> Result<BTreeMap<String, String>, ImageError> {
    let names = recipe.definition.versions.keys();
    names
        .enumerate()
        .map(|(number, name)| {
            let path = root.join(format!("{}/{number}.out", &VERSIONS[1..]));
            let text =
                fs::read_to_string(&path).map_err(io_error("read", &path))?;
            let line = text.lines().next().unwrap_or_default().trim();
            if line.is_empty() {
                return Err(ImageError::Recipe {
                    image: recipe.name.clone(),
                    reason: format!(
                        "the version command of {name} printed nothing"
                    ),
                });
            }
            Ok((name.clone(), line.to_owned()))
        })
        .collect()
}

/// Checks that this host can build the recipe, before the build begins.
fn check_host(recipe: &Recipe, mirror: Option<&str>) -> Result<(), ImageError> {
    if !recipe.serves(architecture()) {
        return Err(ImageError::Architecture {
            image: recipe.name.clone(),
            architecture: architecture().to_owned(),
        });
    }
    if let Some(url) = mirror
        && (url.contains(char::is_whitespace) || !url.contains("://"))
    {
        return Err(ImageError::Recipe {
            image: recipe.name.clone(),
            reason: format!("{url:?} is not the URL of a mirror"),
        });
    }
    if let Some(Prerequisite { path, package }) =
        missing_prerequisites().first()
    {
        return Err(ImageError::Prerequisite {
            missing: (*path).to_owned(),
            package: (*package).to_owned(),
        });
    }
    Ok(())
}

/// Writes the recipe's files to an archive in which root owns everything. Only
/// the builder may read the archive, since the settings may contain passwords.
fn pack_files(
    recipe: &Recipe,
    settings: &DownloadSettings,
    path: &Path,
) -> io::Result<()> {
    let mut options = File::options();
    let file = options.write(true).create_new(true).mode(0o600).open(path)?;
    let mut archive = tar::Builder::new(file);
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Directory);
    header.set_mode(0o755);
    header.set_size(0);
    // The script installs into this folder.
    archive.append_data(&mut header, "opt/sandpiper", io::empty())?;
    let script = recipe.build_script.as_ref();
    let script = script.map(|text| ("/build/build.sh", &text[..]));
    let files = recipe.files.iter();
    let files = files.map(|(target, content)| (target.as_str(), &content[..]));
    let mut add = |target: &str, mode: u32, content: &[u8]| {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(mode);
        let relative = target.trim_start_matches('/');
        archive.append_data(&mut header, relative, content)
    };
    for (target, content) in files.chain(script) {
        add(target, 0o644, content)?;
    }
    for (target, content) in &settings.files {
        add(target, 0o600, content)?;
    }
    let commands = recipe.definition.versions.values();
    for (number, command) in commands.enumerate() {
        let target = format!("{VERSIONS}/{number}");
        add(&target, 0o644, command.as_bytes())?;
    }
    archive.finish()
}
