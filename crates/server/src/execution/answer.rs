//! Answers of runs: an outcome or an error, and their headers.

use std::time::Duration;

use http::header::{
    ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS,
    ACCESS_CONTROL_ALLOW_ORIGIN, ACCESS_CONTROL_EXPOSE_HEADERS,
    ACCESS_CONTROL_MAX_AGE, ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER,
};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use sandpiper_engine::{Outcome, Refusal};
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::{
    Answer, AnswerBody, AnswerMemory, answer_memory_full, failure, json,
    no_content,
};
use crate::rate_limit::Quota;

use super::Form;
use super::error::ExecutionError;
use super::request::RequestError;
use super::request_id::RequestId;
use super::run_answer::RunResponse;
use super::runner::FinishedRun;

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
    FinishedRun { language, outcome }: &FinishedRun,
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

/// Returns 204 to a preflight of any origin.
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

/// Returns the head of an event stream, which may be of any length.
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

impl From<ExecutionError> for Answer {
    fn from(reason: ExecutionError) -> Self {
        match reason {
            ExecutionError::RateLimited(quota) => rate_limited(quota),
            ExecutionError::NotJsonType => failure(
                StatusCode::UNSUPPORTED_MEDIA_TYPE,
                "Content-Type must be application/json",
            ),
            ExecutionError::Body(error) => error.into(),
            ExecutionError::NotJson => bad_request("invalid JSON body"),
            ExecutionError::Request(error) => {
                let status = match error {
                    RequestError::TooManyFiles => StatusCode::PAYLOAD_TOO_LARGE,
                    _ => StatusCode::BAD_REQUEST,
                };
                failure(status, &error.to_string())
            }
            ExecutionError::AnswerMemoryFull => answer_memory_full(),
            ExecutionError::Submission(error) => {
                bad_request(&error.to_string())
            }
            ExecutionError::Engine(refusal) => refused(&refusal),
            ExecutionError::Session(error) => error.into(),
            ExecutionError::ClientGone => internal_error(),
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
    use super::*;

    #[test]
    fn waits_are_rounded_up() {
        assert_eq!(seconds(Duration::ZERO), 0);
        assert_eq!(seconds(Duration::from_millis(1)), 1);
        assert_eq!(seconds(Duration::from_secs(1)), 1);
        assert_eq!(seconds(Duration::from_millis(1_001)), 2);
    }
}
