//! A live box, seen from the server: made, given files, run, and gone.

use std::os::fd::{AsFd, OwnedFd};
use std::process::Child;
use std::sync::Arc;

use rustix::process::{Pid, PidfdFlags, Signal};
use tokio::io::Interest;

use crate::cgroup::Group;
use crate::control::Control;
use crate::error::{During, Result, SandboxError};
use crate::host::{Host, Slot};
use crate::identity::Identity;
use crate::protocol::{Reply, Request, Setup, UserNamespace};
use crate::{BoxFile, BoxSpec, Outcome, StepSpec, step, sys};

/// One box. Dropping it kills everything in it; [`Sandbox::destroy`] does so
/// and waits until it is gone.
#[derive(Debug)]
pub struct Sandbox {
    /// `None` once it is being cleared away.
    live: Option<Live>,
    processes: u32,
}

#[derive(Debug)]
struct Live {
    control: Control,
    remains: Remains,
}

/// What must be cleared away when a box ends, in this order.
#[derive(Debug)]
pub(crate) struct Remains {
    /// Init's outer half, our child: it ends when pid 1 has.
    outer: Child,
    /// Pid 1, once it has told us.
    pub(crate) init: Option<OwnedFd>,
    pub(crate) group: Group,
    slot: Slot,
}

impl Sandbox {
    /// Makes a box on `host`; waits while the host has as many as it may.
    ///
    /// # Errors
    ///
    /// When a wall could not be built. Nothing is left of the box then.
    pub async fn make(host: &Arc<Host>, spec: &BoxSpec) -> Result<Self> {
        let slot = host.take_slot().await?;
        let mut group = host.top.make_box(&host.next_box_name(), spec)?;
        let spawned = match host.spawner.spawn().await {
            Ok(spawned) => spawned,
            Err(error) => {
                group.remove();
                return Err(error);
            }
        };
        let remains = Remains { outer: spawned.child, init: None, group, slot };
        let control = match Control::new(spawned.socket) {
            Ok(control) => control,
            Err(error) => {
                // Its socket is closed: it ends by itself.
                tokio::spawn(remains.clear());
                return Err(error);
            }
        };
        let live = Some(Live { control, remains });
        let mut made = Self { live, processes: spec.processes };
        made.live()?.set_up(host, spec).await?;
        Ok(made)
    }

    /// Writes files into the working directory.
    ///
    /// # Errors
    ///
    /// When one cannot be written: its path must be relative, without `.`,
    /// `..` and empty segments, and not be there yet.
    pub async fn write_files(&mut self, files: Vec<BoxFile>) -> Result<()> {
        let control = &mut self.live()?.control;
        control.send(&Request::Files(files), &[]).await?;
        match control.receive().await? {
            (Reply::Written, _) => Ok(()),
            _ => Err(unexpected("the files")),
        }
    }

    /// Runs a command to its end. When a limit ended it, the whole box is dead
    /// and runs nothing more.
    ///
    /// # Errors
    ///
    /// When the command could not be started, or init failed. What the program
    /// does is never an error.
    pub async fn run(&mut self, spec: &StepSpec) -> Result<Outcome> {
        let processes = self.processes;
        let Live { control, remains } = self.live()?;
        step::run(control, remains, spec, processes).await
    }

    /// Kills everything in the box and waits until nothing of it is left.
    pub async fn destroy(mut self) {
        if let Some(live) = self.live.take() {
            live.clear().await;
        }
    }

    fn live(&mut self) -> Result<&mut Live> {
        self.live.as_mut().ok_or_else(|| unexpected("a live box"))
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        let Some(live) = self.live.take() else { return };
        // Without a runtime the process is ending: its boxes follow it, and
        // the next start sweeps their groups.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            live.remains.kill();
            runtime.spawn(live.clear());
        }
    }
}

impl Live {
    async fn set_up(&mut self, host: &Host, spec: &BoxSpec) -> Result<()> {
        let Self { control, remains } = self;
        let user_namespace = match host.source.identity() {
            Identity::Range => UserNamespace::Join,
            Identity::Single => UserNamespace::Make,
        };
        let setup = Setup {
            rootfs: spec.rootfs.clone(),
            groups: remains.group.joins().len(),
            user_namespace,
            disk_bytes: spec.disk_bytes,
            inodes: spec.inodes,
            seccomp: host.seccomp.clone(),
        };
        let mut descriptors: Vec<_> = remains.group.joins().collect();
        let namespace = remains.slot.user_namespace.as_ref();
        descriptors.extend(namespace.map(|fd| fd.as_fd()));
        control.send(&Request::Setup(setup), &descriptors).await?;
        let (Reply::Born, Some(init)) = control.receive().await? else {
            return Err(unexpected("its birth"));
        };
        remains.init = Some(init);
        match control.receive().await? {
            (Reply::Ready, _) => Ok(()),
            _ => Err(unexpected("its readiness")),
        }
    }

    async fn clear(self) {
        // An init that has not told its pid yet ends with the socket.
        drop(self.control);
        self.remains.clear().await;
    }
}

impl Remains {
    /// Kills everything in the box: pid 1, and with it the kernel kills all.
    pub(crate) fn kill(&self) {
        if let Some(init) = &self.init {
            // ESRCH: it has ended already.
            let _ = rustix::process::pidfd_send_signal(init, Signal::KILL);
        }
    }

    /// Waits until the box is dead, then gives back all it had.
    async fn clear(mut self) {
        self.kill();
        if let Err(error) = self.wait().await {
            // The group and the ids stay taken: something may still run.
            tracing::error!(%error, "cannot clear a box away");
            return;
        }
        self.group.remove();
        drop(self.slot);
    }

    async fn wait(&mut self) -> Result<()> {
        let step = "wait for the end of a box";
        let id = i32::try_from(self.outer.id()).ok().and_then(Pid::from_raw);
        let id = id.ok_or_else(|| unexpected("a process id"))?;
        let outer = rustix::process::pidfd_open(id, PidfdFlags::empty())
            .during(step)?;
        if let Some(init) = self.init.take() {
            ended(init).await.during(step)?;
        }
        ended(outer).await.during(step)?;
        self.outer.wait().map(drop).during(step)
    }
}

/// Resolves when the process of a pidfd has ended.
async fn ended(pidfd: OwnedFd) -> std::io::Result<()> {
    let pidfd = sys::watch(pidfd, Interest::READABLE)?;
    pidfd.readable().await.map(drop)
}

fn unexpected(what: &str) -> SandboxError {
    SandboxError::other("hear from init", format!("expected {what}"))
}
