//! Answers of runs: an outcome or a failure, and their headers.

use std::time::Duration;

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS,
    ACCESS_CONTROL_MAX_AGE, ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use sandpiper_engine::{BusyCause, Outcome, Refusal};
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::{
    Answer, AnswerBody, AnswerMemory, BodyError, answers_over_limit, failure,
    json, no_content,
};
use crate::rate_limit::Quota;

use super::Form;
use super::request::RequestError;
use super::request_id::RequestId;
use super::run_answer::RunResponse;
use super::runner::{Finished, Refused};
use super::sessions::InputRefused;

const SERVER_TIMING: HeaderName = HeaderName::from_static("server-timing");
const EXIT: HeaderName = HeaderName::from_static("sandpiper-exit");
const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName =
    HeaderName::from_static("ratelimit-policy");

/// The headers that a page of another origin may read.
const EXPOSED: HeaderValue = HeaderValue::from_static(
    "Server-Timing, Sandpiper-Exit, RateLimit, RateLimit-Policy, Retry-After, \
     X-Request-Id",
);
const ANY_ORIGIN: HeaderValue = HeaderValue::from_static("*");

/// Why a request was not run, in the order in which failures are reported.
#[derive(Debug)]
pub(super) enum Failure {
    RateLimited(Quota),
    NotJsonType,
    Body(BodyError),
    NotJson,
    Request(RequestError),
    /// The memory of answers is over its limit.
    OverLimit,
    Refused(Refused),
    /// Input for a run was not taken.
    Input(InputRefused),
    /// There is no client to answer.
    ClientGone,
}

/// Why requests are not run, in one word each, for the metrics and the log.
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

impl Failure {
    /// A run that failed for a reason that clients do not read.
    pub(super) fn run_failed() -> Self {
        Self::Refused(Refused::Engine(Refusal::Failed))
    }

    /// One of [`REFUSALS`]; `None` for a run that failed.
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
            Self::Request(_) => "fields",
            Self::Refused(Refused::Submission(_)) => "submission",
            Self::Refused(Refused::Request(_)) | Self::Input(_) => "fields",
            Self::OverLimit => "answer_memory",
            Self::Refused(Refused::Engine(refusal)) => match refusal {
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
}

/// The output of a run.
#[derive(Debug, Serialize, JsonSchema)]
#[schemars(rename = "CompileResponse")]
pub(crate) struct CompileResponse<'a> {
    /// Standard output, line breaks included.
    stdout: &'a str,
    /// Standard error, or what the compiler says, and how the sandbox ended
    /// the run.
    stderr: &'a str,
}

/// Returns the answer to a run that was started, however it ended.
pub(super) fn of(
    form: Form,
    Finished { language, outcome }: &Finished,
    memory: &AnswerMemory,
) -> Answer {
    let body = match form {
        Form::Compile => serde_json::to_vec(&CompileResponse {
            stdout: &outcome.stdout_text(),
            stderr: &outcome.stderr_with_message(),
        }),
        Form::Run => serde_json::to_vec(&RunResponse::new(language, outcome)),
    };
    let Ok(body) = body else {
        return internal_error();
    };
    let mut answer = json(StatusCode::OK, memory.count(body));
    insert(answer.headers_mut(), SERVER_TIMING, &server_timing(outcome));
    insert(answer.headers_mut(), EXIT, &outcome.exit_summary());
    answer
}

/// 204 to a preflight of any origin.
pub(super) fn preflight() -> Answer {
    let mut answer = no_content();
    let headers = answer.headers_mut();
    headers.insert(ALLOW, HeaderValue::from_static("POST, OPTIONS"));
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, ANY_ORIGIN);
    headers
        .insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static("POST"));
    headers.insert(
        ACCESS_CONTROL_ALLOW_HEADERS,
        HeaderValue::from_static("Content-Type, Sandpiper-Run"),
    );
    // A day, the longest that browsers keep it.
    let day = HeaderValue::from_static("86400");
    headers.insert(ACCESS_CONTROL_MAX_AGE, day);
    answer
}

/// Adds the headers that every answer of the route has.
pub(super) fn add_headers(
    headers: &mut HeaderMap,
    quota: Option<Quota>,
    id: RequestId,
) {
    if let Some(id) = id.header() {
        headers.insert(RequestId::HEADER, id);
    }
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, ANY_ORIGIN);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    let Some(quota) = quota else { return };
    let Quota { limit, window, remaining, reset } = quota;
    let policy = format!("\"compile\";q={limit};w={}", seconds(window));
    insert(headers, RATE_LIMIT_POLICY, &policy);
    let left = format!("\"compile\";r={remaining};t={}", seconds(reset));
    insert(headers, RATE_LIMIT, &left);
}

/// The head of an answer of events, which may be of any length.
pub(super) fn stream(body: AnswerBody) -> Answer {
    let mut answer = Answer::new(body);
    let headers = answer.headers_mut();
    let events = HeaderValue::from_static("text/event-stream");
    headers.insert(CONTENT_TYPE, events);
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // nginx would keep the events back until it has a page of them.
    let buffering = HeaderName::from_static("x-accel-buffering");
    headers.insert(buffering, HeaderValue::from_static("no"));
    answer
}

/// Lets pages of any origin read an answer.
pub(super) fn for_any_origin(mut answer: Answer) -> Answer {
    let headers = answer.headers_mut();
    headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, ANY_ORIGIN);
    headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, EXPOSED);
    answer
}

impl From<InputRefused> for Failure {
    fn from(refused: InputRefused) -> Self {
        Self::Input(refused)
    }
}

impl From<BodyError> for Failure {
    fn from(error: BodyError) -> Self {
        Self::Body(error)
    }
}

