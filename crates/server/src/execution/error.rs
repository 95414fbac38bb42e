//! The reasons why requests have no result, in one word each for metrics and log.

use sandpiper_engine::languages::SubmissionError;
use sandpiper_engine::{BusyCause, Refusal};

use crate::http::BodyError;
use crate::rate_limit::Quota;

use super::request::RequestError;
use super::sessions::SessionError;

/// The reason why a request has no result.
#[derive(Debug)]
pub(crate) enum ExecutionError {
    RateLimited(Quota),
    NotJsonType,
    Body(BodyError),
    NotJson,
    /// The fields are wrong, or ask for more than the server gives.
    Request(RequestError),
    Submission(SubmissionError),
    /// The memory of answers is over its limit.
    AnswerMemoryFull,
    /// The engine cannot run it now.
    Engine(Refusal),
    /// A run was not found by its id, or did not take input.
    Session(SessionError),
    /// There is no client to answer.
    ClientGone,
}

/// The words of the reasons, for the metrics and the log.
pub(crate) const REFUSALS: [&str; 17] = [
    "rate_limited",
    "content_type",
    "body_too_large",
    "body_too_slow",
    "body_broken",
    "body_memory",
    "json",
    "files",
    "fields",
    "submission",
    "answer_memory",
    "queue_full",
    "client_share",
    "queue_wait",
    "live_full",
    "shortage",
    "unavailable",
];

impl ExecutionError {
    /// Returns a run that failed for a reason that clients do not read.
    pub(super) fn run_failed() -> Self {
        Self::Engine(Refusal::Failed)
    }

    /// Returns one of [`REFUSALS`]; `None` if a run failed, or if
    /// its client has gone.
    pub(super) fn reason(&self) -> Option<&'static str> {
        Some(match self {
            Self::RateLimited(_) => "rate_limited",
            Self::NotJsonType => "content_type",
            Self::Body(BodyError::TooLarge { .. }) => "body_too_large",
            Self::Body(BodyError::TooSlow) => "body_too_slow",
            Self::Body(BodyError::Broken) => "body_broken",
            Self::Body(BodyError::Busy) => "body_memory",
            Self::NotJson | Self::Request(RequestError::NotAnObject) => "json",
            Self::Request(RequestError::TooManyFiles) => "files",
            Self::Request(_) | Self::Session(_) => "fields",
            Self::Submission(_) => "submission",
            Self::AnswerMemoryFull => "answer_memory",
            Self::Engine(refusal) => match refusal {
                Refusal::Busy { cause: BusyCause::Queue, .. } => "queue_full",
                Refusal::Busy { cause: BusyCause::Share, .. } => "client_share",
                Refusal::Busy { cause: BusyCause::Wait(_), .. } => "queue_wait",
                Refusal::Busy {
                    cause: BusyCause::Live(_) | BusyCause::LiveShare,
                    ..
                } => "live_full",
                Refusal::Short { .. } => "shortage",
                Refusal::Unavailable { .. } => "unavailable",
                Refusal::Failed => return None,
            },
            Self::ClientGone => return None,
        })
    }

    /// Returns whether another node may run the request at once. A full queue
    /// is not among the reasons: each node would refuse what one has refused.
    pub(super) fn may_run_elsewhere(&self) -> bool {
        match self {
            Self::AnswerMemoryFull => true,
            Self::Engine(refusal) => match refusal {
                Refusal::Short { .. } | Refusal::Unavailable { .. } => true,
                Refusal::Busy { cause, .. } => {
                    matches!(cause, BusyCause::Live(_) | BusyCause::LiveShare)
                }
                Refusal::Failed => false,
            },
            _ => false,
        }
    }
}

impl From<SessionError> for ExecutionError {
    fn from(error: SessionError) -> Self {
        Self::Session(error)
    }
}

impl From<BodyError> for ExecutionError {
    fn from(error: BodyError) -> Self {
        Self::Body(error)
    }
}

impl From<RequestError> for ExecutionError {
    fn from(error: RequestError) -> Self {
        Self::Request(error)
    }
}

impl From<SubmissionError> for ExecutionError {
    fn from(error: SubmissionError) -> Self {
        Self::Submission(error)
    }
}

impl From<Refusal> for ExecutionError {
    fn from(refusal: Refusal) -> Self {
        Self::Engine(refusal)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn every_error_has_a_reason_but_those_of_runs() {
        let zero = Duration::ZERO;
        let quota = Quota { limit: 1, window: zero, remaining: 0, reset: zero };
        let engine = |refusal| ExecutionError::Engine(refusal);
        let busy = |cause| {
            let retry_after = zero;
            engine(Refusal::Busy { cause, retry_after })
        };
        let (field, expected) = (String::new(), "");
        let message = String::new();
        let errors = [
            ExecutionError::RateLimited(quota),
            ExecutionError::NotJsonType,
            BodyError::TooLarge { limit: 0 }.into(),
            BodyError::TooSlow.into(),
            BodyError::Broken.into(),
            BodyError::Busy.into(),
            ExecutionError::NotJson,
            RequestError::TooManyFiles.into(),
            RequestError::Missing { field, expected }.into(),
            ExecutionError::Submission(SubmissionError::NoEntryFile {
                entry_file: String::new(),
            }),
            ExecutionError::AnswerMemoryFull,
            busy(BusyCause::Queue),
            busy(BusyCause::Share),
            busy(BusyCause::Wait(zero)),
            busy(BusyCause::Live(1)),
            engine(Refusal::Short { retry_after: zero }),
            engine(Refusal::Unavailable { message, retry_after: None }),
        ];
        let reasons: Vec<_> =
            errors.iter().filter_map(ExecutionError::reason).collect();
        assert_eq!(reasons, REFUSALS);
        assert_eq!(engine(Refusal::Failed).reason(), None);
        assert_eq!(ExecutionError::ClientGone.reason(), None);
    }
}
