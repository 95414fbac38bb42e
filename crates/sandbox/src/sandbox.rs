//! The life of a box as the server controls it: made, prepared, run, destroyed.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::sync::Arc;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;

use crate::cgroup::Group;
use crate::error::{During, Result, SandboxError};
use crate::host::{Host, IdRange};
use crate::identity::Identity;
use crate::init_socket::InitSocket;
use crate::launchers::Launchers;
use crate::process_handles::ProcessHandles;
use crate::protocol::{Reply, Request, Setup, UserNamespace};
use crate::spawner::PendingInit;
use crate::uncharged::Uncharged;
use crate::{
    Attachment, BoxSpec, Inputs, LeftFiles, StepEnd, StepOutcome, StepSpec,
    step,
};

/// One box. Dropping it kills everything in it and removes it.
/// [`Sandbox::destroy`] does the same and waits until the box is gone.
#[derive(Debug)]
pub struct Sandbox {
    /// `None` once the box is being removed.
    parts: Option<Parts>,
    launchers: Launchers,
    processes: u32,
}

#[derive(Debug)]
struct Parts {
    init_socket: InitSocket,
    handles: ProcessHandles,
}

impl Sandbox {
    /// Makes a box on `host`. Waits while the host has its maximum of boxes.
    ///
    /// # Errors
    ///
    /// Returns an error if a part of the isolation cannot be built. Then nothing
    /// is left of the box.
    pub async fn make(host: &Arc<Host>, spec: &BoxSpec) -> Result<Self> {
        let ids = host.take_id_range().await?;
        let (own, spec) = (Arc::clone(host), spec.clone());
        // A task of its own goes on if the caller's future is dropped. Stopped
        // halfway, it would leave a group and an init that nobody removes. Its
        // result, a `Sandbox`, is removed when it is dropped.
        let start = tokio::spawn(async move { start(&own, &spec, ids).await });
        let mut made = start.await.during("start a box")??;
        match made.parts()?.build(host).await {
            Ok(()) => Ok(made),
            Err(error) => {
                made.destroy().await;
                Err(error)
            }
        }
    }

    /// Makes a box that nobody waits for yet. It has the minimum share of the
    /// CPU until it runs a command.
    ///
    /// # Errors
    ///
    /// Returns an error in the same cases as [`Sandbox::make`].
    pub async fn make_ahead(host: &Arc<Host>, spec: &BoxSpec) -> Result<Self> {
        let mut made = Self::make(host, spec).await?;
        // Only now: with the minimum share the box would hold the kernel's
        // locks of namespaces and mounts for long, and others wait for them.
        made.parts()?.handles.group.lower_share()?;
        Ok(made)
    }

    /// Starts the launcher of a step that has a gate, and waits until it lacks
    /// only its submission. A later [`Sandbox::run`] of the same step uses this
    /// launcher. Steps must be prepared in the order in which they will run.
    ///
    /// # Errors
    ///
    /// Returns an error if the launcher cannot be started, or ends.
    pub async fn prepare(&mut self, spec: StepSpec) -> Result<()> {
        let processes = self.processes;
        let init_socket = &mut self.parts()?.init_socket;
        let parent_pipes =
            step::prepare_launcher(init_socket, &spec, processes).await?;
        self.launchers.add(spec, parent_pipes);
        Ok(())
    }

    /// Notes that a step will not be run. A launcher that waits for it is killed
    /// before the next step.
    pub fn skip(&mut self, spec: &StepSpec) {
        self.launchers.skip(spec);
    }

    /// Returns whether the box could still run something, as far as is known. A
    /// box ends if one of its launchers ends before the first command.
    pub fn is_alive(&self) -> bool {
        let Some(parts) = &self.parts else { return false };
        let init = parts.handles.init.as_ref();
        init.is_some_and(|init| {
            let mut ready = [PollFd::new(init, PollFlags::IN)];
            // A pidfd is readable when its process has ended.
            let now = Timespec { tv_sec: 0, tv_nsec: 0 };
            poll(&mut ready, Some(&now)) == Ok(0)
                && !parts.handles.group.killed_for_memory()
        })
    }

