//! The health monitor: knows which languages can run. It looks at the images,
//! and runs sample programs on the executor as self-tests: of a new language
//! at once, of the others again and again.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::{Duration, Instant};

use sandpiper_languages::{Catalog, Language};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::admission::RunPermit;
use crate::attachment::RunAttachment;
use crate::checks::{Checks, Next};
use crate::executor::Executor;
use crate::options::RunOptions;
use crate::outcome::{End, Outcome};
use crate::readiness::{ImageState, Images, LanguageState, Readiness};
use crate::refusal::Refusal;
use crate::run::RunSpec;

/// The time between two looks at the images: a new or a lost image is seen
/// this late.
const IMAGES_INTERVAL: Duration = Duration::from_secs(1);
/// The time after which a client should try again if an image is being
/// built.
const BUILDING_RETRY: Duration = Duration::from_secs(10);
/// The client that self-tests belong to.
const THIS_SERVER: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);

/// The languages, their images, and the states that follow from both.
#[derive(Debug)]
pub(crate) struct HealthMonitor {
    executor: Arc<Executor>,
    catalog: Catalog,
    images: Arc<dyn Images>,
    checks: Mutex<Checks>,
    states: watch::Sender<Vec<LanguageState>>,
    /// The reason why nothing can run on this host, if so, for clients.
    host_problem: Option<String>,
}

impl HealthMonitor {
    /// Creates a monitor that has not looked at any language.
    pub(crate) fn new(
        executor: Arc<Executor>,
        catalog: Catalog,
        images: Arc<dyn Images>,
        check_interval: Duration,
        host_problem: Option<String>,
    ) -> Self {
        let unchecked = catalog.languages().map(|language| LanguageState {
            id: language.id().to_owned(),
            readiness: Readiness::Building("not looked at yet".to_owned()),
            since: Instant::now(),
            last_success: None,
        });
        let states = watch::Sender::new(unchecked.collect());
        let checks = Mutex::new(Checks::new(check_interval));
        Self { executor, catalog, images, checks, states, host_problem }
    }

    /// Keeps the states true until the monitor is dropped.
    pub(crate) async fn watch(monitor: Weak<Self>) {
        while let Some(monitor) = monitor.upgrade() {
            monitor.look_at_all().await;
            drop(monitor);
            sleep(IMAGES_INTERVAL).await;
        }
    }

    pub(crate) fn catalog(&self) -> &Catalog {
        &self.catalog
    }

    /// Returns the state of every language, in the catalog's order.
    pub(crate) fn states(&self) -> &watch::Sender<Vec<LanguageState>> {
        &self.states
    }

    /// Returns the root filesystem of a language that can run.
    ///
    /// # Errors
    ///
    /// Returns [`Refusal::Unavailable`] if the language cannot run.
    pub(crate) fn ready_rootfs(
        &self,
        language: &Language,
    ) -> Result<PathBuf, Refusal> {
        let readiness = {
            let states = self.states.borrow();
            let found = states.iter().find(|state| state.id == language.id());
            found.map(|state| state.readiness.clone())
        };
        let (why, retry_after) = match readiness {
            Some(Readiness::Ready) => return self.rootfs(language.image()),
            Some(Readiness::Building(progress)) => {
                (format!("is being prepared: {progress}"), Some(BUILDING_RETRY))
            }
            Some(Readiness::Missing(why) | Readiness::Broken(why)) => {
                (format!("cannot run here: {why}"), None)
            }
            None => ("is not served here".to_owned(), None),
        };
        let message = format!("{} {why}", language.name());
        Err(Refusal::Unavailable { message, retry_after })
    }

    /// Returns the versions of the tools and libraries of an image.
    pub(crate) fn versions(&self, image: &str) -> BTreeMap<String, String> {
        self.images.versions(image)
    }

    /// Returns the root filesystem of an image.
    ///
    /// # Errors
    ///
    /// Returns [`Refusal::Unavailable`] if the image is not complete.
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

    /// Opens a file of an image, as [`Images::open_file`] does.
    pub(crate) fn open_file(
        &self,
        image: &str,
        path: &str,
    ) -> io::Result<File> {
        self.images.open_file(image, path)
    }

    /// Learns from the result of a client's run whether its language still
    /// runs.
    pub(crate) fn learn(
        &self,
        language: &str,
        rootfs: &Path,
        result: &Result<Outcome, Refusal>,
    ) {
        let now = Instant::now();
        match result {
            // A run with kept compile artifacts says nothing of the compiler.
            Ok(outcome)
                if outcome.end == End::Exited(0)
                    && outcome.start.is_some_and(|it| !it.is_compiled) =>
            {
                self.checks().client_succeeded(language, rootfs, now);
                self.record_success(language, now);
            }
            // A host that lacks a resource is not the language's failure.
            Ok(_) | Err(Refusal::Short { .. }) => {}
            Err(_) => self.checks().sandbox_failed(language, rootfs, now),
        }
    }

    /// Looks at every language once. Checks those that are due, one after
    /// another.
    async fn look_at_all(&self) {
        for language in self.catalog.languages() {
            if let Some(why) = &self.host_problem {
                self.publish(language.id(), Readiness::Broken(why.clone()));
            } else {
                self.look_at(language).await;
                self.offer_boxes();
            }
        }
    }

