//! Which languages can run now: their images, and their own starter programs
//! as the test, again and again.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How soon a starter program that failed is run again; the time doubles with
/// every failure, up to the usual interval.
const FIRST_RETRY: Duration = Duration::from_secs(1);

/// Whether an image can be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ImageState {
    /// The root filesystem is complete at this path.
    Ready(PathBuf),
    /// It is being built; the text says how far.
    Building(String),
    /// Nobody has built it.
    Missing,
    /// Its build failed, or what is there cannot be used; the text says why.
    Broken(String),
}

/// Where the engine asks for images; the binary answers.
pub trait Images: Send + Sync + std::fmt::Debug {
    /// The state of the image of this name now. Called often: must be cheap.
    fn state(&self, image: &str) -> ImageState;
}

/// Whether a language can run here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Readiness {
    /// It runs: its starter program printed what it should.
    Ready,
    /// Its image is being built or checked; the text says how far.
    Building(String),
    /// Its image has not been built; the text says what the operator can do.
    Missing(String),
    /// It cannot run; the text says why. It is tried again.
    Broken(String),
}

/// A language, and whether it can run.
#[derive(Clone, Debug)]
pub struct LanguageState {
    /// Its id.
    pub id: String,
    /// Whether it can run.
    pub readiness: Readiness,
    /// Since when that is so; what a text says does not count.
    pub since: Instant,
    /// When a program of it last ran right: its starter, or one of a client
    /// that exited with 0.
    pub proved: Option<Instant>,
}

/// What is known of every language's starter program. The time is given.
#[derive(Debug)]
pub(crate) struct Checks {
    /// From one proof that a language runs to the next check of it.
    interval: Duration,
    known: BTreeMap<String, Check>,
    /// When the next language that is ready may be checked, so that they do
    /// not come all together.
    next_routine: Option<Instant>,
}

#[derive(Debug)]
struct Check {
    /// The root filesystem that all else is about.
    rootfs: PathBuf,
    /// Why it cannot run, if so.
    failure: Option<String>,
    /// When its starter program is to be run again.
    due: Instant,
    /// Failures since it ran right.
    failures: u32,
}

/// What follows from an image's state and the checks so far.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// This is how it is.
    Known(Readiness),
    /// The starter program has to be run in this root filesystem.
    Check(PathBuf),
    /// It cannot run, and it is time to try again in this root filesystem.
    Retry(PathBuf, Readiness),
    /// It is ready, and could be checked in this root filesystem again when
    /// nobody waits.
    Routine(PathBuf),
}

impl Checks {
    pub(crate) fn new(interval: Duration) -> Self {
        Self { interval, known: BTreeMap::new(), next_routine: None }
    }

    /// Records that the starter program of `language` was right in `rootfs`.
    pub(crate) fn passed(
        &mut self,
        language: &str,
        rootfs: PathBuf,
        now: Instant,
    ) {
        let due = now + self.interval;
        let check = Check { rootfs, failure: None, due, failures: 0 };
        self.known.insert(language.to_owned(), check);
    }

    /// Records that it was wrong. Where the language was ready one failure is
    /// doubt, not yet a verdict: the host may have lacked something for a
    /// moment. `true` where it is a verdict.
    pub(crate) fn failed(
        &mut self,
        language: &str,
        rootfs: PathBuf,
        why: String,
        now: Instant,
    ) -> bool {
        let known = self.of(language, &rootfs);
        let failures = known.map_or(1, |check| check.failures + 1);
        let doubt =
            known.is_some_and(|check| check.failure.is_none() && failures < 2);
        let failure = (!doubt).then_some(why);
        let due = now + self.retry_after(failures);
        let check = Check { rootfs, failure, due, failures };
        self.known.insert(language.to_owned(), check);
        !doubt
    }

    /// Records that a program of a client ran right in `rootfs`. It tells less
    /// than the starter program does, and is chosen by a stranger: a doubt
    /// stays until the starter program has run.
    pub(crate) fn proved(
        &mut self,
        language: &str,
        rootfs: &Path,
        now: Instant,
    ) {
        let due = now + self.interval;
        if let Some(check) = self.ready(language, rootfs)
            && check.failures == 0
        {
            check.due = due;
        }
    }

    /// Records that the sandbox failed a client's run in `rootfs`: it is time
    /// to look whether the language still runs.
    pub(crate) fn suspected(
        &mut self,
        language: &str,
        rootfs: &Path,
        now: Instant,
    ) {
        if let Some(check) = self.ready(language, rootfs) {
            check.due = check.due.min(now);
            check.failures = check.failures.max(1);
        }
    }

    /// Records that a language that was ready has been checked again: others
    /// have to leave some time in between.
    pub(crate) fn routine_ended(&mut self, now: Instant) {
        let languages = u32::try_from(self.known.len()).unwrap_or(u32::MAX);
        let pause = self.interval / languages.max(1) / 2;
        self.next_routine = Some(now + pause);
    }

    /// What to do about `language`, whose image is called `image`.
    pub(crate) fn next(
        &self,
        language: &str,
        image: &str,
        state: ImageState,
        now: Instant,
    ) -> Next {
        Next::Known(match state {
            ImageState::Ready(rootfs) => {
                let Some(check) = self.of(language, &rootfs) else {
                    return Next::Check(rootfs);
                };
                let is_due = check.due <= now;
                match &check.failure {
                    None if is_due && self.may_interrupt(check, now) => {
                        return Next::Routine(rootfs);
                    }
                    None => Readiness::Ready,
                    Some(why) if is_due => {
                        let broken = Readiness::Broken(why.clone());
                        return Next::Retry(rootfs, broken);
                    }
                    Some(why) => Readiness::Broken(why.clone()),
                }
            }
            ImageState::Building(progress) => Readiness::Building(progress),
            ImageState::Missing => Readiness::Missing(format!(
                "its image has not been built; \
                 run `sandpiper images build {image}`"
            )),
            ImageState::Broken(why) => Readiness::Broken(in_short(&why)),
        })
    }

    /// Whether a language that is ready may be checked now: one in doubt at
    /// once, others one after another.
    fn may_interrupt(&self, check: &Check, now: Instant) -> bool {
        check.failures > 0 || self.next_routine.is_none_or(|next| next <= now)
    }

    fn of(&self, language: &str, rootfs: &Path) -> Option<&Check> {
        let check = self.known.get(language)?;
        (check.rootfs == rootfs).then_some(check)
    }

    fn ready(&mut self, language: &str, rootfs: &Path) -> Option<&mut Check> {
        let check = self.known.get_mut(language)?;
        (check.rootfs == rootfs && check.failure.is_none()).then_some(check)
    }

    fn retry_after(&self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(16);
        FIRST_RETRY.saturating_mul(1 << doublings).min(self.interval)
    }
}

/// The first line: behind it is the end of a build's log, which is full of
/// this host, and anyone can read why a language cannot run.
fn in_short(why: &str) -> String {
    let why = why.trim_end();
    match why.split_once('\n') {
        None => why.to_owned(),
        Some((first, _)) => {
            format!("{first} (`sandpiper images list` says more)")
        }
    }
}

#[cfg(test)]
mod tests;
