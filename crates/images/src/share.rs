//! Hard links between images. Images of one Debian release contain the same base
//! system; with links, equal files exist once on the disk and once in memory.

use std::fs::{self, File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use walkdir::WalkDir;

/// The number of bytes that are compared at once.
const CHUNK: usize = 64 << 10;

/// Replaces files of the new image at `root` by links to files of the images at
/// `others` that have the same path, contents, owner, mode and time. Errors are
/// ignored, since links only save space. Returns the number of saved bytes.
pub(crate) fn share(root: &Path, others: &[PathBuf]) -> u64 {
    let mut saved = 0;
    for entry in WalkDir::new(root).into_iter().filter_map(Result::ok) {
        if !entry.file_type().is_file() {
            continue;
        }
        let Ok(name) = entry.path().strip_prefix(root) else { continue };
        for other in others {
            let linked = link_equal(entry.path(), other, name);
            if let Ok(Some(bytes)) = linked {
                saved += bytes;
                break;
            }
        }
    }
    saved
}

/// Replaces `file` by a link to `name` in the folder `image` if they are equal.
/// Returns the saved bytes.
fn link_equal(
    file: &Path,
    image: &Path,
    name: &Path,
) -> io::Result<Option<u64>> {
    let other = &image.join(name);
    let (new, old) = (file.symlink_metadata()?, other.symlink_metadata()?);
    if is_same(&new, &old) {
        return Ok(Some(0));
    }
    let traits = |it: &Metadata| {
        (it.is_file(), it.dev(), it.len(), it.mode(), it.uid(), it.gid())
    };
    let is_alike = traits(&new) == traits(&old)
        && (new.mtime(), new.mtime_nsec()) == (old.mtime(), old.mtime_nsec());
    // From here, absolute symbolic links of the image would lead to the host.
    let is_inside = || {
        let mut folders = name.ancestors().skip(1);
        folders.all(|folder| !image.join(folder).is_symlink())
    };
    let may_be_equal = new.len() > 0 && is_alike && is_inside();
    if !may_be_equal || !have_equal_contents(file, other)? {
        return Ok(None);
    }
    let mut beside = file.as_os_str().to_owned();
    beside.push(".sandpiper-link");
    fs::hard_link(other, &beside)?;
    fs::rename(&beside, file)
        .or_else(|error| fs::remove_file(&beside).and(Err(error)))?;
    Ok(Some(new.blocks() * 512))
}

fn is_same(a: &Metadata, b: &Metadata) -> bool {
    (a.dev(), a.ino()) == (b.dev(), b.ino())
}

fn have_equal_contents(a: &Path, b: &Path) -> io::Result<bool> {
    let (mut a, mut b) = (File::open(a)?, File::open(b)?);
    let (mut left, mut right) = (vec![0; CHUNK], vec![0; CHUNK]);
    loop {
        let length = a.read(&mut left)?;
        if length == 0 {
            return Ok(b.read(&mut right)? == 0);
        }
        b.read_exact(&mut right[..length])?;
        if left[..length] != right[..length] {
            return Ok(false);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, SystemTime};

    use super::*;

    #[test]
    fn equal_files_become_one() {
        let folder = tempfile::tempdir().unwrap();
        let [old, new] = ["old", "new"].map(|name| folder.path().join(name));
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1);
        let put = |root: &Path, name: &str, text: &str, mode, time| {
            let path = root.join(name);
            fs::create_dir_all(root).unwrap();
            fs::write(&path, text).unwrap();
            File::open(&path).unwrap().set_modified(time).unwrap();
            fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
        };
        for root in [&old, &new] {
            put(root, "equal", "text", 0o644, time);
            put(root, "empty", "", 0o644, time);
        }
        put(&old, "text", "one", 0o644, time);
        put(&new, "text", "two", 0o644, time);
        put(&old, "mode", "text", 0o644, time);
        put(&new, "mode", "text", 0o755, time);
        put(&old, "time", "text", 0o644, time);
        put(&new, "time", "text", 0o644, time + Duration::from_secs(1));
        put(&new, "alone", "text", 0o644, time);

        let gone = folder.path().join("gone");
        assert!(share(&new, &[gone, old.clone()]) > 0);

        for name in ["equal", "empty", "text", "mode", "time"] {
            let one = old.join(name).metadata().unwrap();
            let other = new.join(name).metadata().unwrap();
            assert_eq!(is_same(&one, &other), name == "equal", "{name}");
        }
        assert_eq!(fs::read_to_string(new.join("text")).unwrap(), "two");
        assert_eq!(fs::read_dir(&new).unwrap().count(), 6, "nothing is left");
        assert_eq!(share(&new, &[old]), 0, "a second time");
    }
}
