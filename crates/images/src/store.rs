//! The store of images: which are complete, which are being built, and why
//! one is not there.

use std::collections::BTreeMap;
use std::fs::{self, File, Permissions, TryLockError};
use std::io::{self, Write};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::build;
use crate::downloads::Downloads;
use crate::error::{ImageError, io_error};
use crate::manifest::{Manifest, Package};
use crate::progress::{Progress, Stage};
use crate::recipe::Recipe;

/// Prefix of folders that are no images, or not yet.
const UNFINISHED: &str = ".build-";

/// The images of one data folder. Several processes may use the same one.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
}

/// Whether an image can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// The root filesystem is complete at this path.
    Ready {
        /// Its absolute path, where the store's is absolute.
        rootfs: PathBuf,
    },
    /// A process is building it.
    Building {
        /// How far it is.
        progress: String,
    },
    /// Nobody has built it.
    Missing,
    /// The last build of it failed.
    Broken {
        /// Why, and what the operator can do.
        why: String,
    },
}

/// One complete image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listing {
    /// The image's name, as languages name it.
    pub name: String,
    /// The hash of the recipe that it was built from.
    pub hash: String,
    /// The versions of its toolchains, by their names.
    pub versions: BTreeMap<String, String>,
    /// The Debian packages it holds.
    pub packages: Vec<Package>,
    /// The archives its packages came from, each with its suite.
    pub origin: Vec<String>,
    /// What it takes on the disk, in bytes.
    pub bytes: u64,
    /// When it was built, in seconds since 1970.
    pub built_at: u64,
}

impl Store {
    /// Opens the store in `data_dir`, which is created where it is missing.
    ///
    /// # Errors
    /// The folder cannot be created.
    pub fn open(data_dir: &Path) -> Result<Self, ImageError> {
        let folder = data_dir.join("images");
        // Root's server reads them as another user, whatever root's umask is.
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

    /// Whether the image of `recipe` can be used now. Costs one system call
    /// when it can.
    pub fn state(&self, recipe: &Recipe) -> State {
        let image = self.folder.join(recipe.folder());
        match image.join(Manifest::FILE).try_exists() {
            Ok(true) => return State::Ready { rootfs: image.join("rootfs") },
            Ok(false) => {}
            Err(error) => {
                let error = io_error("look into", &image)(error);
                let why = format!(
                    "{error}; the server's user must be able to read it, and \
                     to enter every folder above it"
                );
                return State::Broken { why };
            }
        }
        if let Some(progress) = self.progress_of_builder(recipe) {
            return State::Building { progress };
        }
        match fs::read_to_string(self.beside(recipe, "failed")) {
            Ok(why) => State::Broken { why },
            Err(_) => State::Missing,
        }
    }

    /// Builds the image of `recipe`: [`Store::queue`] and [`Queued::build`] in
    /// one.
    ///
    /// # Errors
    /// Those of the two.
    pub fn build(
        &self,
        recipe: &Recipe,
        downloads: &Downloads,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<PathBuf, ImageError> {
        self.queue(recipe)?.build(downloads, progress)
    }

    /// Announces a build: from now on other processes are told that the image
    /// of `recipe` is being built. Who queues several must build them in the
    /// order of their names, else two who do so may wait for each other.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn queue<'a>(
        &'a self,
        recipe: &'a Recipe,
    ) -> Result<Queued<'a>, ImageError> {
        let mut queued = Queued { store: self, recipe, lock: None };
        if matches!(self.state(recipe), State::Ready { .. }) {
            return Ok(queued);
        }
        let file = self.lock_file(&recipe.folder())?;
        match file.try_lock() {
            Ok(()) => {
                let mut lock = BuildLock { file };
                lock.report(Progress::start(Stage::Queued));
                queued.lock = Some(lock);
            }
            Err(TryLockError::WouldBlock) => {}
            Err(TryLockError::Error(error)) => {
                let path = self.beside(recipe, "lock");
                return Err(io_error("lock", &path)(error));
            }
        }
        Ok(queued)
    }