impl From<RequestError> for Failure {
    fn from(error: RequestError) -> Self {
        Self::Request(error)
    }
}

impl From<Refused> for Failure {
    fn from(refused: Refused) -> Self {
        Self::Refused(refused)
    }
}

impl From<Failure> for Answer {
    fn from(reason: Failure) -> Self {
        match reason {
            Failure::RateLimited(quota) => rate_limited(quota),
            Failure::NotJsonType => failure(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "Content-Type must be application/json",
            ),
            Failure::Body(error) => error.into(),
            Failure::NotJson => bad_request("invalid JSON body"),
            Failure::Request(error) => {
                let status = match error {
                    RequestError::TooManyFiles => StatusCode::PAYLOAD_TOO_LARGE,
                    _ => StatusCode::BAD_REQUEST,
                };
                failure(status, &error.to_string())
            }
            Failure::OverLimit => answers_over_limit(),
            Failure::Refused(Refused::Submission(error)) => {
                bad_request(&error.to_string())
            }
            Failure::Refused(Refused::Request(error)) => {
                bad_request(&error.to_string())
            }
            Failure::Refused(Refused::Engine(refusal)) => refused(&refusal),
            Failure::Input(refused) => refused.into(),
            Failure::ClientGone => internal_error(),
        }
    }
}

fn bad_request(message: &str) -> Answer {
    failure(StatusCode::BAD_REQUEST, message)
}

fn internal_error() -> Answer {
    failure(StatusCode::INTERNAL_SERVER_ERROR, "internal error")
}

fn rate_limited(quota: Quota) -> Answer {
    let message = format!(
        "rate limit exceeded: {} requests in {} s; come back in {} s",
        quota.limit,
        seconds(quota.window),
        seconds(quota.reset)
    );
    let answer = failure(StatusCode::TOO_MANY_REQUESTS, &message);
    come_back(answer, Some(quota.reset))
}

fn refused(refusal: &Refusal) -> Answer {
    let retry_after = match refusal {
        Refusal::Busy { retry_after, .. } | Refusal::Short { retry_after } => {
            Some(*retry_after)
        }
        Refusal::Unavailable { retry_after, .. } => *retry_after,
        Refusal::Failed => return internal_error(),
    };
    let message = refusal.to_string();
    let answer = failure(StatusCode::SERVICE_UNAVAILABLE, &message);
    come_back(answer, retry_after)
}

pub(super) fn come_back(
    mut answer: Answer,
    retry_after: Option<Duration>,
) -> Answer {
    if let Some(wait) = retry_after {
        answer.headers_mut().insert(RETRY_AFTER, seconds(wait).into());
    }
    answer
}

/// Returns whole seconds, rounded up: a client that waits for them has waited
/// for long enough.
fn seconds(wait: Duration) -> u64 {
    wait.as_secs() + u64::from(wait.subsec_nanos() > 0)
}

fn server_timing(outcome: &Outcome) -> String {
    let timing = &outcome.timing;
    let stages = [
        ("queue", Some(timing.queue)),
        ("prepare", Some(timing.prepare)),
        ("compile", timing.compile),
        ("run", timing.run),
    ];
    let entries: Vec<String> = stages
        .iter()
        .filter_map(|(name, time)| {
            let milliseconds = (*time)?.as_secs_f64() * 1e3;
            Some(format!("{name};dur={milliseconds:.1}"))
        })
        .collect();
    entries.join(", ")
}

/// Sets a header whose value is made of numbers and words of our own.
fn insert(headers: &mut HeaderMap, name: HeaderName, value: &str) {
    match HeaderValue::from_str(value) {
        Ok(value) => {
            headers.insert(name, value);
        }
        Err(error) => tracing::error!("{name}: {value:?}: {error}"),
    }
}

#[cfg(test)]
mod tests {
    use sandpiper_engine::languages::SubmissionError;

    use super::*;

    #[test]
    fn every_failure_has_a_reason_but_those_of_runs() {
        let zero = Duration::ZERO;
        let quota = Quota { limit: 1, window: zero, remaining: 0, reset: zero };
        let engine = |refusal| Failure::Refused(Refused::Engine(refusal));
        let busy = |cause| {
            let retry_after = zero;
            engine(Refusal::Busy { cause, retry_after })
        };
        let (field, expected) = (String::new(), "");
        let message = String::new();
        let failures = [
            Failure::RateLimited(quota),
            Failure::NotJsonType,
            BodyError::TooLarge { limit: 0 }.into(),
            BodyError::TooSlow.into(),
            BodyError::Broken.into(),
            BodyError::Busy.into(),
            Failure::NotJson,
            RequestError::TooManyFiles.into(),
            RequestError::Missing { field, expected }.into(),
            Refused::Submission(SubmissionError::NoEntryFile {
                entry_file: String::new(),
            })
            .into(),
            Failure::OverLimit,
            busy(BusyCause::Queue),
            busy(BusyCause::Share),
            busy(BusyCause::Wait(zero)),
            busy(BusyCause::Live(1)),
            engine(Refusal::Short { retry_after: zero }),
            engine(Refusal::Unavailable { message, retry_after: None }),
        ];
        let reasons: Vec<_> =
            failures.iter().filter_map(Failure::reason).collect();
        assert_eq!(reasons, REFUSALS);
        assert_eq!(engine(Refusal::Failed).reason(), None);
        assert_eq!(Failure::ClientGone.reason(), None);
    }

    #[test]
    fn waits_are_rounded_up() {
        assert_eq!(seconds(Duration::ZERO), 0);
        assert_eq!(seconds(Duration::from_millis(1)), 1);
        assert_eq!(seconds(Duration::from_secs(1)), 1);
        assert_eq!(seconds(Duration::from_millis(1_001)), 2);
    }
}
