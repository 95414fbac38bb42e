//! A build in the store: announced, done once whoever asks for it, and put in
//! place when it is whole.

use std::fs::{self, File, Permissions, TryLockError};
use std::io::Write;
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};

use crate::build;
use crate::downloads::Downloads;
use crate::error::{ImageError, io_error};
use crate::progress::{Progress, Stage};
use crate::recipe::Recipe;
use crate::share::share;
use crate::store::{State, Store, UNFINISHED, remove_if_there};

/// Says whether programs run in a root filesystem that is not an image yet,
/// or why not.
pub type Check<'a> = dyn Fn(&Recipe, &Path) -> Result<(), String> + Sync + 'a;

/// How images are made.
#[expect(missing_debug_implementations, reason = "a check has no shape")]
pub struct Making<'a> {
    /// Where to take from what is downloaded.
    pub downloads: Downloads,
    /// What an image must pass before it is installed.
    pub check: &'a Check<'a>,
}

/// A build that was announced and has not begun.
#[derive(Debug)]
pub struct Queued<'a> {
    store: &'a Store,
    recipe: &'a Recipe,
    /// None where the image is there, or another process builds it.
    lock: Option<BuildLock>,
}

impl Store {
    /// Builds the image of `recipe`: [`Store::queue`] and [`Queued::build`] in
    /// one.
    ///
    /// # Errors
    /// Those of the two.
    pub fn build(
        &self,
        recipe: &Recipe,
        making: &Making<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<PathBuf, ImageError> {
        self.queue(recipe)?.build(making, progress)
    }

    /// Announces a build: from now on other processes are told that the image
    /// of `recipe` is being built. Who queues several must begin them in the
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
                lock.report(&Progress::start(Stage::Queued));
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

    /// Makes the image in a folder of its own with `make`, which returns the
    /// part of that folder that is the image, and puts it in place.
    fn install(
        &self,
        recipe: &Recipe,
        make: impl FnOnce(&Path) -> Result<PathBuf, ImageError>,
    ) -> Result<(), ImageError> {
        self.sweep(recipe)?;
        let scratch = tempfile::Builder::new()
            .prefix(&format!("{UNFINISHED}{}-", recipe.folder()))
            // apt's own unprivileged user downloads in here.
            .permissions(Permissions::from_mode(0o755))
            .tempdir_in(self.folder())
            .map_err(io_error("create a folder in", self.folder()))?;
        let made = make(scratch.path())?;
        share(&made.join("rootfs"), &self.root_filesystems()?);
        sync(&made).map_err(io_error("write out", &made))?;
        let image = self.folder().join(recipe.folder());
        fs::rename(made, &image).map_err(io_error("create", &image))?;
        // Makes the rename itself last.
        let sync = File::open(self.folder()).and_then(|dir| dir.sync_all());
        sync.map_err(io_error("write out", self.folder()))
    }

    /// Those of all images.
    fn root_filesystems(&self) -> Result<Vec<PathBuf>, ImageError> {
        let folders = self.entries()?.into_iter();
        let images = folders.filter(|name| !name.starts_with(UNFINISHED));
        let paths = images.map(|name| self.folder().join(name).join("rootfs"));
        Ok(paths.filter(|path| path.is_dir()).collect())
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
                let path = self.folder().join(name);
                fs::remove_dir_all(&path).map_err(io_error("remove", &path))?;
            }
        }
        remove_if_there(&self.beside(recipe, "failed"))
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
        making: &Making<'_>,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<PathBuf, ImageError> {
        let (store, recipe) = (self.store, self.recipe);
        let log = store.beside(recipe, "log");
        self.make(progress, |scratch, report| {
            let downloads = &making.downloads;
            let image = build::build(recipe, downloads, scratch, &log, report)?;
            report(Progress::start(Stage::Checking));
            checked(recipe, making.check, image)
        })
    }

    /// Makes the image with `make` unless it is there.
    pub(crate) fn make(
        self,
        progress: &mut dyn FnMut(Progress),
        make: impl FnOnce(
            &Path,
            &mut dyn FnMut(Progress),
        ) -> Result<PathBuf, ImageError>,
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
        let mut report = |now: Progress| {
            lock.report(&now);
            progress(now);
        };
        let made = store.install(recipe, |folder| make(folder, &mut report));
        let failed = store.beside(recipe, "failed");
        match made {
            Ok(()) => Ok(store.folder().join(recipe.folder()).join("rootfs")),
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

/// The image, when programs run in it.
pub(crate) fn checked(
    recipe: &Recipe,
    check: &Check<'_>,
    image: PathBuf,
) -> Result<PathBuf, ImageError> {
    match check(recipe, &image.join("rootfs")) {
        Ok(()) => Ok(image),
        Err(why) => {
            Err(ImageError::Check { image: recipe.name().to_owned(), why })
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
    fn report(&mut self, progress: &Progress) {
        let text = progress.to_string();
        let _ = self.file.set_len(0);
        let _ = self.file.write_all_at(text.as_bytes(), 0);
        let _ = self.file.flush();
    }
}

/// Waits until everything on the image's filesystem is on the disk: a rename
/// must not survive a power cut that its files do not.
fn sync(image: &Path) -> std::io::Result<()> {
    Ok(rustix::fs::syncfs(File::open(image)?)?)
}
