//! The file tree of a box: a read-only image, one tmpfs for the files of
//! programs, a minimal /dev, and a /proc with only the box's processes.

use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use rustix::fs::{AtFlags, CWD, Gid, Mode, OFlags, Uid};
use rustix::mount::{
    FsMountFlags, FsOpenFlags, MountAttrFlags, MountPropagationFlags,
    MoveMountFlags, OpenTreeFlags, UnmountFlags,
};

use crate::devices::NODES;
use crate::error::{During, Result, SandboxError};
use crate::ids::PROGRAM_ID;
use crate::protocol::Setup;
use crate::sys;

// Attributes of mount_setattr(2), from linux/mount.h.
const READ_ONLY: u64 = 0x1;
const NO_SETUID: u64 = 0x2;
const NO_DEVICES: u64 = 0x4;
const NO_EXEC: u64 = 0x8;

pub(super) const ARTIFACTS: &str = "/artifacts";

/// The folders that programs can write to, perhaps not in each step. All other
/// files are those of the image.
pub(super) const WRITABLE: [&str; 4] = [ARTIFACTS, "/box", "/tmp", "/dev/shm"];

/// Links in /dev that programs expect.
const DEVICE_LINKS: [(&str, &str); 4] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];

/// Builds the tree and makes it the root. Its base is the working directory of
/// the process, which is the folder of the image.
pub(super) fn build(setup: &Setup) -> Result<Tree> {
    let Setup { disk_bytes, inodes, .. } = *setup;
    rustix::mount::mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )
    .during("make mounts private")?;
    let own_inodes = mount_image()?;
    // The whole tmpfs is mounted on /tmp, and its folders are bound to their
    // places. In the end its own tmp folder covers it.
    let tmpfs = new_tmpfs(disk_bytes, inodes)?;
    attach(&tmpfs.mount, "tmp")?;
    let bound = bind_new_folder("artifacts", "artifacts", 0o755)?;
    sys::set_mount_attributes(bound.as_fd(), READ_ONLY, 0)
        .during("make /artifacts read-only")?;
    bind_new_folder("box", "box", 0o755)?;
    devices(&setup.devices)?;
    let locks = mount_proc()?;
    bind_new_folder("tmp", "tmp", 0o1777)?;
    let open = |name| {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        rustix::fs::openat(&tmpfs.mount, name, flags, Mode::empty())
            .during("open a folder of the box")
    };
    let (files, artifacts) = (open("box")?, open("artifacts")?);
    change_root()?;
    Ok(Tree { own_inodes, files, artifacts, locks, tmpfs: tmpfs.context })
}

/// The file tree of a box.
pub(super) struct Tree {
    /// Whether no other box has the same inodes for the files of the image.
    pub(super) own_inodes: bool,
    /// The folder that is bound to /box.
    pub(super) files: OwnedFd,
    /// The folder that is bound to /artifacts. This descriptor is of the
    /// tmpfs's own mount, by which the folder is writable.
    pub(super) artifacts: OwnedFd,
    /// /proc/locks of the box, which no program can open.
    pub(super) locks: OwnedFd,
    /// The context that configures the tmpfs.
    tmpfs: OwnedFd,
}

impl Tree {
    /// Sets the maximum number of files and folders in the tmpfs.
    pub(super) fn limit_inodes(&self, inodes: u64) -> Result<()> {
        let step = "make room for the files";
        let context = self.tmpfs.as_fd();
        // After fsmount(2) the context can configure its file system again.
        rustix::mount::fsconfig_set_string(
            context,
            "nr_inodes",
            inodes.to_string(),
        )
        .during(step)?;
        rustix::mount::fsconfig_reconfigure(context).during(step)
    }
}

/// Mounts the image over its own folder, read-only, and enters it. Returns
/// whether the box has inodes of its own for it.
fn mount_image() -> Result<bool> {
    let (image, own_inodes) = match layered_image() {
        Ok(image) => (image, true),
        // Boxes then share the locks on files of their image.
        Err(_) => (clone_mount(".")?, false),
    };
    sys::set_mount_attributes(
        image.as_fd(),
        READ_ONLY | NO_SETUID | NO_DEVICES,
        0,
    )
    .during("make image read-only")?;
    attach(&image, ".")?;
    rustix::process::fchdir(&image).during("enter image")?;
    Ok(own_inodes)
}

