//! What a server prepares on its host before it serves: control groups, user
//! namespaces, and, when it was started as root, another user to be.

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

use crate::cgroup::{Controllers, Top, sweep_dead};
use crate::children;
use crate::devices::Devices;
use crate::error::{During, Result, SandboxError};
use crate::identity::{Identity, MOST_BOXES, ROOT_RANGE, Source};
use crate::ids;
use crate::instance::Instance;
use crate::rlimits;
use crate::spawner::Spawner;
use crate::sys::{self, Fork};

/// What the operator says about the host.
#[derive(Clone, Debug)]
pub struct HostSettings {
    /// The program to start as a box's init: it must call
    /// [`init_main`](crate::init_main). `/proc/self/exe` for a program that
    /// does so itself.
    pub init: PathBuf,
    /// The control group to make ours in, below each hierarchy's mount;
    /// the process's own group when `None`.
    pub cgroup: Option<PathBuf>,
    /// A folder of the operator's: an ordinary user whose name in /tmp is taken
    /// has its locks there.
    pub data: PathBuf,
    /// Boxes that may run something at once, at least 1.
    pub boxes: usize,
    /// Boxes that may be there besides: those that wait, and those that are
    /// removed. There are 500 at most in all.
    pub besides: usize,
}

/// A prepared host: boxes are made on it.
#[derive(Debug)]
pub struct Host {
    pub(crate) top: Top,
    pub(crate) source: Source,
    pub(crate) spawner: Spawner,
    devices: Devices,
    slots: Mutex<Vec<OwnSlot>>,
    free: Arc<Semaphore>,
    boxes: u32,
    next_box: AtomicU64,
    told_of_shared_inodes: Once,
    /// Whether a parent that stayed root removes the top groups.
    has_parent: bool,
    instance: Instance,
}

impl Host {
    /// Prepares the host. Call it before any other thread exists.
    ///
    /// Started as root, this forks: the call returns in the child, which is no
    /// longer root and never can be again; the parent waits for it, passes
    /// SIGTERM, SIGINT and SIGHUP on, removes what only root can remove, and
    /// ends as the child did.
    ///
    /// # Errors
    ///
    /// Where the walls cannot be built: no user namespaces, no ids, or the
    /// process has other threads. Missing control groups are no error: see
    /// [`Host::controllers`]. The process has then given up root as well; it
    /// may serve what needs no box, but only when it is not root any more.
    pub fn prepare(settings: &HostSettings) -> Result<Self> {
        let prepared = Self::build(settings);
        if prepared.is_err() {
            if rustix::process::geteuid().is_root() {
                give_up_root()?;
            }
            forbid_privileges()?;
        }
        prepared
    }

    fn build(settings: &HostSettings) -> Result<Self> {
        // Requests and outputs are megabytes that come and go.
        sys::give_large_blocks_back();
        rlimits::prepare_server()?;
        let below = settings.cgroup.as_deref();
        let make = |name: &str| Top::make(name, below);
        let (instance, top) = Instance::take(&settings.data, sweep_dead, make)?;
        let boxes = (settings.boxes.max(1) + settings.besides).min(MOST_BOXES);
        if let Err(error) = instance.record(&top.folders()) {
            // No reason not to serve, such as a full /run.
            tracing::warn!(
                %error,
                "cannot write down which control groups are this server's: \
                 should it be killed, only a start in the same place finds them"
            );
        }
        let prepared = Source::find(instance.number).and_then(|source| {
            let slots = source.make_slots(boxes)?;
            Ok((source, slots))
        });
        let (source, slots) = match prepared {
            Ok(prepared) => prepared,
            Err(error) => {
                remove(&top, &instance);
                return Err(error);
            }
        };
        let devices = Devices::make(slots.len());
        let has_parent = if let Source::Root { first } = source {
            go_last_when_out_of_memory()?;
            top.give_to(first)?;
            leave_root(&top, &instance, first)?;
            true
        } else {
            false
        };
        forbid_privileges()?;
        Ok(Self {
            top,
            source,
            spawner: Spawner::start(settings.init.clone())?,
            devices,
            slots: Mutex::new(slots.into_iter().enumerate().collect()),
            free: Arc::new(Semaphore::new(boxes)),
            boxes: u32::try_from(boxes).unwrap_or(u32::MAX),
            next_box: AtomicU64::new(0),
            told_of_shared_inodes: Once::new(),
            has_parent,
            instance,
        })
    }

    /// What control groups can enforce here.
    pub fn controllers(&self) -> Controllers {
        self.top.controllers()
    }

    /// Which control groups these are, or why there are none.
    pub fn describe_groups(&self) -> String {
        self.top.describe()
    }

    /// Whether boxes have device nodes of their own.
    pub fn has_own_devices(&self) -> bool {
        self.devices == Devices::Slots
    }

    /// Whether boxes have host ids of their own.
    pub fn identity(&self) -> Identity {
        self.source.identity()
    }

    /// Waits until every box is gone, then removes the control groups.
    pub async fn close(&self) {
        // Fails only when the semaphore is closed, which nothing does.
        if self.free.acquire_many(self.boxes).await.is_ok() && !self.has_parent
        {
            remove(&self.top, &self.instance);
        }
    }

    /// A place for one box; waits while all are taken.
    pub(crate) async fn take_slot(self: &Arc<Self>) -> Result<Slot> {
        let permit =
            Arc::clone(&self.free).acquire_owned().await.map_err(|_| {
                SandboxError::other("take a slot", "the host is closed")
            })?;
        let own = self.lock_slots().pop();
        Ok(Slot { host: Arc::clone(self), own, _permit: permit })
    }

