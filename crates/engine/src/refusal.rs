//! The reasons why a submission is not run.

use std::time::Duration;

use sandpiper_sandbox::SandboxError;

use crate::admission::{Busy, BusyCause};

/// The time after which a client should try again if the host was short of
/// a resource.
const SHORTAGE_RETRY: Duration = Duration::from_secs(5);

/// The reason why a submission was not run. The text is for the client.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// Too many runs wait already, or the run waited for too long.
    #[error("{cause}")]
    Busy {
        /// The reason.
        cause: BusyCause,
        /// An estimate of when to try again.
        retry_after: Duration,
    },
    /// The host lacks a resource that a box needs.
    #[error("temporarily out of resources; try again later")]
    Short {
        /// When to try again.
        retry_after: Duration,
    },
    /// The language cannot run here, or not yet.
    #[error("{message}")]
    Unavailable {
        /// The reason, and what the operator can do.
        message: String,
        /// When to try again, if waiting helps.
        retry_after: Option<Duration>,
    },
    /// The sandbox itself failed. The log has the reason.
    #[error("the sandbox failed; the operator's log says why")]
    Failed,
}

impl From<Busy> for Refusal {
    fn from(busy: Busy) -> Self {
        Self::Busy { cause: busy.cause, retry_after: busy.retry_after }
    }
}

impl From<SandboxError> for Refusal {
    fn from(error: SandboxError) -> Self {
        if error.is_shortage() {
            Self::Short { retry_after: SHORTAGE_RETRY }
        } else {
            Self::Failed
        }
    }
}
