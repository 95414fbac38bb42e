//! The engine: takes a submission through admission, a box and its steps, and
//! knows which languages can run.

use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sandpiper_languages::{Catalog, Language, Plan, Submission};
use sandpiper_sandbox::{Host, SandboxError};
use tokio::sync::watch;
use tokio::task::AbortHandle;

use crate::admission::{Admission, Cause, Full, Slot};
use crate::artifacts::ArtifactCache;
use crate::kind::Kind;
use crate::outcome::{End, Outcome, Timing};
use crate::readiness::{Checks, ImageState, Images, LanguageState, Readiness};
use crate::ready::{ReadyBoxes, Supply, fill};
use crate::run::{self, Means};
use crate::settings::Settings;
use crate::watcher::watch_languages;

/// When a client may come back for a language whose image is being built.
const BUILDING_RETRY: Duration = Duration::from_secs(10);

/// When a client may come back where the host was short of something.
const SHORTAGE_RETRY: Duration = Duration::from_secs(5);

/// Why a submission was not run. The text is for the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// More work is waiting than the queue holds, or the wait was too long.
    #[error("{cause}")]
    Busy {
        /// What was full.
        cause: Cause,
        /// When to come back.
        retry_after: Duration,
    },
    /// The host is short of what a box needs.
    #[error("this server is short of resources; come back")]
    Short {
        /// When to come back.
        retry_after: Duration,
    },
    /// The language cannot run here, or not yet.
    #[error("{message}")]
    Unavailable {
        /// Why, and what the operator can do.
        message: String,
        /// When to come back, where waiting helps.
        retry_after: Option<Duration>,
    },
    /// The sandbox itself failed; the reason is in the log.
    #[error("the sandbox failed; the operator's log says why")]
    Failed,
}

/// How busy the engine is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Load {
    /// Runs that have a box.
    pub running: usize,
    /// Boxes that can be in use at once.
    pub boxes: usize,
    /// Runs that wait for one.
    pub waiting: usize,
    /// Runs that may wait.
    pub places: usize,
}

/// Runs submissions. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Engine {
    shared: Arc<Shared>,
    /// One looks at images and runs starter programs; the others make boxes
    /// ahead.
    tasks: Arc<[AbortHandle]>,
}

/// How many boxes are made ahead at once: one that takes long keeps no other
/// back.
const FILLERS: usize = 2;

#[derive(Debug)]
pub(crate) struct Shared {
    settings: Settings,
    /// Why there is none, where boxes cannot be made here.
    pub(crate) host: Result<Arc<Host>, String>,
    pub(crate) catalog: Catalog,
    pub(crate) images: Arc<dyn Images>,
    pub(crate) admission: Admission,
    pub(crate) ready: ReadyBoxes,
    artifacts: ArtifactCache,
    pub(crate) languages: watch::Sender<Vec<LanguageState>>,
    checks: Mutex<Checks>,
}

impl Engine {
    /// An engine on a prepared host; without one it refuses every submission
    /// and tells the client to ask the operator. Starts to look at the images and to check
    /// each language by its starter program; call it in a runtime.
    pub fn new(
        settings: Settings,
        host: Result<Host, SandboxError>,
        catalog: Catalog,
        images: Arc<dyn Images>,
    ) -> Self {
        let host = match host {
            Ok(host) => why_unsafe(&host, &settings).map_or(Ok(host), Err),
            Err(error) => Err(error.to_string()),
        };
        let host = host.map(Arc::new).inspect_err(|why| {
            tracing::error!(
                "nothing can run: {why}; `sandpiper doctor` says how to mend it"
            );
        });
        let admission = Admission::new(
            settings.boxes,
            settings.queue_length,
            settings.queue_wait,
        );
        let unchecked = catalog
            .languages()
            .map(|language| {
                let text = "not looked at yet".to_owned();
                LanguageState {
                    id: language.id().to_owned(),
                    readiness: Readiness::Building(text),
                    since: Instant::now(),
                    proved: None,
                }
            })
            .collect();
        let checks = Checks::new(settings.check_interval);
        let ready =
            ReadyBoxes::new(settings.warm_memory_bytes, settings.boxes_ahead());
        let shared = Arc::new(Shared {
            artifacts: ArtifactCache::new(settings.artifact_bytes),
            settings,
            host,
            catalog,
            images,
            admission,
            ready,
            languages: watch::Sender::new(unchecked),
            checks: Mutex::new(checks),
        });
        let watcher = tokio::spawn(watch_languages(Arc::downgrade(&shared)));
        let fillers = shared.host.iter().filter(|_| shared.ready.is_on());
        let fillers = fillers.flat_map(|host| {
            (0..FILLERS).map(|_| {
                let ready = shared.ready.clone();
                let admission = shared.admission.clone();
                tokio::spawn(fill(ready, Arc::clone(host), admission))
            })
        });
        let tasks = std::iter::once(watcher)
            .chain(fillers)
            .map(|task| task.abort_handle())
            .collect();
        Self { shared, tasks }
    }

