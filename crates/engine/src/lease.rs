//! The box of one run, from the moment it is taken to the end of the run.

use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Instant;

use sandpiper_sandbox::{
    Attachment, Host, Inputs, Sandbox, SandboxError, StepOutcome, StepSpec,
};
use tokio::runtime::Handle;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::Limits;
use crate::admission::RunPermit;
use crate::compile_cache::CompileCache;
use crate::limits::MAKE_TIME;
use crate::outcome::{StartKind, Timing};
use crate::pool::{BoxPool, PoolKey};

/// Everything that a run uses.
#[derive(Clone, Copy)]
pub(crate) struct RunContext<'a> {
    pub(crate) host: &'a Arc<Host>,
    pub(crate) limits: &'a Limits,
    pub(crate) pool: &'a BoxPool,
    pub(crate) compile_cache: &'a CompileCache,
    /// Whether a client asked for the run. Otherwise it is a self-test.
    pub(crate) is_demand: bool,
}

/// A box that is being made. It is polled to its end even if the run's future is
/// dropped.
type Making =
    Pin<Box<dyn Future<Output = Result<Sandbox, SandboxError>> + Send>>;

/// The box of a run and its permit.
pub(crate) struct Lease<'a> {
    pub(crate) context: RunContext<'a>,
    pub(crate) key: &'a PoolKey,
    pub(crate) start_kind: StartKind,
    pub(crate) timing: Timing,
    /// Whether a step has run in the box.
    is_used: bool,
    /// `None` before a box is taken or made, and after the end.
    sandbox: Option<Sandbox>,
    /// `Some` while a box is made, and after that if it takes too long.
    making: Option<Making>,
    /// `None` after the end.
    permit: Option<RunPermit>,
}

impl<'a> Lease<'a> {
    /// Creates a lease without a box. `timing` holds the time in the queue.
    pub(crate) fn new(
        context: RunContext<'a>,
        key: &'a PoolKey,
        permit: RunPermit,
        timing: Timing,
    ) -> Self {
        Self {
            context,
            key,
            start_kind: key.start_kind(),
            timing,
            is_used: false,
            sandbox: None,
            making: None,
            permit: Some(permit),
        }
    }

    /// Takes a box of the pool, or makes one.
    ///
    /// # Errors
    ///
    /// Returns an error if the host cannot make a box.
    pub(crate) async fn take_box(&mut self) -> Result<(), SandboxError> {
        let started = Instant::now();
        let RunContext { pool, is_demand, .. } = self.context;
        self.sandbox = pool.take(self.key, is_demand);
        self.timing.prepare = started.elapsed();
        if self.sandbox.is_none() {
            self.make_box().await?;
        }
        Ok(())
    }

    /// Runs a step in the box.
    ///
    /// # Errors
    ///
    /// Returns an error if the sandbox failed. The end of the program is never
    /// an error.
    pub(crate) async fn run(
        &mut self,
        step: &StepSpec,
        inputs: Inputs<'_>,
        attachment: &mut Attachment,
    ) -> Result<StepOutcome, SandboxError> {
        let is_replaceable =
            self.start_kind != StartKind::Cold && !self.is_used;
        self.is_used = true;
        match self.sandbox()?.run_with(step, inputs, attachment).await {
            // A box that died while it waited in the pool has not seen the step.
            Err(error) if is_replaceable && error.was_not_delivered() => {
                let sandbox = self.make_box().await?;
                sandbox.run_with(step, inputs, attachment).await
            }
            ran => ran,
        }
    }

    /// Returns the box.
    ///
    /// # Errors
    ///
    /// Returns an error if there is none.
    pub(crate) fn sandbox(&mut self) -> Result<&mut Sandbox, SandboxError> {
        self.sandbox.as_mut().ok_or_else(|| failed("there is no box"))
    }

    /// Ends the run: [`end_run`] does the rest in a task of its own, for the
    /// answer does not wait for it. Returns that task. A second call does nothing.
    pub(crate) fn end(&mut self) -> Option<JoinHandle<()>> {
        let permit = self.permit.take()?;
        let (sandbox, making) = (self.sandbox.take(), self.making.take());
        let pool = self.context.pool.clone();
        let runtime = Handle::try_current().ok()?;
        Some(runtime.spawn(end_run(sandbox, making, permit, pool)))
    }

    async fn make_box(&mut self) -> Result<&mut Sandbox, SandboxError> {
        let started = Instant::now();
        // The old box goes first, because it counts among the host's boxes.
        drop(self.sandbox.take());
        let (host, spec) =
            (Arc::clone(self.context.host), self.key.spec.clone());
        let making = async move { Sandbox::make(&host, &spec).await };
        let making = self.making.insert(Box::pin(making));
        let made = timeout(MAKE_TIME, making)
            .await
            .map_err(|_| failed("it took too long to make a box"))?;
        self.making = None;
        let made = made?;
        self.start_kind = StartKind::Cold;
        self.timing.prepare += started.elapsed();
        Ok(self.sandbox.insert(made))
    }
}

/// The future of a run is dropped when its client leaves, and then it never
/// reaches its call of [`Lease::end`].
impl Drop for Lease<'_> {
    fn drop(&mut self) {
        drop(self.end());
    }
}

/// The end of every run, in order: the processes, the slot, the box, and the
/// refill of the pool. The server writes the line of the log when it has the result
/// (`record_end`), which may be before or after these.
async fn end_run(
    sandbox: Option<Sandbox>,
    making: Option<Making>,
    permit: RunPermit,
    pool: BoxPool,
) {
    // A box that is being made has processes already, and its end can be watched
    // when it is there. Without this wait a client that connects and leaves
    // again and again would have more boxes made than there are slots.
    let sandbox = match making {
        Some(making) => making.await.ok(),
        None => sandbox,
    };
    let Some(mut sandbox) = sandbox else {
        drop(permit);
        pool.refill();
        return;
    };
    // 1. Every process of the box is killed.
    let is_dead = sandbox.kill().await.is_ok();
    // 2. The slot goes to the next run. The removal of namespaces, files and
    //    groups takes some milliseconds more, and the next run need not wait
    //    for them. If boxes are never made ahead and runs wait, it does wait:
    //    its own box would take longer to make beside the removal.
    let admission = permit.admission();
    let mut permit = Some(permit);
    let removal = (is_dead && (pool.is_on() || !admission.is_contended()))
        .then(|| admission.try_remove())
        .flatten();
    if removal.is_some() {
        drop(permit.take());
    }
    // 3. The box is removed, and the slot goes now if it has not gone before.
    pool.refill_if_long(pin!(sandbox.destroy())).await;
    drop((permit, removal));
    // 4. A box is made ahead in place of the one that was taken.
    pool.refill();
}

/// Returns an error of the engine itself, in the words of the sandbox's errors.
pub(crate) fn failed(reason: &str) -> SandboxError {
    let cause = std::io::Error::other(reason.to_owned());
    SandboxError { step: "run a plan".to_owned(), cause }
}