    /// Returns the memory of the box's processes and files in bytes, without
    /// the page cache. Returns `None` if the host does not measure it.
    pub fn memory_bytes(&self) -> Option<u64> {
        self.parts.as_ref()?.handles.group.memory_bytes()
    }

    /// Runs a command to its end. If a limit ended it, the whole box is dead
    /// and runs nothing more.
    ///
    /// # Errors
    ///
    /// Returns an error if a command of the image cannot be started, or if init
    /// fails. A program that misbehaves is never an error. If a program that an
    /// earlier step left cannot be executed, that is an exit with 126 or 127,
    /// and stderr says why.
    pub async fn run(&mut self, spec: &StepSpec) -> Result<StepOutcome> {
        self.run_with(spec, Inputs::default(), &mut Attachment::default()).await
    }

    /// Writes `inputs` and then runs a command to its end, with the caller
    /// attached to its streams. If the box has less memory than they need, it
    /// ends with [`StepEnd::Memory`](crate::StepEnd::Memory). Files that the step
    /// left are read when its limits have ended.
    ///
    /// # Errors
    ///
    /// Returns an error in the same cases as [`Sandbox::run`], and if an input
    /// cannot be written.
    pub async fn run_with(
        &mut self,
        spec: &StepSpec,
        inputs: Inputs<'_>,
        attachment: &mut Attachment,
    ) -> Result<StepOutcome> {
        let processes = self.processes;
        let Self { parts, launchers, .. } = self;
        let Parts { init_socket, handles } =
            parts.as_mut().ok_or_else(|| unexpected("a box that stands"))?;
        if let Some(bytes) = spec.memory_bytes
            && !handles.group.limit_memory(bytes)?
        {
            handles.kill_and_wait().await?;
            return Ok(StepOutcome::without_memory());
        }
        let request = step::request_for(spec, inputs, processes, launchers)?;
        let mut outcome = step::run(
            init_socket,
            handles,
            spec,
            request,
            launchers,
            attachment,
        )
        .await?;
        let has_ended =
            matches!(outcome.end, StepEnd::Exited(_) | StepEnd::Signaled(_));
        if let Some(files) = spec.keep_files.as_ref().filter(|_| has_ended) {
            let read = step::read_files(init_socket, handles, files).await;
            // The program did its part, whatever it did to its files.
            outcome.files = Some(read.unwrap_or_else(|error| {
                tracing::debug!(%error, "files were not read");
                handles.kill();
                LeftFiles::unreadable()
            }));
        }
        Ok(outcome)
    }

    /// Kills everything in the box and waits until all its processes have
    /// ended. Its other resources are freed when it is dropped.
    ///
    /// # Errors
    ///
    /// Returns an error if the end cannot be watched, for example if no
    /// descriptor is free.
    pub async fn kill(&mut self) -> Result<()> {
        self.parts()?.handles.kill_and_wait().await
    }

    /// Kills everything in the box and waits until nothing of it is left.
    pub async fn destroy(mut self) {
        if let Some(clearing) = self.end() {
            // It fails only if the runtime ends, and the process with it.
            let _ = clearing.await;
        }
    }

    /// Kills everything in the box. A task of its own removes it, and goes on
    /// if the future that waits for it is dropped.
    fn end(&mut self) -> Option<JoinHandle<()>> {
        let parts = self.parts.take()?;
        // Without a runtime the process is ending. Its boxes end with it, and
        // the next start removes their groups.
        let runtime = Handle::try_current().ok()?;
        parts.handles.kill();
        Some(runtime.spawn(parts.clear()))
    }

    fn parts(&mut self) -> Result<&mut Parts> {
        self.parts.as_mut().ok_or_else(|| unexpected("a box that stands"))
    }
}

