//! The engine: takes a submission through admission, a box and its steps, and
//! knows which languages can run.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::sync::{Arc, Weak};
use std::time::{Duration, Instant};

use sandpiper_languages::{Catalog, Language, Plan, Submission};
use sandpiper_sandbox::{Host, SandboxError};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::sleep;

use crate::admission::{Admission, Full};
use crate::outcome::{End, Outcome, Timing};
use crate::readiness::{Checks, ImageState, Images, Next, Readiness};
use crate::{Limits, run};

/// How often images are looked at: a new or a lost one is seen this late.
const LOOK_AT_IMAGES: Duration = Duration::from_secs(1);
/// When a client may come back for a language whose image is being built.
const BUILDING_RETRY: Duration = Duration::from_secs(10);

/// When a client may come back where the host was short of something.
const SHORTAGE_RETRY: Duration = Duration::from_secs(5);

/// What a client reads where no box can be made; the reason is in the log.
const NO_HOST: &str = "this host has no safe sandbox: the operator's log says \
                       why, and `sandpiper doctor` how to mend it";

/// Settings of the engine, from the operator.
#[derive(Clone, Debug)]
pub struct Settings {
    /// What one run may use.
    pub limits: Limits,
    /// Boxes running at once.
    pub boxes: usize,
    /// Runs that may wait for a box.
    pub queue_length: usize,
    /// How long a run may wait.
    pub queue_wait: Duration,
    /// Run also where the host cannot limit memory and processes.
    pub allow_missing_limits: bool,
}

/// Why a submission was not run. The text is for the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// More work is waiting than the queue holds, the wait was too long, or
    /// the host is short of what a box needs.
    #[error("{message}")]
    Busy {
        /// What the client reads.
        message: String,
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
    /// Runs that wait for one.
    pub waiting: usize,
}

/// Runs submissions. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Engine {
    shared: Arc<Shared>,
    /// Looks at images and runs starter programs.
    watcher: AbortHandle,
}

#[derive(Debug)]
struct Shared {
    settings: Settings,
    /// Why there is none, where boxes cannot be made here.
    host: Result<Arc<Host>, String>,
    catalog: Catalog,
    images: Arc<dyn Images>,
    admission: Admission,
    readiness: watch::Sender<Vec<(String, Readiness)>>,
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
                (language.id().to_owned(), Readiness::Building(text))
            })
            .collect();
        let shared = Arc::new(Shared {
            settings,
            host,
            catalog,
            images,
            admission,
            readiness: watch::Sender::new(unchecked),
        });
        let watcher = tokio::spawn(watch_images(Arc::downgrade(&shared)));
        Self { shared, watcher: watcher.abort_handle() }
    }

    /// The languages it knows.
    pub fn catalog(&self) -> &Catalog {
        &self.shared.catalog
    }

    /// Every language of the catalogue and whether it can run, in the
    /// catalogue's order.
    pub fn readiness(&self) -> Vec<(String, Readiness)> {
        self.shared.readiness.borrow().clone()
    }

    /// The same, to wait for changes of it.
    pub fn watch_readiness(&self) -> watch::Receiver<Vec<(String, Readiness)>> {
        self.shared.readiness.subscribe()
    }

    /// How busy it is now.
    pub fn load(&self) -> Load {
        let admission = &self.shared.admission;
        Load { running: admission.running(), waiting: admission.waiting() }
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
        let plan = shared.catalog.plan(&submission);
        shared.run(plan, client).await
    }

    /// Waits until every box is gone, and removes the control groups. A
    /// starter program that is being run is killed; runs of clients are not.
    pub async fn close(&self) {
        self.watcher.abort();
        if let Ok(host) = &self.shared.host {
            host.close().await;
        }
    }
}