/// Mounts the image with inodes of its own for this box. With a bind mount
/// boxes would share inodes, and with them locks. Some runtimes lock the files
/// that they read: they would fail while another box holds such a lock.
fn layered_image() -> Result<OwnedFd> {
    // A read-only overlay needs two layers.
    let empty = new_tmpfs(4096, 1)?;
    attach(&empty.mount, "tmp")?;
    let options = [
        ("source", "image"),
        ("lowerdir", ".:tmp"),
        // Extended attributes of the image's files must not redirect paths.
        ("redirect_dir", "nofollow"),
    ];
    let made =
        new_mount("overlay", &options, MountAttrFlags::MOUNT_ATTR_RDONLY)?;
    Ok(made.mount)
}

/// The mount of a new file system, not attached yet, and its context.
struct NewMount {
    mount: OwnedFd,
    context: OwnedFd,
}

fn new_tmpfs(disk_bytes: u64, inodes: u64) -> Result<NewMount> {
    let options = [
        ("size", &*disk_bytes.to_string()),
        ("nr_inodes", &*inodes.to_string()),
        ("mode", "0755"),
    ];
    let attributes =
        MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    new_mount("tmpfs", &options, attributes)
}

fn new_mount(
    kind: &str,
    options: &[(&str, &str)],
    attributes: MountAttrFlags,
) -> Result<NewMount> {
    let step = format!("make {kind}");
    let context = rustix::mount::fsopen(kind, FsOpenFlags::FSOPEN_CLOEXEC)
        .during(&step)?;
    for &(key, value) in options {
        rustix::mount::fsconfig_set_string(context.as_fd(), key, value)
            .during(&step)?;
    }
    rustix::mount::fsconfig_create(context.as_fd()).during(&step)?;
    let flags = FsMountFlags::FSMOUNT_CLOEXEC;
    let mount = rustix::mount::fsmount(context.as_fd(), flags, attributes)
        .during(&step)?;
    Ok(NewMount { mount, context })
}

/// Makes a folder in the tmpfs that belongs to the program, and binds it to
/// `target`.
fn bind_new_folder(
    name: &str,
    target: &str,
    permissions: u32,
) -> Result<OwnedFd> {
    let step = format!("make /{target}");
    let path = format!("tmp/{name}");
    let mode = Mode::from_raw_mode(permissions);
    rustix::fs::mkdirat(CWD, &path, mode).during(&step)?;
    // The umask took bits from the mode above, so set it again.
    rustix::fs::chmodat(CWD, &path, mode, AtFlags::empty()).during(&step)?;
    let owner = (Uid::from_raw(PROGRAM_ID), Gid::from_raw(PROGRAM_ID));
    rustix::fs::chownat(
        CWD,
        &path,
        Some(owner.0),
        Some(owner.1),
        AtFlags::SYMLINK_NOFOLLOW,
    )
    .during(&step)?;
    let folder = clone_mount(&path)?;
    attach(&folder, target)?;
    Ok(folder)
}

/// Fills /dev and makes it read-only. /dev/shm in it stays writable.
fn devices(nodes: &Path) -> Result<()> {
    rustix::fs::mkdirat(CWD, "tmp/dev", Mode::from_raw_mode(0o755))
        .during("make /dev")?;
    let dev = clone_mount("tmp/dev")?;
    attach(&dev, "dev")?;
    for (name, major, minor) in NODES {
        device(nodes, name, rustix::fs::makedev(major, minor))?;
    }
    for (name, target) in DEVICE_LINKS {
        rustix::fs::symlinkat(target, CWD, format!("dev/{name}"))
            .during("link in /dev")?;
    }
    rustix::fs::mkdirat(CWD, "dev/shm", Mode::from_raw_mode(0o755))
        .during("make /dev/shm")?;
    bind_new_folder("shm", "dev/shm", 0o1777)?;
    sys::set_mount_attributes(dev.as_fd(), READ_ONLY | NO_EXEC, 0)
        .during("make /dev read-only")
}

