//! When languages are checked again, under a clock of the tests.

use super::*;

const INTERVAL: Duration = Duration::from_secs(300);

/// The checks of one language, `c`, with its image at `/a`; times count from
/// the first check, in seconds.
struct Story {
    checks: Checks,
    start: Instant,
}

impl Story {
    fn new() -> Self {
        let checks = Checks::new(INTERVAL);
        Self { checks, start: Instant::now() }
    }

    fn at(&self, seconds: u64) -> Instant {
        self.start + Duration::from_secs(seconds)
    }

    fn passed(&mut self, seconds: u64) -> &mut Self {
        let now = self.at(seconds);
        self.checks.passed("c", "/a".into(), now);
        self
    }

    fn failed(&mut self, seconds: u64, is_broken: bool) -> &mut Self {
        let now = self.at(seconds);
        let why = "no".to_owned();
        let found = self.checks.failed("c", "/a".into(), why, now);
        assert_eq!(found, is_broken, "at {seconds} s");
        self
    }

    fn succeeded(&mut self, rootfs: &str, seconds: u64) -> &mut Self {
        let now = self.at(seconds);
        self.checks.client_succeeded("c", Path::new(rootfs), now);
        self
    }

    fn sandbox_failed(&mut self, rootfs: &str, seconds: u64) -> &mut Self {
        let now = self.at(seconds);
        self.checks.sandbox_failed("c", Path::new(rootfs), now);
        self
    }

    fn next(&self, seconds: u64) -> Next {
        self.checks.next("c", Path::new("/a"), self.at(seconds))
    }

    /// Checks that it is ready until `seconds`, when it is to be checked.
    fn is_due(&self, seconds: u64) {
        let ready = Next::Known(Readiness::Ready);
        assert_eq!(self.next(seconds - 1), ready, "before {seconds} s");
        assert_eq!(self.next(seconds), Next::Routine, "at {seconds} s");
    }

    /// Checks that it is broken, and is to be checked again at `seconds`.
    fn is_retried(&self, seconds: u64) {
        let broken = Readiness::Broken("no".to_owned());
        let known = Next::Known(broken.clone());
        assert_eq!(self.next(seconds - 1), known, "before {seconds} s");
        let retry = Next::Retry(broken);
        assert_eq!(self.next(seconds), retry, "at {seconds} s");
    }
}

#[test]
fn a_language_is_checked_in_each_root_filesystem() {
    let mut story = Story::new();
    assert_eq!(story.next(0), Next::Check);
    story.passed(0);
    assert_eq!(story.next(0), Next::Known(Readiness::Ready));
    let next = story.checks.next("c", Path::new("/b"), story.at(0));
    assert_eq!(next, Next::Check);
}

#[test]
fn a_language_that_is_ready_is_checked_again() {
    Story::new().passed(0).is_due(300);
    Story::new().passed(0).passed(300).is_due(600);
}

#[test]
fn a_success_of_a_client_puts_the_check_off() {
    Story::new().passed(0).succeeded("/a", 100).is_due(400);
    // It ran in an image that has been replaced since.
    Story::new().passed(0).succeeded("/b", 100).is_due(300);
    // Clients cannot run a broken language: that run began before it broke.
    Story::new().failed(0, true).succeeded("/a", 0).is_retried(1);
}

#[test]
fn a_success_of_a_client_does_not_clear_a_suspect() {
    // Otherwise a client could keep a broken language ready by such runs.
    Story::new().passed(0).failed(300, false).succeeded("/a", 300).is_due(301);
    Story::new().passed(0).sandbox_failed("/a", 9).succeeded("/a", 9).is_due(9);
    let mut story = Story::new();
    story.passed(0).failed(300, false).succeeded("/a", 300);
    story.failed(301, true).is_retried(303);
    story.passed(303).succeeded("/a", 400).is_due(700);
}

#[test]
fn a_run_that_the_sandbox_failed_brings_the_check_forward() {
    Story::new().passed(0).sandbox_failed("/a", 100).is_due(100);
    Story::new().passed(0).sandbox_failed("/b", 100).is_due(300);
    Story::new()
        .passed(0)
        .sandbox_failed("/a", 9)
        .failed(9, true)
        .is_retried(11);
}

#[test]
fn one_failure_of_a_language_that_was_ready_makes_it_suspect() {
    Story::new().passed(0).failed(300, false).is_due(301);
    Story::new().passed(0).failed(300, false).failed(301, true).is_retried(303);
    Story::new().passed(0).failed(300, false).passed(301).is_due(601);
    // It was never ready.
    Story::new().failed(0, true).is_retried(1);
}

#[test]
fn retries_come_later_and_later() {
    let mut story = Story::new();
    let mut now = 0;
    for pause in [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300] {
        story.failed(now, true).is_retried(now + pause);
        now += pause;
    }
    story.passed(now).is_due(now + 300);
    story.failed(now + 300, false).is_due(now + 301);
}

#[test]
fn languages_that_are_ready_take_turns() {
    let mut story = Story::new();
    for language in ["c", "cpp", "java"] {
        let now = story.at(0);
        story.checks.passed(language, "/a".into(), now);
    }
    let now = story.at(300);
    story.checks.routine_ended(now);
    // A sixth of the interval: all of them fit into half of it.
    story.is_due(350);
    // A suspect language does not wait for the others.
    story.sandbox_failed("/a", 310);
    assert_eq!(story.next(310), Next::Routine);
}
