//! Opens files inside an image from outside of boxes. The author of an image
//! decides what is in it, and must get no other file of the host by that.

use std::fs::File;
use std::io;
use std::path::Path;

use rustix::fs::{Mode, OFlags, ResolveFlags};

/// Opens a path below an open folder, without following links.
pub(crate) const BENEATH: ResolveFlags =
    ResolveFlags::BENEATH.union(ResolveFlags::NO_SYMLINKS);

/// Opens a regular file by its absolute path in the root filesystem at
/// `rootfs`, to be read.
///
/// # Errors
/// There is no such file, there is a link on the way, or it is no regular
/// file.
pub fn open_file(rootfs: &Path, path: &str) -> io::Result<File> {
    let flags = OFlags::DIRECTORY | OFlags::CLOEXEC;
    let root = rustix::fs::open(rootfs, flags, Mode::empty())?;
    let path = path.trim_start_matches('/');
    // A pipe must not make the caller wait.
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = rustix::fs::openat2(root, path, flags, Mode::empty(), BENEATH)?;
    let file = File::from(file);
    if file.metadata()?.is_file() {
        Ok(file)
    } else {
        let why = "it is no regular file";
        Err(io::Error::new(io::ErrorKind::InvalidData, why))
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::io::Read;
    use std::os::unix::fs::symlink;
    use std::os::unix::net::UnixListener;

    use super::*;

    #[test]
    fn no_path_leads_out_of_an_image() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("rootfs");
        fs::create_dir_all(root.join("opt/own")).unwrap();
        fs::write(folder.path().join("secret"), "of the host").unwrap();
        fs::write(root.join("opt/own/a.js"), "a").unwrap();
        symlink("../../../secret", root.join("opt/own/up")).unwrap();
        symlink(folder.path().join("secret"), root.join("opt/far")).unwrap();
        symlink("own/a.js", root.join("opt/near")).unwrap();
        symlink("/opt/own", root.join("opt/folder")).unwrap();
        symlink("/proc/self/fd/0", root.join("opt/magic")).unwrap();
        UnixListener::bind(root.join("opt/socket")).unwrap();
        let check = |path: &str, expected: Option<&str>| {
            let found = open_file(&root, path).ok().map(|mut file| {
                let mut text = String::new();
                file.read_to_string(&mut text).unwrap();
                text
            });
            assert_eq!(found.as_deref(), expected, "{path}");
        };
        check("/opt/own/a.js", Some("a"));
        for path in [
            "/opt/own/b.js",
            "/opt/own/up",
            "/opt/far",
            "/opt/near",
            "/opt/folder/a.js",
            "/opt/magic",
            "/../secret",
            "/opt/../../secret",
            "/opt/own",
            "/opt/socket",
            "/",
            "",
        ] {
            check(path, None);
        }
        assert!(open_file(&folder.path().join("none"), "/a").is_err());
    }
}
