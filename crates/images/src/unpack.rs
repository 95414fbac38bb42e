//! Unpacks the archive of one image. The archive is not trusted: nothing is
//! written outside the folder, whatever its entries say, and entries that no
//! image has are refused.

use std::fs::{File, Permissions};
use std::io::{self, Read};
use std::os::fd::OwnedFd;
use std::os::unix::fs::PermissionsExt;
use std::path::{Component, Path, PathBuf};

use rustix::fs::{AtFlags, Mode, OFlags, Timespec, Timestamps};
use tar::{Entry, EntryType};

use crate::inside::BENEATH;
use crate::manifest::Manifest;
use crate::rootfs::{MOUNT_POINTS, image_mode};

/// The longest manifest that is read, in bytes. It lists some hundred packages.
const MAX_MANIFEST_BYTES: u64 = 1 << 20;

/// Unpacks `archive` into the empty folder `image`.
///
/// # Errors
/// The archive is damaged or has an entry that no image has, or a file cannot be
/// written.
pub(crate) fn unpack(archive: impl Read, image: &Path) -> io::Result<()> {
    let folder = rustix::fs::open(image, OFlags::DIRECTORY, Mode::empty())?;
    for entry in tar::Archive::new(archive).entries()? {
        let mut entry = entry?;
        let path = entry.path()?.into_owned();
        unpack_entry(&folder, &mut entry, &path).map_err(|error| {
            let text = format!("{}: {error}", path.display());
            io::Error::new(error.kind(), text)
        })?;
    }
    for point in MOUNT_POINTS {
        // The sandbox mounts on these folders: a link would redirect a mount.
        let path = Path::new("rootfs").join(point);
        open_folder(&folder, &path).map_err(|_| {
            refused(&format!("it has no folder {}", path.display()))
        })?;
    }
    Ok(())
}

fn unpack_entry(
    image: &OwnedFd,
    entry: &mut Entry<'_, impl Read>,
    path: &Path,
) -> io::Result<()> {
    let path = checked(path)?;
    let kind = entry.header().entry_type();
    if path == Path::new(Manifest::FILE)
        && (kind != EntryType::Regular || entry.size() > MAX_MANIFEST_BYTES)
    {
        // The manifest is read outside of boxes.
        return Err(refused("it is no file, or too long"));
    }
    let (parent, name) = parent_of(image, &path)?;
    let mode = entry.header().mode()?;
    if mode & 0o6000 != 0 {
        return Err(refused("it has a set-id bit"));
    }
    match kind {
        EntryType::Directory => {
            rustix::fs::mkdirat(&parent, &name, Mode::RWXU)?;
            let folder = open_folder(&parent, &name)?;
            let mode = Mode::from_raw_mode(image_mode(mode, true));
            Ok(rustix::fs::fchmod(folder, mode)?)
        }
        EntryType::Regular => {
            let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY;
            let file = rustix::fs::openat(&parent, &name, flags, Mode::RUSR)?;
            let mut file = File::from(file);
            io::copy(entry, &mut file)?;
            let mode = image_mode(mode, false);
            file.set_permissions(Permissions::from_mode(mode))?;
            // Caches of compiled code record the modification time of the source.
            let time = Timespec {
                tv_sec: entry.header().mtime()?.cast_signed(),
                tv_nsec: 0,
            };
            let times =
                Timestamps { last_access: time, last_modification: time };
            Ok(rustix::fs::futimens(file, &times)?)
        }
        // Absolute links refer to the image's root when a program runs.
        EntryType::Symlink => {
            let target = link_name(entry)?;
            Ok(rustix::fs::symlinkat(&target, &parent, &name)?)
        }
        EntryType::Link => {
            let target = checked(&link_name(entry)?)?;
            let (folder, file) = parent_of(image, &target)?;
            let flags = AtFlags::empty();
            Ok(rustix::fs::linkat(&folder, &file, &parent, &name, flags)?)
        }
        _ => Err(refused("it is neither a file, a folder nor a link")),
    }
}

/// Checks that a path is the manifest or inside the root filesystem.
fn checked(path: &Path) -> io::Result<PathBuf> {
    let is_plain = path
        .components()
        .all(|component| matches!(component, Component::Normal(_)));
    if !is_plain {
        return Err(refused("it leaves its folder"));
    }
    if path != Path::new(Manifest::FILE) && !path.starts_with("rootfs") {
        return Err(refused("it is no part of an image"));
    }
    Ok(path.components().collect())
}

/// Opens the folder that contains `path`, without following links. Returns it
/// and the last part of the path.
fn parent_of(image: &OwnedFd, path: &Path) -> io::Result<(OwnedFd, PathBuf)> {
    let name = path.file_name().ok_or_else(|| refused("it has no name"))?;
    let parent = path.parent().filter(|path| path != &Path::new(""));
    let parent = open_folder(image, parent.unwrap_or(Path::new(".")))?;
    Ok((parent, name.into()))
}

fn open_folder(below: &OwnedFd, path: &Path) -> io::Result<OwnedFd> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    Ok(rustix::fs::openat2(below, path, flags, Mode::empty(), BENEATH)?)
}

fn link_name(entry: &Entry<'_, impl Read>) -> io::Result<PathBuf> {
    let target = entry.link_name()?;
    Ok(target.ok_or_else(|| refused("it links to nothing"))?.into_owned())
}

fn refused(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, why)
}