/// Starts an init and makes its group.
async fn start(host: &Host, spec: &BoxSpec, ids: IdRange) -> Result<Sandbox> {
    let user_namespace = match host.source.identity() {
        Identity::Range => UserNamespace::Join,
        Identity::Single => UserNamespace::Make,
    };
    let setup = Request::Setup(Setup {
        rootfs: spec.rootfs.clone(),
        user_namespace,
        disk_bytes: spec.disk_bytes,
        inodes: spec.inodes,
        devices: ids.devices(),
    });
    let namespace = ids.user_namespace();
    // Init first: it makes its namespaces while the group is made. It ends when
    // its socket is closed.
    let PendingInit { socket, fork_server } = host.spawner.spawn()?;
    let init_socket = set_up(socket, &setup, namespace).await?;
    let group = host.cgroups.make_box(&host.next_box_name(), spec);
    let again = async || {
        let pending = host.spawner.spawn_again(fork_server)?;
        set_up(pending.socket, &setup, namespace).await
    };
    match (begun(init_socket, again).await, group) {
        (Ok((init_socket, outer)), Ok(group)) => {
            let handles = ProcessHandles {
                outer,
                init: None,
                group,
                uncharged: None,
                ids,
            };
            Ok(Sandbox {
                parts: Some(Parts { init_socket, handles }),
                launchers: Launchers::default(),
                processes: spec.processes,
            })
        }
        (Ok((init_socket, outer)), Err(error)) => {
            // Init may be in the user namespace, which the next box gets as
            // soon as `ids` is dropped: it must end before.
            drop(init_socket);
            let group = Group::none();
            ProcessHandles { outer, init: None, group, uncharged: None, ids }
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

/// Sends the setup to an init that was requested.
async fn set_up(
    socket: UnixStream,
    setup: &Request<'_>,
    namespace: Option<BorrowedFd<'_>>,
) -> Result<InitSocket> {
    let mut init_socket = InitSocket::new(socket)?;
    match init_socket.send(setup, namespace.as_slice()).await {
        // The caller waits for its first reply, and learns that none comes.
        Err(error) if error.was_not_delivered() => {}
        sent => sent?,
    }
    Ok(init_socket)
}

/// Waits until init's outer half has begun. If the fork server was killed
/// before it started this one, requests one `again`.
async fn begun(
    mut init_socket: InitSocket,
    again: impl AsyncFnOnce() -> Result<InitSocket>,
) -> Result<(InitSocket, OwnedFd)> {
    let mut reply = init_socket.receive().await;
    let is_lost = |error: &SandboxError| {
        error.cause.kind() == io::ErrorKind::UnexpectedEof
            || error.was_not_delivered()
    };
    if reply.as_ref().is_err_and(is_lost) {
        init_socket = again().await?;
        reply = init_socket.receive().await;
    }
    match reply? {
        (Reply::Begun, mut descriptors) => descriptors
            .pop()
            .map(|outer| (init_socket, outer))
            .ok_or_else(|| unexpected("its beginning")),
        _ => Err(unexpected("its beginning")),
    }
}

impl Drop for Sandbox {
    fn drop(&mut self) {
        drop(self.end());
    }
}

impl Parts {
    /// Has init join its group and build the box.
    async fn build(&mut self, host: &Host) -> Result<()> {
        let Self { init_socket, handles } = self;
        let groups: Vec<_> = handles.group.joins().collect();
        init_socket.send(&Request::Join(groups.len()), &groups).await?;
        let (Reply::Ready { own_inodes }, descriptors) =
            init_socket.receive().await?
        else {
            return Err(unexpected("its readiness"));
        };
        let mut descriptors = descriptors.into_iter();
        handles.init = descriptors.next();
        handles.uncharged = Uncharged::new(descriptors);
        if handles.uncharged.is_none() {
            return Err(unexpected("a pidfd and counts"));
        }
        if !own_inodes {
            host.warn_of_shared_inodes();
        }
        Ok(())
    }

    async fn clear(self) {
        let Self { init_socket, handles } = self;
        if handles.init.is_none() {
            // An init whose pid is not known yet ends with the socket.
            drop(init_socket);
            handles.clear().await;
        } else {
            // The socket last: at its close the kernel collects sockets that
            // programs left in messages to themselves, with their memory.
            handles.clear().await;
            drop(init_socket);
        }
    }
}

fn unexpected(what: &str) -> SandboxError {
    SandboxError::other("receive from init", format!("expected {what}"))
}
