//! The last step on a root filesystem: removes traces of the host, creates mount
//! points, and sets the modes of a read-only image.

use std::collections::HashSet;
use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::Path;

use walkdir::WalkDir;

use crate::error::{ImageError, io_error};

/// The folders that the sandbox mounts on.
pub(crate) const MOUNT_POINTS: &[&str] =
    &["dev", "proc", "tmp", "box", "artifacts", "opt/sandpiper"];

/// Files that come from the host or the build, or that no program needs. A folder
/// with a `/` at its end is emptied but kept.
const REMOVED: &[&str] = &[
    "build",
    "etc/.pwd.lock",
    "etc/apt/apt.conf.d/99mmdebstrap",
    "etc/apt/sources.list",
    "etc/apt/sources.list.d/",
    "etc/dpkg/dpkg.cfg.d/99mmdebstrap",
    "etc/group-",
    "etc/gshadow",
    "etc/gshadow-",
    "etc/hostname",
    "etc/machine-id",
    "etc/passwd-",
    "etc/resolv.conf",
    "etc/shadow",
    "etc/shadow-",
    "etc/subgid-",
    "etc/subuid-",
    "dev/",
    "proc/",
    "root/",
    "run/",
    "sys/",
    "tmp/",
    "var/cache/apt/",
    "var/cache/debconf/",
    "var/cache/ldconfig/",
    "var/lib/apt/lists/",
    "var/log/",
    "var/tmp/",
];

/// Files that are the same in every image. They give programs an ordinary user
/// with a home.
const WRITTEN: &[(&str, &str)] = &[
    (
        "etc/passwd",
        "root:x:0:0:root:/root:/bin/sh\n\
         sandpiper:x:1000:1000:sandpiper:/box:/bin/sh\n\
         nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
    ),
    ("etc/group", "root:x:0:\nsandpiper:x:1000:\nnogroup:x:65534:\n"),
    (
        "etc/hosts",
        "127.0.0.1\tlocalhost\n::1\tlocalhost ip6-localhost ip6-loopback\n",
    ),
    ("etc/machine-id", ""),
];

/// Finishes the root filesystem at `root`. Returns its size on the disk, in
/// bytes.
pub(crate) fn finish(root: &Path) -> Result<u64, ImageError> {
    for path in REMOVED {
        remove(&root.join(path), path.ends_with('/'))
            .map_err(io_error("clean", &root.join(path)))?;
    }
    for path in MOUNT_POINTS {
        let path = root.join(path);
        fs::create_dir_all(&path).map_err(io_error("create", &path))?;
    }
    for (path, text) in WRITTEN {
        let path = root.join(path);
        fs::write(&path, text).map_err(io_error("write", &path))?;
    }
    let mut bytes = 0;
    let mut linked = HashSet::new();
    for entry in WalkDir::new(root) {
        let entry = entry
            .map_err(|error| io_error("walk", root)(io::Error::from(error)))?;
        let path = entry.path();
        let metadata =
            path.symlink_metadata().map_err(io_error("inspect", path))?;
        if metadata.nlink() < 2
            || metadata.is_dir()
            || linked.insert(metadata.ino())
        {
            bytes += metadata.blocks() * 512;
        }
        if !metadata.is_symlink() {
            let mode = image_mode(metadata.mode(), metadata.is_dir());
            if mode != metadata.mode() & 0o7777 {
                fs::set_permissions(path, Permissions::from_mode(mode))
                    .map_err(io_error("change the mode of", path))?;
            }
        }
    }
    Ok(bytes)
}

/// Returns the mode of a file in an image: readable by everyone, writable only by
/// the owner, without set-id bits.
pub(crate) fn image_mode(mode: u32, is_dir: bool) -> u32 {
    let executable = is_dir || mode & 0o111 != 0;
    mode & 0o755 | 0o644 | if executable { 0o111 } else { 0 }
}

fn remove(path: &Path, keep_folder: bool) -> io::Result<()> {
    let result = match path.symlink_metadata() {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Ok(()) if keep_folder => fs::create_dir(path),
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modes_of_an_image() {
        let check = |mode, is_dir, expected| {
            assert_eq!(image_mode(mode, is_dir), expected, "{mode:o}");
        };
        check(0o100_600, false, 0o644);
        check(0o104_755, false, 0o755);
        check(0o102_710, false, 0o755);
        check(0o100_777, false, 0o755);
        check(0o041_777, true, 0o755);
        check(0o040_700, true, 0o755);
        check(0o100_444, false, 0o644);
    }

    #[test]
    fn removes_traces_of_the_host() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        for (path, text) in [
            ("etc/hostname", "host\n"),
            ("etc/resolv.conf", "nameserver 10.0.0.1\n"),
            ("etc/passwd", "someone:x:1001:1001::/home/someone:/bin/sh\n"),
            ("etc/apt/sources.list", "deb http://mirror/debian trixie main\n"),
            ("build/main.c", "int main;"),
            ("var/log/dpkg.log", "log"),
            ("usr/bin/tool", "#!/bin/sh\n"),
        ] {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        let tool = root.join("usr/bin/tool");
        fs::set_permissions(&tool, Permissions::from_mode(0o4700)).unwrap();
        fs::hard_link(&tool, root.join("usr/bin/other")).unwrap();

        let bytes = finish(root).unwrap();

        assert!(bytes > 0);
        for gone in
            ["etc/hostname", "etc/resolv.conf", "etc/apt/sources.list", "build"]
        {
            assert!(!root.join(gone).exists(), "{gone}");
        }
        for point in MOUNT_POINTS {
            assert!(root.join(point).is_dir(), "{point}");
        }
        assert_eq!(fs::read_dir(root.join("var/log")).unwrap().count(), 0);
        let passwd = fs::read_to_string(root.join("etc/passwd")).unwrap();
        assert!(passwd.contains("sandpiper:x:1000:1000:"), "{passwd}");
        assert!(!passwd.contains("someone"), "{passwd}");
        assert_eq!(tool.metadata().unwrap().mode() & 0o7777, 0o755);
        assert_eq!(finish(root).unwrap(), bytes, "a second time");
    }
}
