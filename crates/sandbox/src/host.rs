//! Sets the host up before the server serves: control groups, user
//! namespaces, and the change to another user if it was started as root.

use std::collections::VecDeque;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::PathBuf;
use std::process::ExitStatus;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once};

use libc::{SIGCHLD, SIGHUP, SIGINT, SIGTERM, c_int};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::process::Signal;
use rustix::thread::{CapabilitySet, CapabilitySets};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::cgroup::{CgroupRoot, Controllers, sweep_dead};
use crate::children;
use crate::devices::Devices;
use crate::error::{During, Result, SandboxError};
use crate::identity::{IdSource, Identity, MAX_BOXES, ROOT_RANGE};
use crate::ids;
use crate::instance_lock::Instance;
use crate::rlimits;
use crate::spawner::Spawner;
use crate::sys::{self, Fork};

/// The settings of the operator for the host.
#[derive(Clone, Debug)]
pub struct HostSettings {
    /// The program to start as the init of a box. It must call
    /// [`init_main`](crate::init_main). A program that does so itself passes
    /// `/proc/self/exe`.
    pub init: PathBuf,
    /// The parent of our control groups, as a path below the mount of each
    /// hierarchy. `None` is the group of this process.
    pub cgroup: Option<PathBuf>,
    /// A folder of the operator. It holds the locks of an ordinary user if
    /// another user has taken the folder in /tmp.
    pub data: PathBuf,
    /// Maximum number of boxes that run something at once; at least 1.
    pub boxes: usize,
    /// Number of boxes that may exist in addition: those that wait, and those
    /// that are being removed. In all there are at most [`MAX_BOXES`].
    pub besides: usize,
    /// Leave the terminal's process group when root is given up. Its Ctrl-C then
    /// reaches this process once, from the parent. A process that reads from the
    /// terminal has to stay: the kernel stops all others that do.
    pub leave_terminal: bool,
}

/// A host that is set up, so that boxes can be made on it.
#[derive(Debug)]
pub struct Host {
    pub(crate) cgroups: CgroupRoot,
    pub(crate) source: IdSource,
    pub(crate) spawner: Spawner,
    devices: Devices,
    /// The one that was given back first is taken first: the kernel frees some
    /// objects of a user later than the box.
    namespaces: Mutex<VecDeque<OwnNamespace>>,
    free: Arc<Semaphore>,
    boxes: u32,
    next_box: AtomicU64,
    warned_of_shared_inodes: Once,
    /// Whether a parent that stayed root removes the control groups.
    has_parent: bool,
    instance: Instance,
}

impl Host {
    /// Sets the host up. Call it before any other thread exists.
    ///
    /// A process of root forks here. The call returns in the child, which is no
    /// longer root and can never be again. The parent waits for the child and
    /// passes SIGTERM, SIGINT and SIGHUP on to it. Then it removes the control
    /// groups, which only root can do, and ends as the child did.
    ///
    /// # Errors
    ///
    /// Returns an error if boxes cannot be isolated: without user namespaces or
    /// ids, or if the process has other threads. Missing control groups are not
    /// an error, see [`Host::controllers`]. This process gives up root even
    /// then, and may serve requests that need no box. The caller must check
    /// that it is not root any more.
    pub fn set_up(settings: &HostSettings) -> Result<Self> {
        let host = Self::build(settings);
        if host.is_err() {
            if rustix::process::geteuid().is_root() {
                give_up_root()?;
            }
            forbid_privileges()?;
        }
        host
    }

    fn build(settings: &HostSettings) -> Result<Self> {
        // Requests and outputs are often megabytes long.
        sys::return_large_blocks();
        rlimits::raise_server_limits()?;
        let below = settings.cgroup.as_deref();
        let make = |name: &str| CgroupRoot::make(name, below);
        let (instance, cgroups) =
            Instance::take(&settings.data, sweep_dead, make)?;
        let boxes = (settings.boxes.max(1) + settings.besides).min(MAX_BOXES);
        if let Err(error) = instance.record(&cgroups.folders()) {
            // The server can serve all the same, for example with a full /run.
            tracing::warn!(
                %error,
                "cannot record the control groups of this server: if it is \
                 killed, only a start in the same control group removes them"
            );
        }
        let found = IdSource::find(instance.number).and_then(|source| {
            let namespaces = source.make_namespaces(boxes)?;
            Ok((source, namespaces))
        });
        let (source, namespaces) = match found {
            Ok(found) => found,
            Err(error) => {
                remove(&cgroups, &instance);
                return Err(error);
            }
        };
        let devices = Devices::make(namespaces.len());
        let has_parent = if let IdSource::Root { first } = source {
            lower_oom_score()?;
            cgroups.give_to(first)?;
            leave_root(&cgroups, &instance, first, settings.leave_terminal)?;
            true
        } else {
            false
        };
        forbid_privileges()?;
        Ok(Self {
            cgroups,
            source,
            spawner: Spawner::start(settings.init.clone())?,
            devices,
            namespaces: Mutex::new(
                namespaces.into_iter().enumerate().collect(),
            ),
            free: Arc::new(Semaphore::new(boxes)),
            boxes: u32::try_from(boxes).unwrap_or(u32::MAX),
            next_box: AtomicU64::new(0),
            warned_of_shared_inodes: Once::new(),
            has_parent,
            instance,
        })
    }