/// Binds a device node, after a check that it is that device. A node cannot be
/// made in a user namespace. The mount is read-only, which protects the times
/// and the mode of the node: the host may use it as well. The device itself is
/// writable.
fn device(nodes: &Path, name: &str, number: u64) -> Result<()> {
    let step = format!("bind /dev/{name}");
    let node = clone_mount(nodes.join(name))?;
    let found = rustix::fs::fstat(&node).during(&step)?;
    let is_character_device =
        rustix::fs::FileType::from_raw_mode(found.st_mode)
            == rustix::fs::FileType::CharacterDevice;
    if !is_character_device || found.st_rdev != number {
        return Err(SandboxError::other(
            step,
            format!("{} holds another device", nodes.display()),
        ));
    }
    let path = format!("dev/{name}");
    let flags = OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    rustix::fs::openat(CWD, &path, flags, Mode::from_raw_mode(0o666))
        .during(&step)?;
    sys::set_mount_attributes(node.as_fd(), READ_ONLY | NO_SETUID | NO_EXEC, 0)
        .during(&step)?;
    attach(&node, &path)
}

/// Mounts a /proc that shows only processes. Returns /proc/locks of another
/// one, which is not attached anywhere. The mount is read-only because a
/// program must not write to its files there, such as `oom_score_adj` and
/// `mem`.
fn mount_proc() -> Result<OwnedFd> {
    let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY
        | MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let whole = new_mount("proc", &[], attributes)?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let locks = rustix::fs::openat(&whole.mount, "locks", flags, Mode::empty())
        .during("open /proc/locks")?;
    // No files of the machine. A process sees only those that it could trace,
    // and so not init.
    let options = [("subset", "pid"), ("hidepid", "ptraceable")];
    attach(&new_mount("proc", &options, attributes)?.mount, "proc")?;
    Ok(locks)
}

/// Makes the working directory the root. As both arguments are the same folder,
/// the old root is then mounted on top of the new one (`pivot_root(2)`).
fn change_root() -> Result<()> {
    rustix::process::pivot_root(".", ".").during("pivot root")
}

/// Detaches the old root from the top of the new one, and enters the new one.
/// Call it before any program is started.
pub(super) fn detach_old_root() -> Result<()> {
    let step = "detach the host's tree";
    rustix::mount::unmount(".", UnmountFlags::DETACH).during(step)?;
    rustix::process::chdir("/").during(step)
}

fn clone_mount(path: impl AsRef<Path>) -> Result<OwnedFd> {
    let path = path.as_ref();
    rustix::mount::open_tree(
        CWD,
        path,
        OpenTreeFlags::OPEN_TREE_CLONE | OpenTreeFlags::OPEN_TREE_CLOEXEC,
    )
    .during(&format!("clone the mount of {}", path.display()))
}

fn attach(mount: &OwnedFd, target: &str) -> Result<()> {
    rustix::mount::move_mount(
        mount.as_fd(),
        "",
        CWD,
        target,
        MoveMountFlags::MOVE_MOUNT_F_EMPTY_PATH,
    )
    .during(&format!("mount on {target}"))
}

/// Covers /artifacts with a writable mount of the same folder.
pub(super) fn cover_artifacts() -> Result<()> {
    let cover = clone_mount(ARTIFACTS)?;
    sys::set_mount_attributes(cover.as_fd(), 0, READ_ONLY)
        .during("make /artifacts writable")?;
    attach(&cover, ARTIFACTS)
}

/// Removes the writable mount. It cannot be made read-only instead while a file
/// on it is open for writing. Even if no process is left, a file can be open in
/// a message to a closed socket.
pub(super) fn uncover_artifacts() -> Result<()> {
    rustix::mount::unmount(ARTIFACTS, UnmountFlags::DETACH)
        .during("uncover /artifacts")
}