impl Shared {
    fn check_ready(&self, language: &Language) -> Result<(), Refusal> {
        let readiness = self.readiness.borrow();
        let found = readiness.iter().find(|(id, _)| id == language.id());
        let (why, retry_after) = match found.map(|(_, readiness)| readiness) {
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

    async fn run(
        &self,
        plan: Plan,
        client: IpAddr,
    ) -> Result<Outcome, Refusal> {
        let host = self.host.as_ref().map_err(|_| Refusal::Failed)?;
        let image = plan.image.clone();
        let rootfs = self.rootfs(&image)?;
        let arrived = Instant::now();
        let slot = self.admission.enter(client).await.map_err(busy)?;
        let timing = Timing { queue: arrived.elapsed(), ..Timing::default() };
        let limits = &self.settings.limits;
        let language = plan.language.clone();
        let run = run::run(host, limits, plan, rootfs, slot, timing);
        run.await.map_err(|error| {
            tracing::error!(%language, %error, "the sandbox failed");
            // An image that is gone is told as what it is.
            self.rootfs(&image).err().unwrap_or_else(|| failed(&error))
        })
    }

    fn rootfs(&self, image: &str) -> Result<PathBuf, Refusal> {
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

    /// Looks at every language once; runs starter programs that are new.
    async fn look(&self, checks: &mut Checks) {
        for language in self.catalog.languages() {
            let readiness = match &self.host {
                Ok(_) => self.look_at(language, checks).await,
                Err(_) => Readiness::Broken(NO_HOST.to_owned()),
            };
            self.publish(language.id(), readiness);
        }
    }

    async fn look_at(
        &self,
        language: &Language,
        checks: &mut Checks,
    ) -> Readiness {
        let (id, image) = (language.id(), language.image());
        let rootfs = match checks.next(id, image, self.images.state(image)) {
            Next::Known(readiness) => return readiness,
            Next::Check(rootfs) => rootfs,
        };
        let checking = "its starter program is being run".to_owned();
        self.publish(id, Readiness::Building(checking));
        match self.check_starter(id).await {
            // Too busy to check is no failure: at the next look.
            Err(Refusal::Busy { message, .. }) => Readiness::Building(message),
            Err(refusal) => {
                let why = refusal.to_string();
                checks.record(id, rootfs, Some(why.clone()));
                Readiness::Broken(why)
            }
            Ok(failure) => {
                checks.record(id, rootfs, failure.clone());
                failure.map_or(Readiness::Ready, Readiness::Broken)
            }
        }
    }

    /// Runs a language's starter program; what went wrong, if anything.
    async fn check_starter(
        &self,
        language: &str,
    ) -> Result<Option<String>, Refusal> {
        let Some(starter) = self.catalog.starter(language) else {
            return Ok(Some("it has no starter program".to_owned()));
        };
        let plan = self.catalog.plan(&starter.submission);
        let this_server = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
        let outcome = self.run(plan, this_server).await?;
        let is_right =
            outcome.end == End::Exited(0) && starter.expects(&outcome.stdout);
        Ok((!is_right).then(|| {
            format!(
                "its starter program failed ({}): it printed {:?}, and {:?} \
                 to stderr",
                outcome.exit_summary(),
                shortened(&outcome.stdout),
                shortened(&outcome.stderr),
            )
        }))
    }

    fn publish(&self, language: &str, now: Readiness) {
        self.readiness.send_if_modified(|all| {
            match all.iter_mut().find(|(id, _)| id == language) {
                Some((_, known)) if *known != now => {
                    *known = now;
                    true
                }
                _ => false,
            }
        });
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

/// Keeps the readiness true until the engine is dropped.
async fn watch_images(shared: Weak<Shared>) {
    let mut checks = Checks::default();
    while let Some(shared) = shared.upgrade() {
        shared.look(&mut checks).await;
        drop(shared);
        sleep(LOOK_AT_IMAGES).await;
    }
}

fn busy(full: Full) -> Refusal {
    Refusal::Busy { message: full.to_string(), retry_after: full.retry_after }
}

/// What a client is told when no box could be made, or one was lost.
fn failed(error: &SandboxError) -> Refusal {
    if !error.is_shortage() {
        return Refusal::Failed;
    }
    Refusal::Busy {
        message: "this server is short of resources; come back".to_owned(),
        retry_after: SHORTAGE_RETRY,
    }
}

fn shortened(text: &str) -> &str {
    let mut end = text.len().min(500);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
