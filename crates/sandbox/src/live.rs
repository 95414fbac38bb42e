//! A live box, seen from the server: made, prepared, run, and gone.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::cgroup::Group;
use crate::control::Control;
use crate::error::{During, Result, SandboxError};
use crate::host::{Host, Slot};
use crate::identity::Identity;
use crate::launchers::Launchers;
use crate::protocol::{Reply, Request, Setup, UserNamespace};
use crate::remains::Remains;
use crate::spawner::AskedInit;
use crate::streams::Pipes;
use crate::uncharged::Uncharged;
use crate::{BoxSpec, Inputs, Outcome, StepSpec, step};

/// One box. Dropping it kills everything in it and clears it away;
/// [`Sandbox::destroy`] does so and waits until it is gone.
#[derive(Debug)]
pub struct Sandbox {
    /// `None` once it is being cleared away.
    live: Option<Live>,
    launchers: Launchers,
    pipes: Pipes,
    processes: u32,
}

#[derive(Debug)]
struct Live {
    control: Control,
    remains: Remains,
}

impl Sandbox {
    /// Makes a box on `host`; waits while the host has as many as it may.
    ///
    /// # Errors
    ///
    /// When a wall could not be built. Nothing is left of the box then.
    pub async fn make(host: &Arc<Host>, spec: &BoxSpec) -> Result<Self> {
        let slot = host.take_slot().await?;
        let (own, spec) = (Arc::clone(host), spec.clone());
        // A task of its own goes on when the caller's future is dropped: cut
        // short, it would leave a group and an init that nobody clears away.
        // What it made then clears itself away.
        let start = tokio::spawn(async move { start(&own, &spec, slot).await });
        let mut made = start.await.during("start a box")??;
        made.live()?.build(host).await?;
        Ok(made)
    }

    /// The same for a box that nobody waits for yet: until it is asked to run
    /// something it has as little of the CPU as can be.
    ///
    /// # Errors
    ///
    /// The same.
    pub async fn make_ahead(host: &Arc<Host>, spec: &BoxSpec) -> Result<Self> {
        let mut made = Self::make(host, spec).await?;
        // Not before: at the least share it would hold the kernel's locks of
        // namespaces and mounts, which others wait for, for long.
        made.live()?.remains.group.lower_share()?;
        made.pipes.make_ahead()?;
        Ok(made)
    }

    /// Starts the launcher of a step that has a gate, and waits until only the
    /// submission is missing; a later [`Sandbox::run`] of the same step goes
    /// on with it. Steps are prepared in the order in which they will run.
    ///
    /// # Errors
    ///
    /// When the launcher could not be started, or ended.
    pub async fn prepare(&mut self, spec: StepSpec) -> Result<()> {
        let processes = self.processes;
        let pipes = self.pipes.take()?;
        let control = &mut self.live()?.control;
        let near = step::prepare(control, &spec, processes, pipes).await?;
        self.launchers.add(spec, near);
        Ok(())
    }

    /// Tells that a step will not be run: a launcher that waits for it is
    /// killed before the next one.
    pub fn skip(&mut self, spec: &StepSpec) {
        self.launchers.skip(spec);
    }

    /// Whether it could still run something, as far as is known: a launcher
    /// that ended while it waited takes the box with it.
    pub fn is_alive(&self) -> bool {
        let Some(live) = &self.live else { return false };
        let init = live.remains.init.as_ref();
        init.is_some_and(|init| {
            let mut ready = [PollFd::new(init, PollFlags::IN)];
            // A pidfd is readable when its process has ended.
            let now = Timespec { tv_sec: 0, tv_nsec: 0 };
            poll(&mut ready, Some(&now)) == Ok(0)
                && !live.remains.group.killed_for_memory()
        })
    }

    /// Memory that the box alone has, in bytes: that of its processes and its
    /// files. `None` where the host does not account for it.
    pub fn memory_bytes(&self) -> Option<u64> {
        self.live.as_ref()?.remains.group.memory_bytes()
    }

    /// Runs a command to its end. When a limit ended it, the whole box is dead
    /// and runs nothing more.
    ///
    /// # Errors
    ///
    /// When the command could not be started, or init failed. What the program
    /// does is never an error.
    pub async fn run(&mut self, spec: &StepSpec) -> Result<Outcome> {
        self.run_with(spec, Inputs::default()).await
    }

    /// The same, after these are written. Where the box has less memory than
    /// they take it ends with [`Stop::Memory`](crate::Stop::Memory).
    ///
    /// # Errors
    ///
    /// The same, and when one of them cannot be written.
    pub async fn run_with(
        &mut self,
        spec: &StepSpec,
        inputs: Inputs<'_>,
    ) -> Result<Outcome> {
        let processes = self.processes;
        let Self { live, launchers, pipes, .. } = self;
        let Live { control, remains } =
            live.as_mut().ok_or_else(|| unexpected("a live box"))?;
        if let Some(bytes) = spec.memory_bytes
            && !remains.group.limit_memory(bytes)?
        {
            remains.kill_and_wait().await?;
            return Ok(Outcome::without_memory());
        }
        let asked = step::to_run(spec, inputs, processes, launchers, pipes)?;
        step::run(control, remains, spec, asked, launchers).await
    }

