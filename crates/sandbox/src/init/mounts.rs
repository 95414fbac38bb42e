//! The file tree of a box: a read-only image, one tmpfs for what a program
//! may write, a minimal /dev and a /proc of its own pids.

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

// mount_setattr(2); the numbers are those of linux/mount.h.
const READ_ONLY: u64 = 0x1;
const NO_SETUID: u64 = 0x2;
const NO_DEVICES: u64 = 0x4;
const NO_EXEC: u64 = 0x8;

pub(super) const ARTIFACTS: &str = "/artifacts";

/// Links of /dev that programs expect.
const DEVICE_LINKS: [(&str, &str); 4] = [
    ("fd", "/proc/self/fd"),
    ("stdin", "/proc/self/fd/0"),
    ("stdout", "/proc/self/fd/1"),
    ("stderr", "/proc/self/fd/2"),
];

/// Builds the tree and makes it the root, with the working directory of the
/// process (the image's folder) as its base.
pub(super) fn build(setup: &Setup) -> Result<Tree> {
    let Setup { disk_bytes, inodes, .. } = *setup;
    rustix::mount::mount_change(
        "/",
        MountPropagationFlags::PRIVATE | MountPropagationFlags::REC,
    )
    .during("make mounts private")?;
    let own_inodes = mount_image()?;
    // The tmpfs is mounted whole on /tmp, its folders are bound where they
    // belong, and at last its own tmp folder covers it.
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

/// A box's file tree.
pub(super) struct Tree {
    /// Whether the files of the image have inodes of this box alone.
    pub(super) own_inodes: bool,
    /// The folder that is bound to /box.
    pub(super) files: OwnedFd,
    /// The folder that is bound to /artifacts, by the tmpfs's own mount: there
    /// it can be written.
    pub(super) artifacts: OwnedFd,
    /// The locks of the box's processes, which no program can open.
    pub(super) locks: OwnedFd,
    /// What the tmpfs was configured by.
    tmpfs: OwnedFd,
}

impl Tree {
    /// Lets the tmpfs have this many files and folders.
    pub(super) fn allow(&self, inodes: u64) -> Result<()> {
        let step = "make room for the files";
        let context = self.tmpfs.as_fd();
        // After fsmount(2) a context configures anew what it has made.
        rustix::mount::fsconfig_set_string(
            context,
            "nr_inodes",
            inodes.to_string(),
        )
        .during(step)?;
        rustix::mount::fsconfig_reconfigure(context).during(step)
    }
}

/// Mounts the image over its own folder, read-only, and enters it; whether
/// its inodes are then this box's own.
fn mount_image() -> Result<bool> {
    let (image, own_inodes) = match layered_image() {
        Ok(image) => (image, true),
        // Boxes then meet in locks on the files of their image.
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

/// The image with inodes of this box alone. Bound, boxes would share them, and
/// with them their locks: a program could lock a library, and every runtime
/// that locks what it reads would fail in all other boxes.
fn layered_image() -> Result<OwnedFd> {
    // An overlay that cannot be written wants two layers.
    let empty = new_tmpfs(4096, 1)?;
    attach(&empty.mount, "tmp")?;
    let options = [
        ("source", "image"),
        ("lowerdir", ".:tmp"),
        // Attributes of the image's files move nothing.
        ("redirect_dir", "nofollow"),
    ];
    let made =
        new_mount("overlay", &options, MountAttrFlags::MOUNT_ATTR_RDONLY)?;
    Ok(made.mount)
}

/// A new file system's mount, not attached yet, and what it was made by.
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
    let nothing_special =
        MountAttrFlags::MOUNT_ATTR_NOSUID | MountAttrFlags::MOUNT_ATTR_NODEV;
    new_mount("tmpfs", &options, nothing_special)
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

/// Makes a folder of the program's in the tmpfs and binds it to `target`.
fn bind_new_folder(
    name: &str,
    target: &str,
    permissions: u32,
) -> Result<OwnedFd> {
    let step = format!("make /{target}");
    let path = format!("tmp/{name}");
    let mode = Mode::from_raw_mode(permissions);
    rustix::fs::mkdirat(CWD, &path, mode).during(&step)?;
    // The umask took bits from the mode above.
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

/// Fills /dev and makes it read-only; /dev/shm in it is writable.
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

/// Binds a device node, after a look that it is that device: a user namespace
/// cannot make its own. The mount is read-only, and with it times and mode of
/// the node, which the host may use as well; its device can be written.
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
            format!("{} has another device", nodes.display()),
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

/// Mounts a proc of processes alone; /proc/locks, of another that is nowhere to
/// be found. A program writes none of its own files there: among them are its
/// place in line when the host is out of memory, and its memory.
fn mount_proc() -> Result<OwnedFd> {
    let attributes = MountAttrFlags::MOUNT_ATTR_RDONLY
        | MountAttrFlags::MOUNT_ATTR_NOSUID
        | MountAttrFlags::MOUNT_ATTR_NODEV
        | MountAttrFlags::MOUNT_ATTR_NOEXEC;
    let whole = new_mount("proc", &[], attributes)?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC;
    let locks = rustix::fs::openat(&whole.mount, "locks", flags, Mode::empty())
        .during("open /proc/locks")?;
    // None of the machine's files; and of the processes only those that the
    // asking one could trace: not init.
    let options = [("subset", "pid"), ("hidepid", "ptraceable")];
    attach(&new_mount("proc", &options, attributes)?.mount, "proc")?;
    Ok(locks)
}

/// Makes the working directory the root. With the same folder for both, the
/// old root ends up on top of the new one (`pivot_root(2)`).
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

/// Covers /artifacts with a mount of it that can be written.
pub(super) fn cover_artifacts() -> Result<()> {
    let cover = clone_mount(ARTIFACTS)?;
    sys::set_mount_attributes(cover.as_fd(), 0, READ_ONLY)
        .during("make /artifacts writable")?;
    attach(&cover, ARTIFACTS)
}

/// Takes that mount away. It could not be made read-only instead while a file
/// on it is open for writing, as it can be with no process left: in a message
/// to a socket that is closed.
pub(super) fn uncover_artifacts() -> Result<()> {
    rustix::mount::unmount(ARTIFACTS, UnmountFlags::DETACH)
        .during("uncover /artifacts")
}
