//! One build, from an empty folder to a complete image.

use std::fs::{self, File, Permissions};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use crate::error::{ImageError, io_error};
use crate::manifest::{Manifest, installed_packages};
use crate::mirror::{self, KEYRING};
use crate::mmdebstrap::{self, Failure, Invocation};
use crate::progress::{Progress, Stage};
use crate::recipe::{Recipe, architecture};
use crate::rootfs;

/// Builds `recipe` inside the empty folder `scratch` and returns the folder
/// that holds the whole image, written to the disk.
pub(crate) fn build(
    recipe: &Recipe,
    mirror: Option<&str>,
    scratch: &Path,
    log_path: &Path,
    report: &mut dyn FnMut(Progress),
) -> Result<PathBuf, ImageError> {
    let as_root = rustix::process::geteuid().is_root();
    check_host(recipe, mirror, as_root)?;
    report(Progress::start(Stage::Preparing));
    let image = scratch.join("image");
    let root = image.join("rootfs");
    for folder in [&image, &root] {
        fs::create_dir(folder).map_err(io_error("create", folder))?;
        fs::set_permissions(folder, Permissions::from_mode(0o755))
            .map_err(io_error("change the mode of", folder))?;
    }
    let files = scratch.join(mmdebstrap::FILES);
    pack_files(recipe, &files).map_err(io_error("write", &files))?;
    let mut log =
        File::create(log_path).map_err(io_error("create", log_path))?;
    let sources = mirror::sources(&recipe.definition.suite, mirror, scratch);
    let invocation = Invocation {
        recipe,
        sources: &sources,
        as_root,
        scratch,
        rootfs: &root,
    };
    mmdebstrap::run(&invocation, &mut log, report).map_err(
        |Failure { reason, tail }| ImageError::Build {
            image: recipe.name.clone(),
            reason: format!("{reason} (whole log: {})", log_path.display()),
            tail,
        },
    )?;
    report(Progress::start(Stage::Finishing));
    describe(recipe, &root)?.save(&image)?;
    sync(&image).map_err(io_error("write out", &image))?;
    Ok(image)
}

/// Finishes the root filesystem and says what it holds.
fn describe(recipe: &Recipe, root: &Path) -> Result<Manifest, ImageError> {
    let read = |path: &str| {
        let path = root.join(path);
        fs::read_to_string(&path).map_err(io_error("read", &path))
    };
    let packages = installed_packages(&read("var/lib/dpkg/status")?);
    let origin = mirror::origins(&read("etc/apt/sources.list")?);
    let bytes = rootfs::finish(root)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    Ok(Manifest {
        name: recipe.name.clone(),
        hash: recipe.hash.clone(),
        origin,
        packages,
        bytes,
        built_at: now.unwrap_or_default().as_secs(),
    })
}

/// Says what to install before anything is tried.
fn check_host(
    recipe: &Recipe,
    mirror: Option<&str>,
    as_root: bool,
) -> Result<(), ImageError> {
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
            reason: format!("{url:?} is no URL of a mirror"),
        });
    }
    let mut needed = vec![
        ("/usr/bin/mmdebstrap", "mmdebstrap"),
        ("/usr/bin/tar", "tar"),
        ("/usr/bin/setpriv", "util-linux"),
        ("/usr/bin/unshare", "util-linux"),
        (KEYRING, "debian-archive-keyring"),
    ];
    if !as_root {
        needed.push(("/usr/bin/newuidmap", "uidmap"));
    }
    for (path, package) in needed {
        if !Path::new(path).exists() {
            return Err(ImageError::Prerequisite {
                missing: path.to_owned(),
                package: package.to_owned(),
            });
        }
    }
    Ok(())
}

/// The recipe's files as an archive in which everything belongs to root,
/// whoever builds.
fn pack_files(recipe: &Recipe, path: &Path) -> io::Result<()> {
    let mut archive = tar::Builder::new(File::create(path)?);
    let mut header = tar::Header::new_gnu();
    header.set_entry_type(tar::EntryType::Directory);
    header.set_mode(0o755);
    header.set_size(0);
    // Where the script installs to.
    archive.append_data(&mut header, "opt/sandpiper", io::empty())?;
    let script = recipe.build_script.as_ref();
    let script = script.map(|text| ("/build/build.sh", &text[..]));
    let files = recipe.files.iter();
    let files = files.map(|(target, content)| (target.as_str(), &content[..]));
    for (target, content) in files.chain(script) {
        let mut header = tar::Header::new_gnu();
        header.set_size(content.len() as u64);
        header.set_mode(0o644);
        let relative = target.trim_start_matches('/');
        archive.append_data(&mut header, relative, content)?;
    }
    archive.finish()
}

/// Waits until everything on the image's filesystem is on the disk: a rename
/// must not survive a power cut that its files do not.
fn sync(image: &Path) -> io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(image)?)?)
}
