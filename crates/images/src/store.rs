//! The store of images: which images are complete or being built, and why one
//! could not be built.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions, TryLockError};
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::error::{ImageError, io_error};
use crate::manifest::{Manifest, Package};
use crate::recipe::Recipe;

/// The prefix of folders that are no images, or no images yet.
pub(crate) const UNFINISHED: &str = ".build-";

/// The images of one data folder. Several processes may use the same one.
#[derive(Clone, Debug)]
pub struct ImageStore {
    folder: PathBuf,
}

/// The state of an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BuildState {
    /// The image is complete.
    Ready {
        /// The path of its root filesystem; absolute if the store's path is.
        rootfs: PathBuf,
    },
    /// A process is building it.
    Building {
        /// The progress of the build.
        progress: String,
    },
    /// It was not built.
    Missing,
    /// The last build of it failed.
    Broken {
        /// The reason, and what the operator can do.
        why: String,
    },
}

/// One complete image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InstalledImage {
    /// The image's name, as languages name it.
    pub name: String,
    /// The hash of the recipe that it was built from.
    pub hash: String,
    /// The versions of its toolchains, by their names.
    pub versions: BTreeMap<String, String>,
    /// The Debian packages it holds.
    pub packages: Vec<Package>,
    /// The packages that an operator added.
    pub added: Vec<String>,
    /// The hash of the recipe without them.
    pub base: String,
    /// The archives of its packages, each with its suite.
    pub origin: Vec<String>,
    /// Its size on the disk, in bytes, including files that it shares with other
    /// images.
    pub bytes: u64,
    /// When it was built, in seconds since 1970.
    pub built_at: u64,
}

