//! The stock toolchain: commands in the root filesystem of an image, without a
//! sandbox. It must run in its own mount namespace.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use sandpiper_testkit::{checkout, image_folder, program};

use crate::sample::Sample;

/// An image with writable folders, /proc and /dev.
pub(crate) struct Stock {
    rootfs: PathBuf,
}

impl Stock {
    /// Mounts the image that the server uses for the sample.
    pub(crate) fn of(sample: &Sample) -> Self {
        let stock = Self { rootfs: rootfs(&sample.image) };
        stock.mount(&["-t", "tmpfs", "tmpfs"], "tmp");
        stock.mount(&["-t", "tmpfs", "tmpfs"], "artifacts");
        stock.mount(&["--rbind", "/proc"], "proc");
        stock.mount(&["--rbind", "/dev"], "dev");
        if let Some(folder) = &sample.packages {
            let packages = packages(folder);
            fs::create_dir(stock.folder().join("node_modules")).unwrap();
            let packages = packages.to_str().unwrap();
            stock.mount(&["--bind", packages], "tmp/node_modules");
        }
        stock
    }

    /// Returns the folder in which commands run.
    pub(crate) fn folder(&self) -> PathBuf {
        self.rootfs.join("tmp")
    }

    /// Replaces the files of the last round by those of this one.
    pub(crate) fn write(&self, sample: &Sample, round: &str) {
        for (path, text) in sample.files(round) {
            let path = self.folder().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
    }

    /// Runs a script for sh. Returns its standard output.
    pub(crate) fn run(&self, script: &str) -> String {
        const PATH: &str = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:\
                            /usr/bin:/sbin:/bin";
        // The output is read, like that of the service.
        let output = Command::new("chroot")
            .arg(&self.rootfs)
            // The variables of a login.
            .args(["/usr/bin/env", "-i", "HOME=/tmp", "LANG=C.UTF-8", PATH])
            .args(["/bin/sh", "-euc", &format!("cd /tmp\n{script}")])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{}: {errors}", output.status);
        String::from_utf8(output.stdout).unwrap()
    }

    fn mount(&self, what: &[&str], on: &str) {
        let on = self.rootfs.join(on);
        let mounted = Command::new("mount").args(what).arg(on).status();
        assert!(mounted.unwrap().success());
    }
}

/// Returns the root filesystem of the image that the server uses. Other versions of
/// the image may exist.
fn rootfs(name: &str) -> PathBuf {
    let list = Command::new(program()).args(["images", "list"]).output();
    let list = String::from_utf8(list.unwrap().stdout).unwrap();
    let hash = list.lines().find_map(|line| {
        let mut words = line.split_whitespace();
        let (image, hash, languages) =
            (words.next()?, words.next()?, words.next()?);
        (image == name && languages != "-").then_some(hash)
    });
    let hash = hash.expect("an image that languages use");
    image_folder().join(format!("{name}-{hash}")).join("rootfs")
}

/// Returns the `node_modules` for the lock file in a folder of the repository.
/// Installs them once.
fn packages(folder: &Path) -> PathBuf {
    let name = folder.to_str().unwrap().replace('/', "-");
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let script = "
        . scripts/node
        mkdir -p \"$2\"
        cp \"$1/package.json\" \"$2\"
        cmp -s \"$1/package-lock.json\" \"$2/package-lock.json\" ||
            cp \"$1/package-lock.json\" \"$2\"
        cd \"$2\"
        need_packages >&2";
    let status = Command::new("sh")
        .args(["-euc", script, "sh"])
        .args([folder, &place])
        .current_dir(checkout())
        .status();
    assert!(status.unwrap().success(), "npm cannot install");
    place.join("node_modules")
}