    /// Returns the limits that control groups can enforce here.
    pub fn controllers(&self) -> Controllers {
        self.cgroups.controllers()
    }

    /// Describes the control groups, or the reason why there are none.
    pub fn describe_groups(&self) -> String {
        self.cgroups.describe()
    }

    /// Returns whether boxes have device nodes of their own.
    pub fn has_own_devices(&self) -> bool {
        self.devices == Devices::Own
    }

    /// Returns whether boxes have host ids of their own.
    pub fn identity(&self) -> Identity {
        self.source.identity()
    }

    /// Waits until every box is gone, then removes the control groups.
    pub async fn close(&self) {
        // Fails only when the semaphore is closed, which nothing does.
        if self.free.acquire_many(self.boxes).await.is_ok() && !self.has_parent
        {
            remove(&self.cgroups, &self.instance);
        }
    }

    /// Takes a range of ids for one box. Waits while all are taken.
    pub(crate) async fn take_id_range(self: &Arc<Self>) -> Result<IdRange> {
        let permit =
            Arc::clone(&self.free).acquire_owned().await.map_err(|_| {
                SandboxError::other("take ids for a box", "the host is closed")
            })?;
        let own = self.lock_namespaces().pop_front();
        Ok(IdRange { host: Arc::clone(self), own, _permit: permit })
    }

    /// Returns a name that no other box of this server has.
    pub(crate) fn next_box_name(&self) -> String {
        format!("box-{}", self.next_box.fetch_add(1, Ordering::Relaxed))
    }

    /// Warns the operator once that boxes share inodes.
    pub(crate) fn warn_of_shared_inodes(&self) {
        self.warned_of_shared_inodes.call_once(|| {
            tracing::warn!(
                "overlayfs is not available, so boxes share the inodes of \
                 their image: a program that locks files of the image can \
                 block other programs. Load overlayfs (modprobe overlay), and \
                 keep images on a file system that is not an overlay itself"
            );
        });
    }

    fn lock_namespaces(
        &self,
    ) -> std::sync::MutexGuard<'_, VecDeque<OwnNamespace>> {
        // A poisoned list is still a list.
        self.namespaces
            .lock()
            .unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// A user namespace that was made ahead, and its number.
type OwnNamespace = (usize, OwnedFd);

/// The host ids of one box, as a user namespace. They are given back on drop,
/// when no process may be left in the namespace.
#[derive(Debug)]
pub(crate) struct IdRange {
    host: Arc<Host>,
    /// `None` if boxes share the server's id.
    own: Option<OwnNamespace>,
    _permit: OwnedSemaphorePermit,
}

impl IdRange {
    pub(crate) fn user_namespace(&self) -> Option<BorrowedFd<'_>> {
        self.own.as_ref().map(|(_, namespace)| namespace.as_fd())
    }

    /// Returns the folder of the box's device nodes.
    pub(crate) fn devices(&self) -> PathBuf {
        let number = self.own.as_ref().map_or(0, |(number, _)| *number);
        self.host.devices.folder(number)
    }
}

impl Drop for IdRange {
    fn drop(&mut self) {
        if let Some(own) = self.own.take() {
            self.host.lock_namespaces().push_back(own);
        }
    }
}

/// If the host is out of memory, has the kernel kill programs before the
/// server, and the server after most other processes.
fn lower_oom_score() -> Result<()> {
    const SCORE: i32 = -500;
    let path = "/proc/self/oom_score_adj";
    let present = std::fs::read_to_string(path).during(path)?;
    // A lower score of the operator stays.
    if present.trim().parse().is_ok_and(|present: i32| present <= SCORE) {
        return Ok(());
    }
    match std::fs::write(path, SCORE.to_string()) {
        // Root in a container may lack the right.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        written => written.during(path),
    }
}