    /// The complete images, by name, the newest first.
    ///
    /// # Errors
    /// The store or a manifest cannot be read.
    pub fn list(&self) -> Result<Vec<Listing>, ImageError> {
        let mut images = Vec::new();
        for name in self.entries()? {
            let path = self.folder.join(&name);
            if name.starts_with('.') || !path.join(Manifest::FILE).exists() {
                continue;
            }
            let manifest = Manifest::load(&path)?;
            images.push(Listing {
                name: manifest.name,
                hash: manifest.hash,
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

    /// Removes the images that have this name or hash, and returns them. A
    /// process that uses one keeps it until that process ends.
    ///
    /// # Errors
    /// There is none, or one is being built, or files cannot be removed.
    pub fn remove(
        &self,
        name_or_hash: &str,
    ) -> Result<Vec<Listing>, ImageError> {
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
            // It stops being an image at once, however long removing takes.
            let doomed = self.folder.join(format!("{UNFINISHED}{folder}-old"));
            fs::rename(&path, &doomed).map_err(io_error("rename", &path))?;
            fs::remove_dir_all(&doomed).map_err(io_error("remove", &doomed))?;
            for kind in ["log", "failed"] {
                remove_if_there(&self.folder.join(format!("{folder}.{kind}")))?;
            }
        }
        Ok(images)
    }

    fn build_locked(
        &self,
        recipe: &Recipe,
        downloads: &Downloads,
        report: &mut dyn FnMut(Progress),
    ) -> Result<(), ImageError> {
        self.sweep(recipe)?;
        let scratch = tempfile::Builder::new()
            .prefix(&format!("{UNFINISHED}{}-", recipe.folder()))
            // apt's own unprivileged user downloads in here.
            .permissions(Permissions::from_mode(0o755))
            .tempdir_in(&self.folder)
            .map_err(io_error("create a folder in", &self.folder))?;
        let log = self.beside(recipe, "log");
        let built =
            build::build(recipe, downloads, scratch.path(), &log, report)?;
        let image = self.folder.join(recipe.folder());
        fs::rename(built, &image).map_err(io_error("create", &image))?;
        // Makes the rename itself last.
        let sync = File::open(&self.folder).and_then(|dir| dir.sync_all());
        sync.map_err(io_error("write out", &self.folder))
    }

    /// Removes what interrupted builds left, and what the last one of
    /// `recipe` said. Only the holder of its lock may.
    fn sweep(&self, recipe: &Recipe) -> Result<(), ImageError> {
        let folder = recipe.folder();
        for name in self.entries()? {
            let builds = name
                .strip_prefix(UNFINISHED)
                .and_then(|rest| Some(rest.rsplit_once('-')?.0));
            // Held until the folder is gone.
            let mut lock = None;
            if let Some(other) = builds.filter(|builds| *builds != folder) {
                lock = Some(self.lock_file(other)?);
            }
            let is_free =
                lock.as_ref().is_none_or(|lock| lock.try_lock().is_ok());
            // An image without a manifest is none: someone has been at it.
            if name == folder || (builds.is_some() && is_free) {
                let path = self.folder.join(name);
                fs::remove_dir_all(&path).map_err(io_error("remove", &path))?;
            }
        }
        remove_if_there(&self.beside(recipe, "failed"))
    }

    fn entries(&self) -> Result<Vec<String>, ImageError> {
        let read = || {
            fs::read_dir(&self.folder)?
                .map(|entry| Ok(entry?.file_name().to_string_lossy().into()))
                .collect::<io::Result<Vec<String>>>()
        };
        read().map_err(io_error("list", &self.folder))
    }

    fn beside(&self, recipe: &Recipe, kind: &str) -> PathBuf {
        self.folder.join(format!("{}.{kind}", recipe.folder()))
    }

    fn lock_file(&self, folder: &str) -> Result<File, ImageError> {
        let path = self.folder.join(format!("{folder}.lock"));
        File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(io_error("open", &path))
    }

    /// The lock of the image's builder, waiting for one that holds it.
    fn lock(
        &self,
        recipe: &Recipe,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<BuildLock, ImageError> {
        let file = self.lock_file(&recipe.folder())?;
        let wait = |error| match error {
            TryLockError::WouldBlock => {
                progress(Progress::start(Stage::Waiting));
                file.lock()
            }
            TryLockError::Error(error) => Err(error),
        };
        file.try_lock()
            .or_else(wait)
            .map_err(io_error("lock", &self.beside(recipe, "lock")))?;
        Ok(BuildLock { file })
    }

    /// What the process that builds `recipe` says, where there is one.
    fn progress_of_builder(&self, recipe: &Recipe) -> Option<String> {
        let path = self.beside(recipe, "lock");
        let file = File::open(&path).ok()?;
        let Err(TryLockError::WouldBlock) = file.try_lock_shared() else {
            return None;
        };
        fs::read_to_string(path).ok()
    }
}

/// A build that was announced and has not begun.
#[derive(Debug)]
pub struct Queued<'a> {
    store: &'a Store,
    recipe: &'a Recipe,
    /// None where the image is there, or another process builds it.
    lock: Option<BuildLock>,
}

impl Queued<'_> {
    /// Builds the image unless it is there, and returns its root filesystem.
    /// When another process is building the same image, waits for its
    /// result. Takes minutes; runs on the calling thread.
    ///
    /// # Errors
    /// The build failed; the reason is also what [`Store::state`] tells until
    /// the next try.
    pub fn build(
        self,
        downloads: &Downloads,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<PathBuf, ImageError> {
        let Self { store, recipe, lock } = self;
        if let State::Ready { rootfs } = store.state(recipe) {
            return Ok(rootfs);
        }
        let mut lock = match lock {
            Some(lock) => lock,
            None => store.lock(recipe, progress)?,
        };
        if let State::Ready { rootfs } = store.state(recipe) {
            return Ok(rootfs);
        }
        let image = store.folder.join(recipe.folder());
        let mut report = |now: Progress| {
            lock.report(now);
            progress(now);
        };
        let result = store.build_locked(recipe, downloads, &mut report);
        let failed = store.beside(recipe, "failed");
        match result {
            Ok(()) => Ok(image.join("rootfs")),
            Err(error) => {
                // The lines of the log are not for whoever asks for a state.
                let text = error.to_string();
                let reason = text.lines().next().unwrap_or_default();
                fs::write(&failed, reason)
                    .map_err(io_error("write", &failed))?;
                Err(error)
            }
        }
    }
}

/// The right to build one image; ends with the process that holds it.
#[derive(Debug)]
struct BuildLock {
    file: File,
}

impl BuildLock {
    /// Lets other processes know. They may read a line that is half written,
    /// and a full disk is told by the build itself.
    fn report(&mut self, progress: Progress) {
        let text = progress.to_string();
        let _ = self.file.set_len(0);
        let _ = self.file.write_all_at(text.as_bytes(), 0);
        let _ = self.file.flush();
    }
}

fn remove_if_there(path: &Path) -> Result<(), ImageError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(io_error("remove", path)(error))
        }
        _ => Ok(()),
    }
}