    async fn look_at(&self, language: &Language) {
        let (id, image) = (language.id(), language.image());
        let state = self.images.state(image);
        let words = || self.images.describe(image, &state);
        let rootfs = match &state {
            ImageState::Ready(rootfs) => rootfs.clone(),
            ImageState::Building(_) => {
                return self.publish(id, Readiness::Building(words()));
            }
            ImageState::Missing => {
                return self.publish(id, Readiness::Missing(words()));
            }
            ImageState::Broken(_) => {
                return self.publish(id, Readiness::Broken(words()));
            }
        };
        let next = self.checks().next(id, &rootfs, Instant::now());
        match next {
            Next::Known(readiness) => self.publish(id, readiness),
            Next::Check => {
                let checking = "its sample program is being run".to_owned();
                self.publish(id, Readiness::Building(checking));
                self.check_in_turn(id, rootfs).await;
            }
            Next::Retry(broken) => {
                self.publish(id, broken);
                self.check_in_turn(id, rootfs).await;
            }
            Next::Routine => {
                self.publish(id, Readiness::Ready);
                self.check_when_idle(id, rootfs).await;
            }
        }
    }

    /// Has boxes made ahead for the languages that can run.
    fn offer_boxes(&self) {
        let states = self.states.borrow();
        let ready = states.iter().filter_map(|state| {
            if state.readiness != Readiness::Ready {
                return None;
            }
            let language = self.catalog.find(&state.id)?;
            let rootfs = self.rootfs(language.image()).ok()?;
            Some((state.id.clone(), rootfs, language.plan_ahead()))
        });
        self.executor.offer(ready);
    }

    /// Checks a language that no client can use now: waits for a box as a
    /// client does.
    async fn check_in_turn(&self, language: &str, rootfs: PathBuf) {
        let result = match self.executor.enter(THIS_SERVER).await {
            Ok(permit) => self.run_starter(language, &rootfs, permit).await,
            Err(refusal) => Err(refusal),
        };
        self.judge(language, rootfs, result);
    }

    /// Checks a language that is ready, if a box is free and no run waits for
    /// one. A run that would have to wait ends the check.
    async fn check_when_idle(&self, language: &str, rootfs: PathBuf) {
        let Some(permit) = self.executor.try_enter(THIS_SERVER) else { return };
        let result = tokio::select! {
            biased;
            result = self.run_starter(language, &rootfs, permit) => Some(result),
            () = self.executor.contended() => None,
        };
        if let Some(result) = result {
            self.judge(language, rootfs, result);
        }
        self.checks().routine_ended(Instant::now());
    }

    /// Runs a language's sample program. Returns what was wrong, if anything.
    async fn run_starter(
        &self,
        language: &str,
        rootfs: &Path,
        permit: RunPermit,
    ) -> Result<Option<String>, Refusal> {
        let Some(starter) = self.catalog.starter(language) else {
            return Ok(Some("it has no sample program".to_owned()));
        };
        let plan = starter.submission.plan();
        let (rootfs, queue) = (rootfs.to_owned(), Duration::ZERO);
        let spec = RunSpec {
            plan,
            options: RunOptions::default(),
            attachment: RunAttachment::default(),
        };
        let run = self.executor.run(spec, rootfs, permit, queue, false);
        let outcome = run.await?;
        let is_right = outcome.end == End::Exited(0)
            && starter.expects(&outcome.stdout_text());
        Ok((!is_right).then(|| {
            format!(
                "its sample program failed ({}): it printed {:?}, and {:?} \
                 to stderr",
                outcome.exit_summary(),
                shortened(&outcome.stdout_text()),
                shortened(&outcome.stderr_with_message()),
            )
        }))
    }

    /// Records and publishes the result of a check. A host that was too busy or
    /// too short of a resource to run it is no failure.
    fn judge(
        &self,
        language: &str,
        rootfs: PathBuf,
        result: Result<Option<String>, Refusal>,
    ) {
        let now = Instant::now();
        let why = match result {
            Ok(None) => {
                self.checks().passed(language, rootfs, now);
                self.record_success(language, now);
                self.publish(language, Readiness::Ready);
                return;
            }
            Ok(Some(why)) => why,
            Err(refusal @ (Refusal::Busy { .. } | Refusal::Short { .. })) => {
                self.postpone(language, refusal.to_string());
                return;
            }
            Err(refusal) => refusal.to_string(),
        };
        let text = why.clone();
        if self.checks().failed(language, rootfs, text, now) {
            self.publish(language, Readiness::Broken(why));
        } else {
            tracing::warn!(language, "self-test failed once; retrying: {why}");
        }
    }

    /// Publishes why a language could not be checked, if it never was. Others
    /// keep their state.
    fn postpone(&self, language: &str, why: String) {
        let is_new = self.states.borrow().iter().any(|state| {
            state.id == language
                && matches!(state.readiness, Readiness::Building(_))
        });
        if is_new {
            self.publish(language, Readiness::Building(why));
        }
    }

    fn record_success(&self, language: &str, now: Instant) {
        // No receiver is woken: the readiness has not changed.
        self.states.send_if_modified(|states| {
            let found = states.iter_mut().find(|state| state.id == language);
            if let Some(state) = found {
                state.last_success = Some(now);
            }
            false
        });
    }

    fn publish(&self, language: &str, readiness: Readiness) {
        self.states.send_if_modified(|states| {
            let found = states.iter_mut().find(|state| state.id == language);
            let Some(state) = found else { return false };
            if state.readiness == readiness {
                return false;
            }
            // Progress alone is no other state.
            let (old, new) = (&state.readiness, &readiness);
            if std::mem::discriminant(old) != std::mem::discriminant(new) {
                state.since = Instant::now();
            }
            state.readiness = readiness;
            true
        });
    }

    fn checks(&self) -> MutexGuard<'_, Checks> {
        // A panic cannot leave them half changed.
        self.checks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn shortened(text: &str) -> &str {
    let mut end = text.len().min(500);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
