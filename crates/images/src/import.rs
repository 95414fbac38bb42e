//! Installs images from a file that [`Store::export`] wrote, if their checksums
//! are right and their sample programs run.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use zstd::stream::read::Decoder;

use crate::archive::{ArchiveName, Hashing, SUMS};
use crate::error::{ImageError, io_error};
use crate::manifest::Manifest;
use crate::progress::{ImageProgress, Phase};
use crate::queue::{ImageCheck, checked};
use crate::recipe::{Recipe, architecture};
use crate::store::ImageStore;
use crate::unpack::unpack;

/// The longest list of checksums that is read, in bytes.
const MAX_SUMS_BYTES: u64 = 1 << 20;

/// The unpacked size of an archive may be this many times its packed size; that
/// of an image is three to four times.
const MAX_EXPANSION: u64 = 100;
/// An archive of any size may unpack to this many bytes.
const MIN_UNPACKED_BYTES: u64 = 64 << 20;

/// A report on one image while a file is imported.
#[derive(Debug)]
pub enum Imported {
    /// It is being unpacked or checked.
    Underway(ImageProgress),
    /// It is installed, by this import or before.
    Installed(PathBuf),
    /// It was not installed. The import continues with the others.
    Failed(ImageError),
}

impl ImageStore {
    /// Installs the images of `input` whose recipes are among `recipes`. Images
    /// that are already installed are skipped, so an import can be repeated.
    ///
    /// # Errors
    /// The file is no export, or ends early. The images before that point are
    /// installed.
    pub fn import(
        &self,
        recipes: &[Recipe],
        check: &ImageCheck<'_>,
        input: impl Read,
        report: &mut dyn FnMut(&str, Imported),
    ) -> Result<(), ImageError> {
        let unreadable = |error: io::Error| {
            ImageError::Archive(format!("the file cannot be read: {error}"))
        };
        let mut archive = tar::Archive::new(input);
        let mut sums = None;
        for entry in archive.entries().map_err(unreadable)? {
            let mut entry = entry.map_err(unreadable)?;
            let name = entry.path().map_err(unreadable)?;
            let name = name.to_string_lossy().into_owned();
            let Some(sums) = &mut sums else {
                let text = (name == SUMS).then(|| read_text(&mut entry));
                let text = text.ok_or_else(|| {
                    ImageError::Archive(format!("it has no {SUMS} in front"))
                })?;
                sums = Some(parse_sums(&text.map_err(unreadable)?));
                continue;
            };
            let size = entry.size();
            let import = Import { store: self, recipes, check, name: &name };
            let mut progress =
                |image: &str, now| report(image, Imported::Underway(now));
            let sum = sums.remove(&name);
            let (image, end) = import.one(&mut entry, size, sum, &mut progress);
            match end {
                Ok(rootfs) => report(&image, Imported::Installed(rootfs)),
                Err(error) => report(&image, Imported::Failed(error)),
            }
            io::copy(&mut entry, &mut io::sink()).map_err(unreadable)?;
        }
        match sums {
            None => Err(ImageError::Archive("it is empty".to_owned())),
            Some(left) if !left.is_empty() => {
                let names: Vec<&str> =
                    left.keys().map(String::as_str).collect();
                let names = names.join(", ");
                Err(ImageError::Archive(format!("it ends before {names}")))
            }
            Some(_) => Ok(()),
        }
    }
}

/// The import of one archive of the file.
struct Import<'a> {
    store: &'a ImageStore,
    recipes: &'a [Recipe],
    check: &'a ImageCheck<'a>,
    name: &'a str,
}

