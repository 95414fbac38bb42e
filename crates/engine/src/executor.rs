//! The executor: runs plans in boxes, as many at once as the host can.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use sandpiper_languages::Plan;
use sandpiper_sandbox::Host;
use tokio::task::AbortHandle;

use crate::Limits;
use crate::admission::{Admission, BusyCause, Load, RunPermit};
use crate::compile_cache::CompileCache;
use crate::effective_limits::EffectiveLimits;
use crate::lease::RunContext;
use crate::options::LowerLimits;
use crate::outcome::{Outcome, Timing};
use crate::pool::{BoxPool, PoolKey, PoolState, fill};
use crate::refusal::Refusal;
use crate::run::{self, RunSpec};
use crate::settings::EngineSettings;

/// The number of tasks that fill the pool. With more than one, a box that takes
/// long to make does not keep the others back.
const FILLERS: usize = 2;

/// The host, and everything that runs share on it.
#[derive(Debug)]
pub(crate) struct Executor {
    /// `None` if boxes cannot be made here.
    host: Option<Arc<Host>>,
    limits: Limits,
    admission: Admission,
    /// For live runs, which hold a box for minutes. They have no queue.
    live_admission: Admission,
    pool: BoxPool,
    compile_cache: CompileCache,
}

impl Executor {
    pub(crate) fn new(
        settings: &EngineSettings,
        host: Option<Arc<Host>>,
    ) -> Self {
        Self {
            host,
            limits: settings.limits.clone(),
            admission: Admission::new(
                settings.boxes,
                settings.queue_length,
                settings.queue_wait,
            ),
            live_admission: Admission::of_live_runs(settings.live_boxes),
            pool: BoxPool::new(
                settings.pool_memory_bytes,
                settings.pool_boxes(),
            ),
            compile_cache: CompileCache::new(settings.compile_cache_bytes),
        }
    }

    /// Starts the tasks that fill the pool. They run until they are
    /// aborted.
    pub(crate) fn start_fillers(&self) -> Vec<AbortHandle> {
        let Some(host) = self.host.as_ref().filter(|_| self.pool.is_on())
        else {
            return Vec::new();
        };
        let start = |_| {
            let (pool, admission) = (self.pool.clone(), self.admission.clone());
            let filler = fill(pool, Arc::clone(host), admission);
            tokio::spawn(filler).abort_handle()
        };
        (0..FILLERS).map(start).collect()
    }

    /// Waits for a slot. Dropping the future leaves the queue.
    ///
    /// # Errors
    ///
    /// Returns [`Refusal::Busy`] if too many runs wait, or if no slot became
    /// free in time.
    pub(crate) async fn enter(
        &self,
        client: IpAddr,
    ) -> Result<RunPermit, Refusal> {
        Ok(self.admission.enter(client).await?)
    }

    /// Takes a slot of live runs, without waiting.
    ///
    /// # Errors
    ///
    /// Returns an error if none is free for `client`.
    pub(crate) async fn enter_live(
        &self,
        client: IpAddr,
    ) -> Result<RunPermit, Refusal> {
        let entered = self.live_admission.enter(client).await;
        entered.map_err(|busy| {
            let Load { running, boxes, .. } = self.live_load();
            let cause = if running < boxes {
                BusyCause::LiveShare
            } else {
                BusyCause::Live(boxes)
            };
            Refusal::Busy { cause, retry_after: busy.retry_after }
        })
    }

    /// Takes a slot, if one is free and no other run could use it.
    pub(crate) fn try_enter(&self, client: IpAddr) -> Option<RunPermit> {
        self.admission.try_enter(client)
    }

    /// Resolves as soon as a run waits that could use any slot.
    pub(crate) async fn contended(&self) {
        self.admission.contended().await;
    }

    /// Makes a run, which waited in the queue for this long. `is_demand` means
    /// that a client asked for it. Dropping the future kills the run.
    ///
    /// # Errors
    ///
    /// Returns an error if no box could be made, or if the sandbox failed.
    pub(crate) async fn run(
        &self,
        spec: RunSpec,
        rootfs: PathBuf,
        permit: RunPermit,
        queue: Duration,
        is_demand: bool,
    ) -> Result<Outcome, Refusal> {
        let host = self.host.as_ref().ok_or(Refusal::Failed)?;
        let timing = Timing { queue, ..Timing::default() };
        let language = spec.plan.language.clone();
        let Self { limits, pool, compile_cache, .. } = self;
        let context =
            RunContext { host, limits, pool, compile_cache, is_demand };
        let run = run::run(context, spec, rootfs, permit, timing);
        run.await.map_err(|error| {
            tracing::error!(%language, %error, "the sandbox failed");
            error.into()
        })
    }

    /// Sets the languages that boxes are made ahead for: the id, the image and
    /// the plan of each.
    pub(crate) fn offer(
        &self,
        languages: impl Iterator<Item = (String, PathBuf, Plan)>,
    ) {
        if !self.pool.is_on() {
            return;
        }
        let keys = languages.map(|(id, rootfs, plan)| {
            let limits = self.limits(&plan, false, &LowerLimits::default());
            (id, PoolKey::of(&limits.of_box, rootfs, &plan))
        });
        self.pool.offer(keys.collect());
    }

    /// Returns the limits of a run of `plan`.
    pub(crate) fn limits(
        &self,
        plan: &Plan,
        is_interactive: bool,
        lower: &LowerLimits,
    ) -> EffectiveLimits {
        EffectiveLimits::new(&self.limits, plan, is_interactive, lower)
    }

    /// Returns how many live runs have a box, of how many. Without boxes, live
    /// runs are off.
    pub(crate) fn live_load(&self) -> Load {
        self.live_admission.load()
    }

    /// Returns how many runs have a box and how many wait.
    pub(crate) fn load(&self) -> Load {
        self.admission.load()
    }

    /// Returns the boxes of the pool.
    pub(crate) fn pool_state(&self) -> PoolState {
        self.pool.state()
    }

    /// Returns the bytes of compile artifacts that are kept, and the most that
    /// may be.
    pub(crate) fn compile_cache(&self) -> (u64, u64) {
        self.compile_cache.size()
    }

    /// Waits until every box is gone, and removes the control groups. The tasks
    /// that fill the pool must have ended.
    pub(crate) async fn close(&self) {
        self.pool.clear();
        if let Some(host) = &self.host {
            host.close().await;
        }
    }
}
