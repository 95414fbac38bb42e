//! Keeps the readiness of every language true: looks at the images, and runs
//! starter programs, of new ones at once, of others again and again.

use std::net::{IpAddr, Ipv4Addr};
use std::path::{Path, PathBuf};
use std::sync::Weak;
use std::time::{Duration, Instant};

use sandpiper_languages::Language;
use tokio::time::sleep;

use crate::admission::Slot;
use crate::engine::{Refusal, Shared, busy};
use crate::outcome::End;
use crate::readiness::{Next, Readiness};

/// Usual time from one proof that a language runs to the next run of its
/// starter program.
pub const CHECK_INTERVAL: Duration = Duration::from_secs(300);

/// How often images are looked at: a new or a lost one is seen this late.
const LOOK_AT_IMAGES: Duration = Duration::from_secs(1);
/// The client whose runs the starter programs are.
const THIS_SERVER: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
/// What a client reads where no box can be made; the reason is in the log.
const NO_HOST: &str = "this host has no safe sandbox: the operator's log says \
                       why, and `sandpiper doctor` how to mend it";

/// Keeps the readiness true until the engine is dropped.
pub(crate) async fn watch_languages(shared: Weak<Shared>) {
    while let Some(shared) = shared.upgrade() {
        shared.look().await;
        drop(shared);
        sleep(LOOK_AT_IMAGES).await;
    }
}

impl Shared {
    /// Looks at every language once; runs starter programs that are due, one
    /// after another.
    async fn look(&self) {
        for language in self.catalog.languages() {
            match &self.host {
                Ok(_) => {
                    self.look_at(language).await;
                    self.offer_boxes();
                }
                Err(_) => {
                    let broken = Readiness::Broken(NO_HOST.to_owned());
                    self.publish(language.id(), broken);
                }
            }
        }
    }

    async fn look_at(&self, language: &Language) {
        let (id, image) = (language.id(), language.image());
        let state = self.images.state(image);
        let next = self.checks().next(id, image, state, Instant::now());
        match next {
            Next::Known(readiness) => self.publish(id, readiness),
            Next::Check(rootfs) => {
                let checking = "its starter program is being run".to_owned();
                self.publish(id, Readiness::Building(checking));
                self.check_in_turn(id, rootfs).await;
            }
            Next::Retry(rootfs, broken) => {
                self.publish(id, broken);
                self.check_in_turn(id, rootfs).await;
            }
            Next::Routine(rootfs) => {
                self.publish(id, Readiness::Ready);
                self.check_in_idleness(id, rootfs).await;
            }
        }
    }

    /// Checks a language that nobody can use meanwhile: waits for a box as a
    /// client does.
    async fn check_in_turn(&self, language: &str, rootfs: PathBuf) {
        let verdict = match self.admission.enter(THIS_SERVER).await {
            Ok(slot) => self.check_starter(language, &rootfs, slot).await,
            Err(full) => Err(busy(full)),
        };
        self.judge(language, rootfs, verdict);
    }

    /// Checks a language that is ready, where a box is free and nobody waits
    /// for one; a run that would have to wait ends the check.
    async fn check_in_idleness(&self, language: &str, rootfs: PathBuf) {
        let Some(slot) = self.admission.try_enter(THIS_SERVER) else { return };
        let verdict = tokio::select! {
            biased;
            verdict = self.check_starter(language, &rootfs, slot) => Some(verdict),
            () = self.admission.contended() => None,
        };
        if let Some(verdict) = verdict {
            self.judge(language, rootfs, verdict);
        }
        self.checks().routine_ended(Instant::now());
    }

    /// Records and publishes what came of a starter program, unless the host
    /// was too busy or too short of something to run it: that is no failure.
    fn judge(
        &self,
        language: &str,
        rootfs: PathBuf,
        verdict: Result<Option<String>, Refusal>,
    ) {
        let now = Instant::now();
        let why = match verdict {
            Ok(None) => {
                self.checks().passed(language, rootfs, now);
                self.prove(language, now);
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
            tracing::warn!(language, "in doubt, and checked again: {why}");
        }
    }

    /// A language that was never checked says what keeps it from being so;
    /// others stay what they are.
    fn postpone(&self, language: &str, why: String) {
        let is_new = self.languages.borrow().iter().any(|state| {
            state.id == language
                && matches!(state.readiness, Readiness::Building(_))
        });
        if is_new {
            self.publish(language, Readiness::Building(why));
        }
    }

    /// Runs a language's starter program; what went wrong, if anything.
    async fn check_starter(
        &self,
        language: &str,
        rootfs: &Path,
        slot: Slot,
    ) -> Result<Option<String>, Refusal> {
        let Some(starter) = self.catalog.starter(language) else {
            return Ok(Some("it has no starter program".to_owned()));
        };
        let plan = starter.submission.plan();
        let queue = Duration::ZERO;
        let outcome =
            self.run(plan, rootfs.to_owned(), slot, queue, false).await?;
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
        self.languages.send_if_modified(|all| {
            let found = all.iter_mut().find(|state| state.id == language);
            let Some(state) = found else { return false };
            if state.readiness == now {
                return false;
            }
            // How far something has come is no other state.
            let (old, new) = (&state.readiness, &now);
            if std::mem::discriminant(old) != std::mem::discriminant(new) {
                state.since = Instant::now();
            }
            state.readiness = now;
            true
        });
    }
}

fn shortened(text: &str) -> &str {
    let mut end = text.len().min(500);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