impl ImageStore {
    /// Opens the store in `data_dir`, and creates it if it is missing.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn open(data_dir: &Path) -> Result<Self, ImageError> {
        let folder = data_dir.join("images");
        // A server that root started reads them as another user, so root's umask
        // must not matter.
        let create = || {
            for folder in [data_dir, &folder] {
                if !folder.is_dir() {
                    fs::create_dir_all(folder)?;
                    let mode = Permissions::from_mode(0o755);
                    fs::set_permissions(folder, mode)?;
                }
            }
            Ok(())
        };
        create().map_err(io_error("create", &folder))?;
        Ok(Self { folder })
    }

    /// Returns the state of the image of `recipe`. Takes one system call if the
    /// image is complete.
    pub fn state(&self, recipe: &Recipe) -> BuildState {
        let image = self.folder.join(recipe.folder());
        match image.join(Manifest::FILE).try_exists() {
            Ok(true) => {
                return BuildState::Ready { rootfs: image.join("rootfs") };
            }
            Ok(false) => {}
            Err(error) => {
                let error = io_error("look into", &image)(error);
                let why = format!(
                    "{error}; the server's user must be able to read it and \
                     every folder above it"
                );
                return BuildState::Broken { why };
            }
        }
        if let Some(progress) = self.progress_of_builder(recipe) {
            return BuildState::Building { progress };
        }
        match fs::read_to_string(self.beside(recipe, "failed")) {
            Ok(why) => BuildState::Broken { why },
            Err(_) => BuildState::Missing,
        }
    }

    /// Returns the versions of the toolchains in the image of `recipe`, by their
    /// names; none if the image is not complete.
    pub fn versions(&self, recipe: &Recipe) -> BTreeMap<String, String> {
        let image = self.folder.join(recipe.folder());
        Manifest::load(&image)
            .map_or_else(|_| BTreeMap::new(), |it| it.versions)
    }

    /// Returns the complete images, sorted by name; of one name, the newest is
    /// first.
    ///
    /// # Errors
    /// The store or a manifest cannot be read.
    pub fn list(&self) -> Result<Vec<InstalledImage>, ImageError> {
        let mut images = Vec::new();
        for name in self.entries()? {
            let path = self.folder.join(&name);
            if name.starts_with('.') || !path.join(Manifest::FILE).exists() {
                continue;
            }
            let manifest = Manifest::load(&path)?;
            let hash = manifest.hash;
            let base = manifest.base;
            images.push(InstalledImage {
                name: manifest.name,
                base: if base.is_empty() { hash.clone() } else { base },
                added: manifest.added,
                hash,
                versions: manifest.versions,
                packages: manifest.packages,
                origin: manifest.origin,
                bytes: manifest.bytes,
                built_at: manifest.built_at,
            });
        }
        images
            .sort_by(|a, b| (&a.name, b.built_at).cmp(&(&b.name, a.built_at)));
        Ok(images)
    }

    /// Returns the image that stands in for that of `recipe` until it is built:
    /// the newest that was built from the same recipe with other additions, or
    /// with none.
    ///
    /// # Errors
    /// The store or a manifest cannot be read.
    pub fn stand_in(
        &self,
        recipe: &Recipe,
    ) -> Result<Option<InstalledImage>, ImageError> {
        let mut images = self.list()?.into_iter();
        Ok(images.find(|image| {
            image.name == recipe.name() && image.base == recipe.base()
        }))
    }

    /// Returns the root filesystem of a listed image.
    pub fn rootfs(&self, image: &InstalledImage) -> PathBuf {
        let folder = format!("{}-{}", image.name, image.hash);
        self.folder.join(folder).join("rootfs")
    }

    /// Removes the images that have this name or hash, with the output of their
    /// builds and of those that failed, and returns them. A
    /// process that uses an image can use it until the process ends.
    ///
    /// # Errors
    /// There is no such image, one is being built, or a file cannot be removed.
    pub fn remove(
        &self,
        name_or_hash: &str,
    ) -> Result<Vec<InstalledImage>, ImageError> {
        let mut images = self.list()?;
        images.retain(|image| {
            image.name == name_or_hash || image.hash == name_or_hash
        });
        if images.is_empty() {
            return Err(ImageError::Unknown(name_or_hash.to_owned()));
        }
        for image in &images {
            let folder = format!("{}-{}", image.name, image.hash);
            let path = self.folder.join(&folder);
            let lock = self.lock_file(&folder)?;
            if lock.try_lock().is_err() {
                return Err(ImageError::Busy(folder));
            }
            // After the rename it is no image any more, however long the
            // removal takes.
            let doomed = self.folder.join(format!("{UNFINISHED}{folder}-old"));
            fs::rename(&path, &doomed).map_err(io_error("rename", &path))?;
            fs::remove_dir_all(&doomed).map_err(io_error("remove", &doomed))?;
        }
        self.remove_output(name_or_hash)?;
        Ok(images)
    }

    /// Removes the output of all builds with this name or hash, also of those that
    /// left no image, but not of those that go on.
    fn remove_output(&self, name_or_hash: &str) -> Result<(), ImageError> {
        for entry in self.entries()? {
            let Some((folder, "log" | "failed")) = entry.rsplit_once('.')
            else {
                continue;
            };
            let is_asked =
                folder.rsplit_once('-').is_some_and(|(name, hash)| {
                    name == name_or_hash || hash == name_or_hash
                });
            if is_asked && self.lock_file(folder)?.try_lock().is_ok() {
                remove_if_there(&self.folder.join(&entry))?;
            }
        }
        Ok(())
    }

    /// Returns the folder of the images.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn entries(&self) -> Result<Vec<String>, ImageError> {
        let read = || {
            fs::read_dir(&self.folder)?
                .map(|entry| Ok(entry?.file_name().to_string_lossy().into()))
                .collect::<io::Result<Vec<String>>>()
        };
        read().map_err(io_error("list", &self.folder))
    }

    pub(crate) fn beside(&self, recipe: &Recipe, kind: &str) -> PathBuf {
        self.folder.join(format!("{}.{kind}", recipe.folder()))
    }

    pub(crate) fn lock_file(&self, folder: &str) -> Result<File, ImageError> {
        let path = self.folder.join(format!("{folder}.lock"));
        let mut options = File::options();
        options.read(true).write(true).create(true).truncate(false);
        let opened = options.open(&path);
        // Root may have made it in the folder of another user, who can lock it
        // without writing to it.
        let of_root = |error: io::Error| match error.kind() {
            io::ErrorKind::PermissionDenied => File::open(&path),
            _ => Err(error),
        };
        opened.or_else(of_root).map_err(io_error("open", &path))
    }

    /// Returns the progress of the process that builds `recipe`, if there is one.
    fn progress_of_builder(&self, recipe: &Recipe) -> Option<String> {
        let path = self.beside(recipe, "lock");
        let file = File::open(&path).ok()?;
        let Err(TryLockError::WouldBlock) = file.try_lock_shared() else {
            return None;
        };
        fs::read_to_string(path).ok()
    }
}

pub(crate) fn remove_if_there(path: &Path) -> Result<(), ImageError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(io_error("remove", path)(error))
        }
        _ => Ok(()),
    }
}