    /// The languages it knows.
    pub fn catalog(&self) -> &Catalog {
        &self.shared.catalog
    }

    /// Every language of the catalogue and whether it can run, in the
    /// catalogue's order.
    pub fn languages(&self) -> Vec<LanguageState> {
        self.shared.languages.borrow().clone()
    }

    /// The same, to wait for changes of readiness.
    pub fn watch_languages(&self) -> watch::Receiver<Vec<LanguageState>> {
        self.shared.languages.subscribe()
    }

    /// How busy it is now.
    pub fn load(&self) -> Load {
        let admission = &self.shared.admission;
        Load {
            running: admission.running(),
            boxes: self.shared.settings.boxes,
            waiting: admission.waiting(),
            places: self.shared.settings.queue_length,
        }
    }

    /// The boxes that are ready.
    pub fn supply(&self) -> Supply {
        self.shared.ready.supply()
    }

    /// Artifacts that are kept, in bytes, and the most that may be.
    pub fn artifacts(&self) -> (u64, u64) {
        self.shared.artifacts.size()
    }

    /// Runs `submission` for `client`. Dropping the future kills the run.
    ///
    /// # Errors
    ///
    /// When it was not run: too much is waiting, its language cannot run here,
    /// or the sandbox failed. What the program does is never an error.
    pub async fn execute(
        &self,
        submission: Submission,
        client: IpAddr,
    ) -> Result<Outcome, Refusal> {
        let shared = &self.shared;
        shared.check_ready(submission.language())?;
        let plan = submission.plan();
        let (language, image) = (plan.language.clone(), plan.image.clone());
        let rootfs = shared.rootfs(&image)?;
        let arrived = Instant::now();
        let slot = shared.admission.enter(client).await.map_err(busy)?;
        let queue = arrived.elapsed();
        let result = shared.run(plan, rootfs.clone(), slot, queue, true).await;
        shared.learn(&language, &rootfs, &result);
        result.map_err(|refusal| {
            // An image that is gone is told as what it is.
            shared.rootfs(&image).err().unwrap_or(refusal)
        })
    }

    /// Waits until every box is gone, and removes the control groups. A
    /// starter program that is being run is killed; runs of clients are not.
    pub async fn close(&self) {
        self.tasks.iter().for_each(AbortHandle::abort);
        self.shared.ready.clear();
        if let Ok(host) = &self.shared.host {
            host.close().await;
        }
    }
}

impl Shared {
    fn check_ready(&self, language: &Language) -> Result<(), Refusal> {
        let languages = self.languages.borrow();
        let found = languages.iter().find(|state| state.id == language.id());
        let (why, retry_after) = match found.map(|state| &state.readiness) {
            Some(Readiness::Ready) => return Ok(()),
            Some(Readiness::Building(how_far)) => {
                (format!("is being prepared: {how_far}"), Some(BUILDING_RETRY))
            }
            Some(Readiness::Missing(why) | Readiness::Broken(why)) => {
                (format!("cannot run here: {why}"), None)
            }
            None => ("is not served here".to_owned(), None),
        };
        let message = format!("{} {why}", language.name());
        Err(Refusal::Unavailable { message, retry_after })
    }