/// Removes the control groups and the lock of a server. Every box must be gone.
fn remove(cgroups: &CgroupRoot, instance: &Instance) {
    cgroups.remove();
    instance.release(&cgroups.folders());
}

/// Becomes a user that owns nothing, because boxes cannot be made.
fn give_up_root() -> Result<()> {
    let step = "give up root";
    // Ids belong to a thread: this fails if there are others.
    sys::unshare(libc::CLONE_THREAD).during(step)?;
    ids::clear_groups().during(step)?;
    // 65,534 exists in every user namespace that has a range of ids.
    let given_up = [ROOT_RANGE, 65_534]
        .into_iter()
        .any(|id| ids::set_group(id).and_then(|()| ids::set_user(id)).is_ok());
    if !given_up {
        return Err(SandboxError::other(step, "there is no other user id"));
    }
    Ok(())
}

/// Drops all capabilities for good. From here on neither this process nor a
/// program that it starts, such as newuidmap, gets more rights than an ordinary
/// user has.
fn forbid_privileges() -> Result<()> {
    let step = "give up privileges";
    let none = CapabilitySet::empty();
    let sets =
        CapabilitySets { effective: none, permitted: none, inheritable: none };
    // This clears the ambient set, too.
    rustix::thread::set_capabilities(None, sets).during(step)?;
    rustix::thread::set_no_new_privs(true).during(step)
}

/// Forks, and returns in a child that is `uid` for good. The parent stays root,
/// reads nothing from the child, and only waits.
fn leave_root(
    cgroups: &CgroupRoot,
    instance: &Instance,
    uid: u32,
    leave_terminal: bool,
) -> Result<()> {
    let parent = rustix::process::getpid();
    // Before the fork: else the parent could miss an early signal, or the early
    // end of the child.
    let signals = sys::block_signals(&WATCHED)
        .and_then(|()| sys::signal_fd(&WATCHED))
        .during("watch signals")?;
    match sys::fork().during("fork the server")? {
        Fork::Parent(child) => {
            let code = wait_as_root(child, &signals);
            remove(cgroups, instance);
            sys::exit_now(code)
        }
        Fork::Child => {
            drop(signals);
            sys::block_signals(&[]).during("unblock signals")?;
            if leave_terminal {
                rustix::process::setpgid(None, None)
                    .during("leave the group")?;
            }
            let step = "become the server's user";
            ids::clear_groups().during(step)?;
            ids::set_group(uid).during(step)?;
            ids::set_user(uid).during(step)?;
            if rustix::process::geteuid().is_root() {
                return Err(SandboxError::other(step, "still root"));
            }
            // After the ids: a change of ids clears this signal.
            rustix::process::set_parent_process_death_signal(Some(
                Signal::TERM,
            ))
            .during("follow the parent")?;
            if rustix::process::getppid() != Some(parent) {
                return Err(SandboxError::other(step, "the parent is gone"));
            }
            Ok(())
        }
    }
}

/// The signals that the parent receives: the end of its child, and those that it
/// passes on.
const WATCHED: [c_int; 4] = [SIGCHLD, SIGTERM, SIGINT, SIGHUP];

/// Waits for the server and passes signals on to it. Returns the exit code.
fn wait_as_root(child: i32, signals: &OwnedFd) -> c_int {
    loop {
        let mut ready = [PollFd::new(signals, PollFlags::IN)];
        // An interrupted poll is tried again.
        let _ = poll(&mut ready, None);
        // struct signalfd_siginfo is 128 bytes and starts with the number.
        let mut info = [0_u8; 128];
        while let Ok(128) = rustix::io::read(signals, &mut info) {
            let number =
                c_int::from_ne_bytes([info[0], info[1], info[2], info[3]]);
            if number != SIGCHLD {
                // It fails if the child has ended, which the wait below finds.
                let _ = children::kill(child, number);
            }
        }
        // One signal may stand for several children.
        loop {
            match children::wait_any(false) {
                Ok(Some(reaped)) if reaped.pid == child => {
                    return exit_code(reaped.status);
                }
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(_) => return 1,
            }
        }
    }
}

/// Returns the exit code that a shell would report: for a signal 128 and its
/// number.
fn exit_code(status: ExitStatus) -> c_int {
    use std::os::unix::process::ExitStatusExt;
    status.code().or_else(|| status.signal().map(|s| 128 + s)).unwrap_or(1)
}
