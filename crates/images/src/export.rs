//! Writes images to one file: a tar archive of checksums and one compressed
//! archive for each image. `tar` and `sha256sum --check` can read it.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io::{self, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use tar::{EntryType, Header};
use walkdir::WalkDir;
use zstd::stream::write::Encoder;

use crate::archive::{ArchiveName, Hashing, SUMS};
use crate::error::{ImageError, io_error};
use crate::manifest::Manifest;
use crate::progress::{ImageProgress, Phase};
use crate::recipe::Recipe;
use crate::store::ImageStore;

/// The default of zstd: as small as gzip, in a fifth of the time.
const LEVEL: i32 = 3;

impl ImageStore {
    /// Writes the images of `recipes` to `output`. Each is first compressed into
    /// an unnamed file of the store, since checksums and sizes come before the
    /// contents.
    ///
    /// # Errors
    /// An image is not built, or a file cannot be read or written.
    pub fn export(
        &self,
        recipes: &[Recipe],
        output: &mut dyn Write,
        progress: &mut dyn FnMut(&str, ImageProgress),
    ) -> Result<(), ImageError> {
        let mut archives = Vec::new();
        let mut sums = String::new();
        for recipe in recipes {
            let name = ArchiveName::of(recipe).to_string();
            let mut report = |now| progress(&recipe.name, now);
            let (file, sum) = self.pack(recipe, &mut report)?;
            sums += &format!("{sum}  {name}\n");
            archives.push((name, file));
        }
        let write = || {
            let mut tar = tar::Builder::new(output);
            add(&mut tar, SUMS, sums.len() as u64, sums.as_bytes())?;
            for (name, mut file) in archives {
                file.rewind()?;
                let size = file.metadata()?.len();
                add(&mut tar, &name, size, file)?;
            }
            tar.into_inner()?.flush()
        };
        write().map_err(io_error("write", Path::new("the export")))
    }

    /// Returns an image, compressed, and its checksum.
    fn pack(
        &self,
        recipe: &Recipe,
        report: &mut dyn FnMut(ImageProgress),
    ) -> Result<(File, String), ImageError> {
        let image = self.folder().join(recipe.folder());
        if !image.join(Manifest::FILE).exists() {
            return Err(ImageError::Unknown(recipe.name.clone()));
        }
        let total = Manifest::load(&image)?.bytes;
        let mut packed = || {
            let mut file = tempfile::tempfile_in(self.folder())?;
            let mut ignore = |_| {};
            let hashing = Hashing::new(&mut file, &mut ignore);
            let mut tar = tar::Builder::new(Encoder::new(hashing, LEVEL)?);
            tar.sparse(false);
            let mut walk = Walk::new(&image, total, report);
            walk.append_all(&mut tar)?;
            let sum = tar.into_inner()?.finish()?.sum();
            Ok((file, sum))
        };
        packed().map_err(io_error("pack", &image))
    }
}

/// Adds a file without an owner.
fn add(
    tar: &mut tar::Builder<impl Write>,
    name: &str,
    size: u64,
    content: impl io::Read,
) -> io::Result<()> {
    let mut header = Header::new_gnu();
    header.set_size(size);
    header.set_mode(0o644);
    tar.append_data(&mut header, name, content)
}

/// Adds the files of an image to a tar archive, sorted by name, so that the
/// result is the same everywhere.
struct Walk<'a> {
    image: &'a Path,
    /// The first name of each file with several links, by inode number.
    linked: HashMap<u64, PathBuf>,
    done: u64,
    total: u64,
    report: &'a mut dyn FnMut(ImageProgress),
}

impl<'a> Walk<'a> {
    fn new(
        image: &'a Path,
        total: u64,
        report: &'a mut dyn FnMut(ImageProgress),
    ) -> Self {
        Self { image, linked: HashMap::new(), done: 0, total, report }
    }

    fn append_all(
        &mut self,
        tar: &mut tar::Builder<impl Write>,
    ) -> io::Result<()> {
        let walk = WalkDir::new(self.image).min_depth(1).sort_by_file_name();
        for entry in walk {
            self.append(tar, entry?.path())?;
        }
        Ok(())
    }

    /// Adds a file. Its owner is left out: in an image that is always root.
    fn append(
        &mut self,
        tar: &mut tar::Builder<impl Write>,
        path: &Path,
    ) -> io::Result<()> {
        let name = path.strip_prefix(self.image).unwrap_or(path);
        let metadata = path.symlink_metadata()?;
        let mut header = Header::new_gnu();
        header.set_mode(metadata.mode() & 0o777);
        header.set_mtime(metadata.mtime().unsigned_abs());
        header.set_size(0);
        if metadata.is_dir() {
            header.set_entry_type(EntryType::Directory);
            return tar.append_data(&mut header, name, io::empty());
        }
        if metadata.is_symlink() {
            header.set_entry_type(EntryType::Symlink);
            return tar.append_link(&mut header, name, fs::read_link(path)?);
        }
        if metadata.nlink() > 1 {
            if let Some(first) = self.linked.get(&metadata.ino()) {
                header.set_entry_type(EntryType::Link);
                return tar.append_link(&mut header, name, first);
            }
            self.linked.insert(metadata.ino(), name.to_owned());
        }
        header.set_size(metadata.len());
        tar.append_data(&mut header, name, File::open(path)?)?;
        self.done += metadata.blocks() * 512;
        (self.report)(ImageProgress::part(
            Phase::Packing,
            self.done,
            self.total,
        ));
        Ok(())
    }
}
