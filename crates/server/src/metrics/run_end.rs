//! How runs end, in one word: a label of the metrics, and in the log.

use sandpiper_engine::{End, Outcome};

/// How a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunEnd(&'static str);

impl RunEnd {
    /// The client went away before the run ended, or began.
    pub(crate) const CLIENT_GONE: Self = Self("client_gone");
    /// A client stopped it, or the server has ended.
    pub(crate) const STOPPED: Self = Self("stopped");
    /// The sandbox failed.
    pub(crate) const FAILED: Self = Self("failed");

    /// Those of limits, as `Sandpiper-Exit` has them.
    pub(super) const LIMITS: [&'static str; 5] =
        ["time", "cpu", "memory", "output", "idle"];

    /// Every end there is.
    pub(super) const ALL: [&'static str; 11] = [
        "ok",
        "exit_code",
        "signal",
        "time",
        "cpu",
        "memory",
        "output",
        "idle",
        Self::STOPPED.0,
        Self::CLIENT_GONE.0,
        Self::FAILED.0,
    ];

    pub(crate) fn of(outcome: &Outcome) -> Self {
        Self(match outcome.end {
            End::Exited(0) => "ok",
            End::Exited(_) => "exit_code",
            End::Signaled(_) => "signal",
            End::Limit(limit) => limit.word(),
            End::Stopped => return Self::STOPPED,
        })
    }

    pub(crate) fn word(self) -> &'static str {
        self.0
    }
}