    /// Kills everything in the box and waits until all its processes have
    /// ended. What the kernel still has of it goes when it is dropped.
    ///
    /// # Errors
    ///
    /// When the end cannot be watched, as without a free descriptor.
    pub async fn kill(&mut self) -> Result<()> {
        self.live()?.remains.kill_and_wait().await
    }

    /// Kills everything in the box and waits until nothing of it is left.
    pub async fn destroy(mut self) {
        if let Some(clearing) = self.end() {
            // It fails where the runtime ends, and the process with it.
            let _ = clearing.await;
        }
    }

    /// Kills everything in the box. A task of its own clears it away: that
    /// goes on when whoever waits for it is dropped.
    fn end(&mut self) -> Option<JoinHandle<()>> {
        let live = self.live.take()?;
        // Without a runtime the process is ending: its boxes follow it, and
        // the next start sweeps their groups.
        let runtime = Handle::try_current().ok()?;
        live.remains.kill();
        Some(runtime.spawn(live.clear()))
    }

    fn live(&mut self) -> Result<&mut Live> {
        self.live.as_mut().ok_or_else(|| unexpected("a live box"))
    }
}

/// Starts an init and makes its group; together they are the box's beginning.
async fn start(host: &Host, spec: &BoxSpec, slot: Slot) -> Result<Sandbox> {
    let user_namespace = match host.source.identity() {
        Identity::Range => UserNamespace::Join,
        Identity::Single => UserNamespace::Make,
    };
    let setup = Request::Setup(Setup {
        rootfs: spec.rootfs.clone(),
        user_namespace,
        disk_bytes: spec.disk_bytes,
        inodes: spec.inodes,
        devices: slot.devices(),
    });
    let namespace = slot.user_namespace();
    // First: it makes its namespaces while the group is made. It ends with its
    // socket.
    let AskedInit { socket, of } = host.spawner.spawn()?;
    let control = set_up(socket, &setup, namespace).await?;
    let group = host.top.make_box(&host.next_box_name(), spec);
    let again = async || {
        let asked = host.spawner.spawn_again(of)?;
        set_up(asked.socket, &setup, namespace).await
    };
    match (begun(control, again).await, group) {
        (Ok((control, outer)), Ok(group)) => {
            let remains =
                Remains { outer, init: None, group, uncharged: None, slot };
            Ok(Sandbox {
                live: Some(Live { control, remains }),
                launchers: Launchers::default(),
                pipes: Pipes::default(),
                processes: spec.processes,
            })
        }
        (Ok((control, outer)), Err(error)) => {
            // Before the slot is another's: it may be in its user namespace.
            drop(control);
            let group = Group::none();
            Remains { outer, init: None, group, uncharged: None, slot }
                .clear()
                .await;
            Err(error)
        }
        (Err(error), group) => {
            if let Ok(mut group) = group {
                group.remove();
            }
            Err(error)
        }
    }
}

/// Tells an init that was asked for what it needs to know.
async fn set_up(
    socket: UnixStream,
    setup: &Request<'_>,
    namespace: Option<BorrowedFd<'_>>,
) -> Result<Control> {
    let mut control = Control::new(socket)?;
    match control.send(setup, namespace.as_slice()).await {
        // Whoever waits for its beginning learns that it never comes.
        Err(error) if error.is_unheard() => {}
        sent => sent?,
    }
    Ok(control)
}

/// Waits until init's outer half has begun; asks `again` where the fork server
/// was killed before it came to this one.
async fn begun(
    mut control: Control,
    again: impl AsyncFnOnce() -> Result<Control>,
) -> Result<(Control, OwnedFd)> {
    let mut reply = control.receive().await;
    let is_lost = |error: &SandboxError| {
        error.cause.kind() == io::ErrorKind::UnexpectedEof || error.is_unheard()
    };
    if reply.as_ref().is_err_and(is_lost) {
        control = again().await?;
        reply = control.receive().await;
    }
    match reply? {
        (Reply::Begun, mut descriptors) => descriptors
            .pop()
            .map(|outer| (control, outer))
            .ok_or_else(|| unexpected("its beginning")),
        _ => Err(unexpected("its beginning")),
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        drop(self.end());
    }
}

impl Live {
    /// Has init join its group and build the box.
    async fn build(&mut self, host: &Host) -> Result<()> {
        let Self { control, remains } = self;
        let groups: Vec<_> = remains.group.joins().collect();
        control.send(&Request::Join(groups.len()), &groups).await?;
        let (Reply::Ready { own_inodes }, descriptors) =
            control.receive().await?
        else {
            return Err(unexpected("its readiness"));
        };
        let mut descriptors = descriptors.into_iter();
        remains.init = descriptors.next();
        remains.uncharged = Uncharged::new(descriptors);
        if remains.uncharged.is_none() {
            return Err(unexpected("a pidfd and counts"));
        }
        if !own_inodes {
            host.tell_of_shared_inodes();
        }
        Ok(())
    }

    async fn clear(self) {
        let Self { control, remains } = self;
        if remains.init.is_none() {
            // An init that has not told its pid yet ends with the socket.
            drop(control);
            remains.clear().await;
        } else {
            // The socket last: when one is closed the kernel collects what
            // programs left in messages to themselves, memory and all.
            remains.clear().await;
            drop(control);
        }
    }
}

fn unexpected(what: &str) -> SandboxError {
    SandboxError::other("hear from init", format!("expected {what}"))
}