    /// A name that no other box of this server has.
    pub(crate) fn next_box_name(&self) -> String {
        format!("box-{}", self.next_box.fetch_add(1, Ordering::Relaxed))
    }

    /// Warns of what an operator can mend, once.
    pub(crate) fn tell_of_shared_inodes(&self) {
        self.told_of_shared_inodes.call_once(|| {
            tracing::warn!(
                "boxes have the inodes of their image in common, for the \
                 kernel lets them mount no overlayfs: a program that locks \
                 files of the image can keep others from running. Load \
                 overlayfs (modprobe overlay), and keep images on a file \
                 system that is no overlay itself"
            );
        });
    }

    fn lock_slots(&self) -> std::sync::MutexGuard<'_, Vec<OwnSlot>> {
        // A poisoned list is still a list.
        self.slots.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }
}

/// A slot's number, and the user namespace that it has.
type OwnSlot = (usize, OwnedFd);

/// A place for one box, given back on drop: then no process may be left in its
/// user namespace.
#[derive(Debug)]
pub(crate) struct Slot {
    host: Arc<Host>,
    /// `None` where boxes share the server's id.
    own: Option<OwnSlot>,
    _permit: OwnedSemaphorePermit,
}

impl Slot {
    pub(crate) fn user_namespace(&self) -> Option<BorrowedFd<'_>> {
        self.own.as_ref().map(|(_, namespace)| namespace.as_fd())
    }

    /// The folder of its device nodes.
    pub(crate) fn devices(&self) -> PathBuf {
        let number = self.own.as_ref().map_or(0, |(number, _)| *number);
        self.host.devices.folder(number)
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        if let Some(own) = self.own.take() {
            self.host.lock_slots().push(own);
        }
    }
}

/// Has the kernel take programs before the server, and it after most others, if
/// the host is out of memory.
fn go_last_when_out_of_memory() -> Result<()> {
    const LAST: i32 = -500;
    let path = "/proc/self/oom_score_adj";
    let present = std::fs::read_to_string(path).during(path)?;
    // An operator's own, lower one stays.
    if present.trim().parse().is_ok_and(|present: i32| present <= LAST) {
        return Ok(());
    }
    match std::fs::write(path, LAST.to_string()) {
        // Root in a container may lack the right.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Ok(()),
        written => written.during(path),
    }
}

/// Removes what a server made on its host; every box must be gone.
fn remove(top: &Top, instance: &Instance) {
    top.remove();
    instance.release(&top.folders());
}

/// Becomes a user that owns nothing, where there are no boxes to prepare for.
fn give_up_root() -> Result<()> {
    let step = "give up root";
    // Ids are a thread's: fails where there are more.
    sys::unshare(libc::CLONE_THREAD).during(step)?;
    ids::clear_groups().during(step)?;
    // The second is there in every user namespace that has a range at all.
    let given_up = [ROOT_RANGE, 65_534]
        .into_iter()
        .any(|id| ids::set_group(id).and_then(|()| ids::set_user(id)).is_ok());
    if !given_up {
        return Err(SandboxError::other(step, "there is no other user to be"));
    }
    Ok(())
}

/// From here on neither this process nor a program that it starts, such as
/// newuidmap, has or gets a right that an ordinary user has not.
fn forbid_privileges() -> Result<()> {
    let step = "give up privileges";
    let none = CapabilitySet::empty();
    let sets =
        CapabilitySets { effective: none, permitted: none, inheritable: none };
    // The ambient ones go with the permitted.
    rustix::thread::set_capabilities(None, sets).during(step)?;
    rustix::thread::set_no_new_privs(true).during(step)
}

/// Forks; returns in a child that is `uid` for good. The parent stays root,
/// reads nothing from the child, and only waits.
fn leave_root(top: &Top, instance: &Instance, uid: u32) -> Result<()> {
    let parent = rustix::process::getpid();
    // Before the fork: a child that ends at once, or a signal that comes at
    // once, would else be lost to the parent.
    let signals = sys::block_signals(&WATCHED)
        .and_then(|()| sys::signal_fd(&WATCHED))
        .during("watch signals")?;
    match sys::fork().during("fork the server")? {
        Fork::Parent(child) => {
            let code = wait_as_root(child, &signals);
            remove(top, instance);
            sys::exit_now(code)
        }
        Fork::Child => {
            drop(signals);
            sys::block_signals(&[]).during("unblock signals")?;
            // Out of the terminal's group: its Ctrl-C reaches the parent, who
            // passes it on once.
            rustix::process::setpgid(None, None).during("leave the group")?;
            let step = "become the server's user";
            ids::clear_groups().during(step)?;
            ids::set_group(uid).during(step)?;
            ids::set_user(uid).during(step)?;
            if rustix::process::geteuid().is_root() {
                return Err(SandboxError::other(step, "still root"));
            }
            // After the ids: changing them clears it.
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

/// What the parent that stays root is told: its child's end, and the signals
/// that it passes on.
const WATCHED: [c_int; 4] = [SIGCHLD, SIGTERM, SIGINT, SIGHUP];

/// Waits for the server and passes signals on to it. The code to end with.
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
                // The child may have ended: the wait below tells.
                let _ = children::kill(child, number);
            }
        }
        match children::wait_any(false) {
            Ok(Some(reaped)) if reaped.pid == child => {
                return exit_code(reaped.status);
            }
            Ok(_) => {}
            Err(_) => return 1,
        }
    }
}

/// As a shell words it: 128 and the signal.
fn exit_code(status: ExitStatus) -> c_int {
    use std::os::unix::process::ExitStatusExt;
    status.code().or_else(|| status.signal().map(|s| 128 + s)).unwrap_or(1)
}
