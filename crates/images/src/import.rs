//! Images out of a file that [`Store::export`] wrote, each installed when its
//! checksum is right and programs run in it.

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::io::{self, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use zstd::stream::read::Decoder;

use crate::archive::{ArchiveName, Counted, SUMS};
use crate::error::{ImageError, io_error};
use crate::manifest::Manifest;
use crate::progress::{Progress, Stage};
use crate::queue::{Check, checked};
use crate::recipe::{Recipe, architecture};
use crate::store::Store;
use crate::unpack::unpack;

/// Longest list of checksums that is read.
const SUMS_BYTES: u64 = 1 << 20;

/// How much larger an archive may be when it is unpacked: an image takes three
/// to four times its archive. A small one may always take this many bytes.
const UNPACKED_TIMES: u64 = 100;
const UNPACKED_BYTES: u64 = 64 << 20;

/// What is known of one image while a file is imported.
#[derive(Debug)]
pub enum Imported {
    /// It is being unpacked, or checked.
    Underway(Progress),
    /// It is there: now, or since before.
    Installed(PathBuf),
    /// It was not installed; the others are.
    Refused(ImageError),
}

impl Store {
    /// Installs the images of `input` whose recipes are among `recipes`. What
    /// is there already is left alone, so an import can be repeated.
    ///
    /// # Errors
    /// The file is no export, or ends early. Images before that are installed.
    pub fn import(
        &self,
        recipes: &[Recipe],
        check: &Check<'_>,
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
                Err(error) => report(&image, Imported::Refused(error)),
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

/// What one archive of the file is imported with.
struct Import<'a> {
    store: &'a Store,
    recipes: &'a [Recipe],
    check: &'a Check<'a>,
    name: &'a str,
}

impl Import<'_> {
    /// The image's name, and what came of it.
    fn one(
        &self,
        content: &mut impl Read,
        size: u64,
        sum: Option<String>,
        report: &mut dyn FnMut(&str, Progress),
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

    /// The recipe that the archive was built from.
    fn recipe(&self, name: &ArchiveName) -> Result<&Recipe, String> {
        let ArchiveName { image, hash, architecture: of } = name;
        if of != architecture() {
            return Err(format!(
                "it was built for {of} machines, and this is {}",
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

    /// Unpacks the archive into `scratch` and returns the image in there, when
    /// its checksum is right and programs run in it.
    fn unpacked(
        &self,
        recipe: &Recipe,
        content: &mut impl Read,
        (size, sum): (u64, &str),
        scratch: &Path,
        report: &mut dyn FnMut(Progress),
    ) -> Result<PathBuf, ImageError> {
        let image = scratch.join("image");
        // Root's server reads it as another user, whatever root's umask is.
        fs::create_dir(&image)
            .and_then(|()| {
                fs::set_permissions(&image, Permissions::from_mode(0o755))
            })
            .map_err(io_error("create", &image))?;
        let mut done = |bytes| {
            report(Progress::part(Stage::Unpacking, bytes, size));
        };
        let mut counted = Counted::new(content, &mut done);
        let most = UNPACKED_BYTES.max(size.saturating_mul(UNPACKED_TIMES));
        let unpacked = Decoder::new(&mut counted)
            .and_then(|archive| unpack(Bounded { archive, most }, &image));
        // To its end, also where it could not be unpacked: damage explains it.
        let rest = io::copy(&mut counted, &mut io::sink());
        let damaged = |why: &str| {
            ImageError::Archive(format!("its archive is damaged: {why}"))
        };
        rest.map_err(|error| damaged(&error.to_string()))?;
        if counted.sum() != sum {
            return Err(damaged("its checksum is another one"));
        }
        unpacked.map_err(|error| ImageError::Archive(error.to_string()))?;
        let manifest = Manifest::load(&image)?;
        if (manifest.name, manifest.hash)
            != (recipe.name.clone(), recipe.hash.clone())
        {
            return Err(damaged("its manifest is another image's"));
        }
        report(Progress::start(Stage::Checking));
        checked(recipe, self.check, image)
    }
}

/// An archive that must not fill the disk: it is checked when it is unpacked.
struct Bounded<T> {
    archive: T,
    /// Bytes that may still come.
    most: u64,
}

impl<T: Read> Read for Bounded<T> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.archive.read(buffer)?;
        let left = self.most.checked_sub(length as u64);
        self.most = left.ok_or_else(|| {
            io::Error::other("it unpacks to more than a hundred times its size")
        })?;
        Ok(length)
    }
}

fn read_text(input: &mut impl Read) -> io::Result<String> {
    let mut text = String::new();
    input.take(SUMS_BYTES).read_to_string(&mut text)?;
    Ok(text)
}

/// Checksums by the names of files.
fn parse_sums(text: &str) -> BTreeMap<String, String> {
    let lines = text.lines().filter_map(|line| line.split_once("  "));
    lines.map(|(sum, name)| (name.to_owned(), sum.to_owned())).collect()
}