    /// Runs a plan that has its slot, and waited this long for it. `is_demand`:
    /// a client asked for it.
    pub(crate) async fn run(
        &self,
        plan: Plan,
        rootfs: PathBuf,
        slot: Slot,
        queue: Duration,
        is_demand: bool,
    ) -> Result<Outcome, Refusal> {
        let host = self.host.as_ref().map_err(|_| Refusal::Failed)?;
        let timing = Timing { queue, ..Timing::default() };
        let limits = &self.settings.limits;
        let language = plan.language.clone();
        let ready = &self.ready;
        let artifacts = &self.artifacts;
        let means = Means { host, limits, ready, artifacts, is_demand };
        let run = run::run(means, plan, rootfs, slot, timing);
        run.await.map_err(|error| {
            tracing::error!(%language, %error, "the sandbox failed");
            failed(&error)
        })
    }

    /// Says which boxes may be made ahead: those of languages that can run.
    pub(crate) fn offer_boxes(&self) {
        if !self.ready.is_on() {
            return;
        }
        let languages = self.languages.borrow();
        let offered = languages.iter().filter_map(|state| {
            if state.readiness != Readiness::Ready {
                return None;
            }
            let language = self.catalog.find(&state.id)?;
            let rootfs = self.rootfs(language.image()).ok()?;
            let plan = language.plan_ahead();
            let kind = Kind::of(&self.settings.limits, rootfs, &plan);
            Some((state.id.clone(), kind))
        });
        self.ready.offer(offered.collect());
    }

    /// What is known of the starter programs.
    pub(crate) fn checks(&self) -> MutexGuard<'_, Checks> {
        // No change of them can stop halfway.
        self.checks.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Records that a program of this language ran right.
    pub(crate) fn prove(&self, language: &str, now: Instant) {
        // Nobody is woken: no readiness has changed.
        self.languages.send_if_modified(|all| {
            let found = all.iter_mut().find(|state| state.id == language);
            if let Some(state) = found {
                state.proved = Some(now);
            }
            false
        });
    }

    /// What a client's run tells of its language.
    fn learn(
        &self,
        language: &str,
        rootfs: &Path,
        result: &Result<Outcome, Refusal>,
    ) {
        let now = Instant::now();
        match result {
            // One that did not compile proves nothing of the compiler.
            Ok(outcome)
                if outcome.end == End::Exited(0)
                    && !outcome.start.is_compiled =>
            {
                self.checks().proved(language, rootfs, now);
                self.prove(language, now);
            }
            // What the host lacked is no fault of the language.
            Ok(_) | Err(Refusal::Short { .. }) => {}
            Err(_) => self.checks().suspected(language, rootfs, now),
        }
    }

    pub(crate) fn rootfs(&self, image: &str) -> Result<PathBuf, Refusal> {
        match self.images.state(image) {
            ImageState::Ready(rootfs) => Ok(rootfs),
            ImageState::Building(_)
            | ImageState::Missing
            | ImageState::Broken(_) => Err(Refusal::Unavailable {
                message: format!("the image {image} is being replaced"),
                retry_after: Some(BUILDING_RETRY),
            }),
        }
    }
}

/// Why nothing may run on this host, if so: programs would be without limits.
fn why_unsafe(host: &Host, settings: &Settings) -> Option<String> {
    let has = host.controllers();
    if settings.allow_missing_limits || has.memory && has.processes {
        return None;
    }
    Some(format!(
        "this host cannot limit memory and processes ({}), and \
         --allow-missing-limits was not given",
        host.describe_groups()
    ))
}

pub(crate) fn busy(full: Full) -> Refusal {
    Refusal::Busy { cause: full.cause, retry_after: full.retry_after }
}

/// What a client is told when no box could be made, or one was lost.
fn failed(error: &SandboxError) -> Refusal {
    if error.is_shortage() {
        Refusal::Short { retry_after: SHORTAGE_RETRY }
    } else {
        Refusal::Failed
    }
}