impl Import<'_> {
    /// Returns the image's name, and its root filesystem or why it was refused.
    fn one(
        &self,
        content: &mut impl Read,
        size: u64,
        sum: Option<String>,
        report: &mut dyn FnMut(&str, ImageProgress),
    ) -> (String, Result<PathBuf, ImageError>) {
        let refused = |why: String| Err(ImageError::Archive(why));
        let Some(name) = ArchiveName::parse(self.name) else {
            let why = "it is no archive of an image".to_owned();
            return (self.name.to_owned(), refused(why));
        };
        let image = name.image.clone();
        let Some(sum) = sum else {
            return (image, refused(format!("{SUMS} does not name it")));
        };
        let recipe = match self.recipe(&name) {
            Ok(recipe) => recipe,
            Err(why) => return (image, refused(why)),
        };
        let mut progress = |now| report(&name.image, now);
        let installed = self.store.queue(recipe).and_then(|queued| {
            queued.make(&mut progress, |scratch, report| {
                self.unpacked(recipe, content, (size, &sum), scratch, report)
            })
        });
        (image, installed)
    }

    /// Returns the recipe that the archive was built from.
    fn recipe(&self, name: &ArchiveName) -> Result<&Recipe, String> {
        let ArchiveName { image, hash, architecture: of } = name;
        if of != architecture() {
            return Err(format!(
                "it was built for {of} machines, but this is {}",
                architecture()
            ));
        }
        let mut named = self.recipes.iter().filter(|it| it.name == *image);
        let found = named.clone().find(|recipe| recipe.hash == *hash);
        found.ok_or_else(|| match named.next() {
            Some(recipe) => format!(
                "it was built from another recipe ({hash}, this version of \
                 sandpiper needs {})",
                recipe.hash
            ),
            None => "there is no recipe of this name".to_owned(),
        })
    }

    /// Unpacks the archive into `scratch`, checks it, and returns the image's
    /// folder in there.
    fn unpacked(
        &self,
        recipe: &Recipe,
        content: &mut impl Read,
        (size, sum): (u64, &str),
        scratch: &Path,
        report: &mut dyn FnMut(ImageProgress),
    ) -> Result<PathBuf, ImageError> {
        let image = scratch.join("image");
        // A server that root started reads it as another user, so root's umask
        // must not matter.
        fs::create_dir(&image)
            .and_then(|()| {
                fs::set_permissions(&image, Permissions::from_mode(0o755))
            })
            .map_err(io_error("create", &image))?;
        let mut done = |bytes| {
            report(ImageProgress::part(Phase::Unpacking, bytes, size));
        };
        let mut hashing = Hashing::new(content, &mut done);
        let max = MIN_UNPACKED_BYTES.max(size.saturating_mul(MAX_EXPANSION));
        let unpacked = Decoder::new(&mut hashing)
            .and_then(|archive| unpack(Bounded { archive, left: max }, &image));
        // The rest is read even if unpacking failed: a wrong checksum would
        // explain that.
        let rest = io::copy(&mut hashing, &mut io::sink());
        let damaged = |why: &str| {
            ImageError::Archive(format!("its archive is damaged: {why}"))
        };
        rest.map_err(|error| damaged(&error.to_string()))?;
        if hashing.sum() != sum {
            return Err(damaged("its checksum does not match"));
        }
        unpacked.map_err(|error| ImageError::Archive(error.to_string()))?;
        let manifest = Manifest::load(&image)?;
        if (manifest.name, manifest.hash)
            != (recipe.name.clone(), recipe.hash.clone())
        {
            return Err(damaged("its manifest belongs to another image"));
        }
        report(ImageProgress::start(Phase::Checking));
        checked(recipe, self.check, image)
    }
}

/// A reader that fails after a number of bytes: the archive's checksum is known
/// only when it is unpacked, and it must not fill the disk before that.
struct Bounded<T> {
    archive: T,
    /// The number of bytes that may still be read.
    left: u64,
}

impl<T: Read> Read for Bounded<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.archive.read(buffer)?;
        let left = self.left.checked_sub(length as u64);
        self.left = left.ok_or_else(|| {
            io::Error::other("it unpacks to more than a hundred times its size")
        })?;
        Ok(length)
    }
}

fn read_text(input: &mut impl Read) -> io::Result<String> {
    let mut text = String::new();
    input.take(MAX_SUMS_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

/// Returns the checksums by file name.
fn parse_sums(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().filter_map(|line| line.split_once("  "));
    lines.map(|(sum, name)| (name.to_owned(), sum.to_owned())).collect()
}
