//! The engine: runs submissions on the executor, and asks the health monitor
//! which languages can run.

use std::collections::BTreeMap;
use std::fs::File;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use sandpiper_languages::{Catalog, Language, Submission};
use sandpiper_sandbox::{Host, SandboxError};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::Limits;
use crate::admission::Load;
use crate::attachment::RunAttachment;
use crate::executor::Executor;
use crate::monitor::HealthMonitor;
use crate::options::{LowerLimits, RunOptions};
use crate::outcome::Outcome;
use crate::pool::PoolState;
use crate::readiness::{Images, LanguageState};
use crate::refusal::Refusal;
use crate::run::RunSpec;
use crate::settings::EngineSettings;

/// The reason why nothing can run on this host.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum HostError {
    /// No box can be made. The text is the sandbox's error.
    #[error("{0}")]
    NoSandbox(String),
    /// Programs would run without limits, and
    /// [`EngineSettings::allow_missing_limits`] is off. The text describes the
    /// control groups.
    #[error("this host cannot limit memory and processes ({0})")]
    MissingLimits(String),
}

/// Runs submissions. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Engine {
    executor: Arc<Executor>,
    monitor: Arc<HealthMonitor>,
    host_error: Option<HostError>,
    /// One task watches the languages; the others fill the pool.
    tasks: Arc<[AbortHandle]>,
}

impl Engine {
    /// Creates an engine on a host that is set up, and starts to check the languages.
    /// It must be called in a runtime.
    ///
    /// If the host cannot make boxes, or cannot limit them, the engine refuses
    /// every submission. Clients then read the words of `describe`, and
    /// [`Self::host_error`] has the reason.
    pub fn new(
        settings: EngineSettings,
        host: Result<Host, SandboxError>,
        catalog: Catalog,
        images: Arc<dyn Images>,
        describe: impl FnOnce(&HostError) -> String,
    ) -> Self {
        let host = host
            .map_err(|error| HostError::NoSandbox(error.to_string()))
            .and_then(|host| check_limits(host, &settings));
        let (host, host_error) = match host {
            Ok(host) => (Some(Arc::new(host)), None),
            Err(error) => (None, Some(error)),
        };
        let executor = Arc::new(Executor::new(&settings, host));
        let monitor = Arc::new(HealthMonitor::new(
            Arc::clone(&executor),
            catalog,
            images,
            settings.check_interval,
            host_error.as_ref().map(describe),
        ));
        let watch = HealthMonitor::watch(Arc::downgrade(&monitor));
        let mut tasks = vec![tokio::spawn(watch).abort_handle()];
        tasks.extend(executor.start_fillers());
        Self { executor, monitor, host_error, tasks: tasks.into() }
    }

    /// Returns the reason why nothing can run on this host, if so.
    pub fn host_error(&self) -> Option<&HostError> {
        self.host_error.as_ref()
    }

    /// Returns the languages.
    pub fn catalog(&self) -> &Catalog {
        self.monitor.catalog()
    }

    /// Returns the state of every language, in the catalog's order.
    pub fn languages(&self) -> Vec<LanguageState> {
        self.monitor.states().borrow().clone()
    }

    /// Returns a receiver of [`Self::languages`] that sees each change of
    /// readiness.
    pub fn watch_languages(&self) -> watch::Receiver<Vec<LanguageState>> {
        self.monitor.states().subscribe()
    }

    /// Returns how busy the engine is.
    pub fn load(&self) -> Load {
        self.executor.load()
    }

    /// Returns the boxes of the pool.
    pub fn pool_state(&self) -> PoolState {
        self.executor.pool_state()
    }

    /// Returns the bytes of compile artifacts that are kept, and the most that
    /// may be.
    pub fn compile_cache(&self) -> (u64, u64) {
        self.executor.compile_cache()
    }

    /// Returns the limits of a run in this language, whose client asks for these
    /// lower ones.
    pub fn limits(
        &self,
        language: &Language,
        is_interactive: bool,
        lower: &LowerLimits,
    ) -> Limits {
        let plan = language.plan_ahead();
        self.executor.limits(&plan, is_interactive, lower).of_steps
    }

    /// Returns the versions of the tools and libraries of this language, by
    /// their names; none if its image is not complete.
    pub fn versions(&self, language: &Language) -> BTreeMap<String, String> {
        self.monitor.versions(language.image())
    }

    /// Opens a file of a language's image by its absolute path there. Returns
    /// `None` if it cannot be opened now.
    pub fn open_file(&self, language: &Language, path: &str) -> Option<File> {
        let opened = self.monitor.open_file(language.image(), path);
        if let Err(error) = &opened {
            // The caller can do without it.
            let language = language.id();
            tracing::debug!(language, path, %error, "a file is not there");
        }
        opened.ok()
    }

    /// Returns how many live runs there are.
    pub fn live_load(&self) -> Load {
        self.executor.live_load()
    }

    /// Runs `submission` for `client`. Dropping the future kills the run.
    ///
    /// # Errors
    ///
    /// Returns an error if it was not run: too many runs wait, its language
    /// cannot run here, or the sandbox failed. The end of a program is never an
    /// error.
    pub async fn execute(
        &self,
        submission: Submission,
        options: RunOptions,
        attachment: RunAttachment,
        client: IpAddr,
    ) -> Result<Outcome, Refusal> {
        let Self { executor, monitor, .. } = self;
        let rootfs = monitor.ready_rootfs(submission.language())?;
        let plan = submission.plan();
        let (language, image) = (plan.language.clone(), plan.image.clone());
        let arrived = Instant::now();
        let entered = async {
            if attachment.is_interactive() {
                executor.enter_live(client).await
            } else {
                executor.enter(client).await
            }
        };
        let permit = tokio::select! {
            biased;
            permit = entered => permit?,
            () = attachment.stopped() => {
                return Ok(Outcome::stopped_in_queue(arrived.elapsed()));
            }
        };
        let queue = arrived.elapsed();
        let spec = RunSpec { plan, options, attachment };
        let run = executor.run(spec, rootfs.clone(), permit, queue, true);
        let result = run.await;
        monitor.learn(&language, &rootfs, &result);
        result.map_err(|refusal| {
            // An image that has gone is the reason for any failure.
            monitor.rootfs(&image).err().unwrap_or(refusal)
        })
    }

    /// Waits until every box is gone, and removes the control groups. A
    /// self-test that is running is killed; runs of clients are not.
    pub async fn close(&self) {
        self.tasks.iter().for_each(AbortHandle::abort);
        self.executor.close().await;
    }
}

/// Refuses a host on which programs would run without limits, unless the
/// operator allows it.
fn check_limits(
    host: Host,
    settings: &EngineSettings,
) -> Result<Host, HostError> {
    let has = host.controllers();
    if settings.allow_missing_limits || has.memory && has.processes {
        Ok(host)
    } else {
        Err(HostError::MissingLimits(host.describe_groups()))
    }
}
