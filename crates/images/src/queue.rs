//! Builds in the store. A build is announced, runs once even if several processes
//! ask for it, and is installed when it is complete.

use std::fs::{self, File, Permissions, TryLockError};
use std::io::Write;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::build;
use crate::downloads::Downloads;
use crate::error::{ImageError, io_error};
use crate::progress::{ImageProgress, Phase};
use crate::recipe::Recipe;
use crate::share::share;
use crate::store::{BuildState, ImageStore, UNFINISHED, remove_if_there};

/// Checks whether sample programs run in an unfinished root filesystem, or
/// returns why not.
pub type ImageCheck<'a> =
    dyn Fn(&Recipe, &Path) -> Result<(), String> + Sync + 'a;

/// The options of a build.
#[expect(missing_debug_implementations, reason = "a check is a function")]
pub struct BuildOptions<'a> {
    /// The sources of downloads.
    pub downloads: Downloads,
    /// The check that an image must pass before it is installed.
    pub check: &'a ImageCheck<'a>,
}

/// A build that was announced but has not begun.
#[derive(Debug)]
pub struct Queued<'a> {
    store: &'a ImageStore,
    recipe: &'a Recipe,
    /// `None` if the image is complete, or another process builds it.
    lock: Option<BuildLock>,
}

impl ImageStore {
    /// Announces a build: from now on other processes see that the image of
    /// `recipe` is being built. If a process queues several builds, it must
    /// begin them in the order of their names; otherwise two such processes
    /// could wait for each other.
    ///
    /// # Errors
    /// The store cannot be written.
    pub fn queue<'a>(
        &'a self,
        recipe: &'a Recipe,
    ) -> Result<Queued<'a>, ImageError> {
        let mut queued = Queued { store: self, recipe, lock: None };
        if matches!(self.state(recipe), BuildState::Ready { .. }) {
            return Ok(queued);
        }
        let file = self.lock_file(&recipe.folder())?;
        match file.try_lock() {
            Ok(()) => {
                let mut lock = BuildLock { file };
                lock.report(&ImageProgress::start(Phase::Queued));
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

    /// Creates a scratch folder, lets `make` build the image in it, and installs
    /// the folder that `make` returns.
    fn install(
        &self,
        recipe: &Recipe,
        make: impl FnOnce(&Path) -> Result<PathBuf, ImageError>,
    ) -> Result<(), ImageError> {
        let scratch = self.scratch(recipe)?;
        let made = make(scratch.path())?;
        share(&made.join("rootfs"), &self.root_filesystems()?);
        sync(&made).map_err(io_error("write out", &made))?;
        let image = self.folder().join(recipe.folder());
        fs::rename(made, &image).map_err(io_error("create", &image))?;
        // The rename itself must survive a power cut, too.
        let sync = File::open(self.folder()).and_then(|dir| dir.sync_all());
        sync.map_err(io_error("write out", self.folder()))
    }

    /// Creates the folder for a build of `recipe`, whose lock the caller holds.
    pub(crate) fn scratch(
        &self,
        recipe: &Recipe,
    ) -> Result<TempDir, ImageError> {
        self.sweep(recipe)?;
        tempfile::Builder::new()
            .prefix(&format!("{UNFINISHED}{}-", recipe.folder()))
            // The unprivileged user of apt downloads into this folder.
            .permissions(Permissions::from_mode(0o755))
            .tempdir_in(self.folder())
            .map_err(io_error("create a folder in", self.folder()))
    }

    /// Returns the root filesystems of all images.
    fn root_filesystems(&self) -> Result<Vec<PathBuf>, ImageError> {
        let folders = self.entries()?.into_iter();
        let images = folders.filter(|name| !name.starts_with(UNFINISHED));
        let paths = images.map(|name| self.folder().join(name).join("rootfs"));
        Ok(paths.filter(|path| path.is_dir()).collect())
    }

    /// Removes the folders of interrupted builds, and the output of the last build
    /// of `recipe`. The caller must hold the lock of `recipe`.
    fn sweep(&self, recipe: &Recipe) -> Result<(), ImageError> {
        let folder = recipe.folder();
        for name in self.entries()? {
            let builds = name
                .strip_prefix(UNFINISHED)
                .and_then(|rest| Some(rest.rsplit_once('-')?.0));
            let path = self.folder().join(&name);
            // A folder without a manifest is no image, whatever removed it.
            if name == folder {
                fs::remove_dir_all(&path).map_err(io_error("remove", &path))?;
            }
            let Some(other) = builds else { continue };
            // Held until the folder is removed.
            let mut lock = None;
            if other != folder {
                let Ok(file) = self.lock_file(other) else { continue };
                lock = Some(file);
            }
            if lock.as_ref().is_none_or(|lock| lock.try_lock().is_ok()) {
                // Root may have left it in the folder of another user, whose builds
                // go on beside it. The next one of root's removes it.
                let _ = fs::remove_dir_all(&path);
            }
        }
        for output in ["failed", "log"] {
            remove_if_there(&self.beside(recipe, output))?;
        }
        Ok(())
    }

    /// Returns the lock of the image's build. Waits while another process holds
    /// it.
    pub(crate) fn lock(
        &self,
        recipe: &Recipe,
        progress: &mut dyn FnMut(ImageProgress),
    ) -> Result<BuildLock, ImageError> {
        let file = self.lock_file(&recipe.folder())?;
        let wait = |error| match error {
            TryLockError::WouldBlock => {
                progress(ImageProgress::start(Phase::Waiting));
                file.lock()
            }
            TryLockError::Error(error) => Err(error),
        };
        file.try_lock()
            .or_else(wait)
            .map_err(io_error("lock", &self.beside(recipe, "lock")))?;
        Ok(BuildLock { file })
    }
}

impl Queued<'_> {
    /// Builds the image unless it exists, and returns its root filesystem. If
    /// another process is building the same image, waits for its result. Takes
    /// minutes, and blocks the calling thread.
    ///
    /// # Errors
    /// The build failed. [`Store::state`] returns the reason until the next
    /// attempt.
    pub fn build(
        self,
        options: &BuildOptions<'_>,
        progress: &mut dyn FnMut(ImageProgress),
    ) -> Result<PathBuf, ImageError> {
        let (store, recipe) = (self.store, self.recipe);
        let log = store.beside(recipe, "log");
        self.make(progress, |scratch, report| {
            let downloads = &options.downloads;
            let image = build::build(recipe, downloads, scratch, &log, report)?;
            report(ImageProgress::start(Phase::Checking));
            checked(recipe, options.check, image)
        })
    }

    /// Builds the image with `make` unless it exists.
    pub(crate) fn make(
        self,
        progress: &mut dyn FnMut(ImageProgress),
        make: impl FnOnce(
            &Path,
            &mut dyn FnMut(ImageProgress),
        ) -> Result<PathBuf, ImageError>,
    ) -> Result<PathBuf, ImageError> {
        let Self { store, recipe, lock } = self;
        if let BuildState::Ready { rootfs } = store.state(recipe) {
            return Ok(rootfs);
        }
        let mut lock = match lock {
            Some(lock) => lock,
            None => store.lock(recipe, progress)?,
        };
        if let BuildState::Ready { rootfs } = store.state(recipe) {
            return Ok(rootfs);
        }
        let mut report = |now: ImageProgress| {
            lock.report(&now);
            progress(now);
        };
        let made = store.install(recipe, |folder| make(folder, &mut report));
        let failed = store.beside(recipe, "failed");
        match made {
            Ok(()) => Ok(store.folder().join(recipe.folder()).join("rootfs")),
            Err(error) => {
                // Only the first line: the others are lines of the log.
                let text = error.to_string();
                let reason = text.lines().next().unwrap_or_default();
                fs::write(&failed, reason)
                    .map_err(io_error("write", &failed))?;
                Err(error)
            }
        }
    }
}

/// Returns the image if it passes the check.
pub(crate) fn checked(
    recipe: &Recipe,
    check: &ImageCheck<'_>,
    image: PathBuf,
) -> Result<PathBuf, ImageError> {
    match check(recipe, &image.join("rootfs")) {
        Ok(()) => Ok(image),
        Err(why) => {
            Err(ImageError::Check { image: recipe.name().to_owned(), why })
        }
    }
}

/// The right to build one image. The kernel releases it with the process.
#[derive(Debug)]
pub(crate) struct BuildLock {
    file: File,
}

impl BuildLock {
    /// Writes the progress for other processes. They may read a line that is
    /// only partly written. Errors are ignored: if the disk is full, the build
    /// itself fails.
    fn report(&mut self, progress: &ImageProgress) {
        let text = progress.to_string();
        let _ = self.file.set_len(0);
        let _ = self.file.write_all_at(text.as_bytes(), 0);
        let _ = self.file.flush();
    }
}

/// Waits until the image's filesystem is written to the disk. Otherwise, after a
/// power cut, the renamed folder could exist without its files.
fn sync(image: &Path) -> std::io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(image)?)?)
}
