//! The schedule of the self-tests: which language is checked by its starter
//! program, and when.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::readiness::Readiness;

/// The time from a failed check to the next one. It doubles with every failure,
/// up to the usual interval.
const MIN_RETRY: Duration = Duration::from_secs(1);

/// The results of the checks of all languages. The caller gives the time.
#[derive(Debug)]
pub(crate) struct Checks {
    /// The time from a success of a language to the next check of it.
    interval: Duration,
    known: BTreeMap<String, LastCheck>,
    /// When the next language that is ready may be checked, so that not all are
    /// checked at once.
    next_routine: Option<Instant>,
}

#[derive(Debug)]
struct LastCheck {
    /// The root filesystem that was checked.
    rootfs: PathBuf,
    /// The reason why the language cannot run, if so.
    failure: Option<String>,
    /// When it is checked again.
    due: Instant,
    /// Failures since the last success.
    failures: u32,
}

/// The next step for a language whose image is ready.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    /// Nothing is to be done, and this is its state.
    Known(Readiness),
    /// It was never checked in this root filesystem.
    Check,
    /// It cannot run, and is due to be checked again.
    Retry(Readiness),
    /// It is ready, and is due to be checked when no run waits.
    Routine,
}

impl Checks {
    pub(crate) fn new(interval: Duration) -> Self {
        Self { interval, known: BTreeMap::new(), next_routine: None }
    }

    /// Records that the sample program of `language` was right in `rootfs`.
    pub(crate) fn passed(
        &mut self,
        language: &str,
        rootfs: PathBuf,
        now: Instant,
    ) {
        let due = now + self.interval;
        let check = LastCheck { rootfs, failure: None, due, failures: 0 };
        self.known.insert(language.to_owned(), check);
    }

    /// Records that the sample program was wrong, and returns whether the
    /// language is now broken. One failure of a language that was ready does
    /// not break it: the host may have lacked a resource for a moment.
    pub(crate) fn failed(
        &mut self,
        language: &str,
        rootfs: PathBuf,
        why: String,
        now: Instant,
    ) -> bool {
        let known = self.of(language, &rootfs);
        let failures = known.map_or(1, |check| check.failures + 1);
        let is_suspect =
            known.is_some_and(|check| check.failure.is_none() && failures < 2);
        let failure = (!is_suspect).then_some(why);
        let due = now + self.retry_after(failures);
        let check = LastCheck { rootfs, failure, due, failures };
        self.known.insert(language.to_owned(), check);
        !is_suspect
    }

    /// Records that a client's program succeeded in `rootfs`. It says less than
    /// the sample program, and a stranger chose it: a language that is suspect
    /// stays so until its sample program has run.
    pub(crate) fn client_succeeded(
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

    /// Records that the sandbox failed a client's run in `rootfs`. The language
    /// is suspect, and its check is due now.
    pub(crate) fn sandbox_failed(
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

    /// Records the end of a routine check: the next one has to wait a little.
    pub(crate) fn routine_ended(&mut self, now: Instant) {
        let languages = u32::try_from(self.known.len()).unwrap_or(u32::MAX);
        let pause = self.interval / languages.max(1) / 2;
        self.next_routine = Some(now + pause);
    }

    /// Returns the next step for `language`, whose image is at `rootfs`.
    pub(crate) fn next(
        &self,
        language: &str,
        rootfs: &Path,
        now: Instant,
    ) -> Next {
        let Some(check) = self.of(language, rootfs) else { return Next::Check };
        let is_due = check.due <= now;
        match &check.failure {
            None if is_due && self.may_check_now(check, now) => Next::Routine,
            None => Next::Known(Readiness::Ready),
            Some(why) => {
                let broken = Readiness::Broken(why.clone());
                if is_due { Next::Retry(broken) } else { Next::Known(broken) }
            }
        }
    }

    /// Returns whether a language that is ready may be checked now: a suspect
    /// one at once, others one after another.
    fn may_check_now(&self, check: &LastCheck, now: Instant) -> bool {
        check.failures > 0 || self.next_routine.is_none_or(|next| next <= now)
    }

    fn of(&self, language: &str, rootfs: &Path) -> Option<&LastCheck> {
        let check = self.known.get(language)?;
        (check.rootfs == rootfs).then_some(check)
    }

    fn ready(
        &mut self,
        language: &str,
        rootfs: &Path,
    ) -> Option<&mut LastCheck> {
        let check = self.known.get_mut(language)?;
        (check.rootfs == rootfs && check.failure.is_none()).then_some(check)
    }

    fn retry_after(&self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(16);
        MIN_RETRY.saturating_mul(1 << doublings).min(self.interval)
    }
}

#[cfg(test)]
mod tests;
