//! `POST /api/compile` and `POST /api/run`: the same runs and one rate limit,
//! with two forms of request and answer.

mod answer;
mod log;
mod media_type;
mod request;
mod request_id;
mod run_answer;
mod run_request;
pub(crate) mod runner;

use std::net::IpAddr;
use std::sync::Arc;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method};
use sandpiper_engine::languages::Language;
use sandpiper_engine::{Refusal, RunOptions};
use tokio::time::Instant;
use tracing::Instrument;

use crate::http::{
    Answer, AnswerMemory, ClientAddresses, ClientGone, RequestContext,
    json_text, method_not_allowed,
};
use crate::metrics::{Metrics, RunEnd};
use crate::rate_limit::{RateLimiter, Verdict};

pub(crate) use answer::CompileResponse;
use answer::Failure;
pub(crate) use answer::REFUSALS;
pub(crate) use request::CompileRequest;
use request_id::RequestId;
pub(crate) use run_answer::RunResponse;
pub(crate) use run_request::RunRequest;
pub(crate) use runner::Runner;
use runner::{Finished, Refused};

/// The form of a request and its answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// That of `/api/compile`: two texts.
    Compile,
    /// That of `/api/run`: the full result.
    Run,
}

/// The routes that run programs.
#[derive(Debug)]
pub(crate) struct Execution<R> {
    runner: Arc<R>,
    limiter: RateLimiter,
    addresses: ClientAddresses,
    metrics: Arc<Metrics>,
    memory: AnswerMemory,
    /// Bytes of artifacts of one run; 0 if none are returned.
    artifact_bytes: u64,
}

impl<R: Runner> Execution<R> {
    pub(crate) fn new(
        runner: Arc<R>,
        limiter: RateLimiter,
        addresses: ClientAddresses,
        metrics: Arc<Metrics>,
        memory: AnswerMemory,
        artifact_bytes: u64,
    ) -> Self {
        Self { runner, limiter, addresses, metrics, memory, artifact_bytes }
    }

    /// The answer to any request of a route of this form.
    pub(crate) async fn answer(
        &self,
        form: Form,
        request: RequestContext<'_>,
    ) -> Result<Answer, ClientGone> {
        let head = request.head;
        let client = self.addresses.client(request.peer, &head.headers);
        let now = Instant::now();
        let id = RequestId::new();
        let (mut answer, quota) = match head.method {
            Method::OPTIONS => return Ok(answer::preflight()),
            Method::POST => {
                let verdict = self.limiter.admit(client, now);
                let quota = verdict.map(Verdict::quota);
                let answered = match verdict {
                    Some(Verdict::Refused(quota)) => {
                        Err(Failure::RateLimited(quota))
                    }
                    _ => self.run(form, request, client, id).await,
                };
                (self.answer_of(answered, client, id)?, quota)
            }
            _ => (
                method_not_allowed(request.route.path, "POST, OPTIONS"),
                self.limiter.quota(client, now),
            ),
        };
        answer::add_headers(answer.headers_mut(), quota, id);
        Ok(answer)
    }

    /// Checks an admitted request, in the order in which failures are reported,
    /// and runs it.
    async fn run(
        &self,
        form: Form,
        request: RequestContext<'_>,
        client: IpAddr,
        id: RequestId,
    ) -> Result<Answer, Failure> {
        let RequestContext { head, body, connection, .. } = request;
        if !is_json(&head.headers) {
            return Err(Failure::NotJsonType);
        }
        let request = {
            // The raw body goes before the run takes its time.
            let body = body.read().await?;
            let text = json_text(&body).ok_or(Failure::NotJson)?;
            match form {
                Form::Compile => CompileRequest::parse(&text)?.into(),
                Form::Run => RunRequest::parse(&text)?,
            }
        };
        let options = match form {
            Form::Compile => RunOptions::default(),
            Form::Run => request.options(self.artifact_bytes)?,
        };
        if self.memory.is_over_limit() {
            return Err(Failure::OverLimit);
        }
        let chosen = self.runner.catalog().find(&request.language);
        // A name that no language has is refused, and shown nowhere.
        let chosen = chosen.map_or("none", Language::id);
        // All log lines of the engine about this run have its id.
        let span = tracing::error_span!("run", request = %id);
        let running = self.runner.run(request, options, client);
        let running = running.instrument(span);
        let ended = tokio::select! {
            // A run that has ended is answered, even if nobody reads that.
            biased;
            finished = running => finished.map_err(Failure::from),
            () = connection.closed_by_client() => Err(Failure::ClientGone),
        };
        let finished = self.end_run(id, client, chosen, ended)?;
        Ok(answer::of(form, &finished, &self.memory))
    }

    /// Ends a run that was started or was to be started: counts it, writes its
    /// line in the log, in this order. A refusal of the engine is counted and
    /// logged with all other refusals.
    fn end_run(
        &self,
        id: RequestId,
        client: IpAddr,
        language: &str,
        ended: Result<Finished, Failure>,
    ) -> Result<Finished, Failure> {
        let without_outcome = match &ended {
            Ok(Finished { language, outcome }) => {
                self.metrics.outcome(language, outcome);
                log::run_ended(id, client, language, outcome);
                None
            }
            Err(Failure::ClientGone) => Some(RunEnd::CLIENT_GONE),
            Err(Failure::Refused(Refused::Engine(Refusal::Failed))) => {
                Some(RunEnd::FAILED)
            }
            Err(_) => None,
        };
        if let Some(end) = without_outcome {
            self.metrics.run(language, end);
            log::given_up(id, client, language, end);
        }
        ended
    }

    /// Returns the answer to a failure. A refused request is counted and logged.
    fn answer_of(
        &self,
        answered: Result<Answer, Failure>,
        client: IpAddr,
        id: RequestId,
    ) -> Result<Answer, ClientGone> {
        let failure = match answered {
            Ok(answer) => return Ok(answer),
            Err(Failure::ClientGone) => return Err(ClientGone),
            Err(failure) => failure,
        };
        let reason = failure.reason();
        let answer = Answer::from(failure);
        // A run that the sandbox failed was no refusal, and has its line.
        if let Some(reason) = reason {
            self.metrics.refused(reason);
            log::refused(id, client, reason, answer.status());
        }
        Ok(answer)
    }
}

/// Whether the Content-Type is `application/json` or `…+json`.
fn is_json(headers: &HeaderMap) -> bool {
    let Some(Ok(value)) = headers.get(CONTENT_TYPE).map(|value| value.to_str())
    else {
        return false;
    };
    let media_type = value.split(';').next().unwrap_or_default().trim();
    let media_type = media_type.to_ascii_lowercase();
    media_type == "application/json"
        || media_type
            .split_once('/')
            .and_then(|(_, subtype)| subtype.strip_suffix("+json"))
            .is_some_and(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn json_types_are_told_from_others() {
        let check = |value: &str, expected: bool| {
            let mut headers = HeaderMap::new();
            let header = HeaderValue::from_str(value).unwrap();
            headers.insert(CONTENT_TYPE, header);
            assert_eq!(is_json(&headers), expected, "{value}");
        };
        check("application/json", true);
        check("Application/JSON", true);
        check("application/json; charset=utf-8", true);
        check("application/json ;charset=latin1", true);
        check("application/vnd.api+json", true);
        check("application/problem+JSON;q=1", true);
        check("text/json+json", true);
        check("", false);
        check("text/plain", false);
        check("application/jsonp", false);
        check("application/+json", false);
        check("text/json", false);
        check("application/x-www-form-urlencoded", false);
        check("text/plain; a=application/json", false);
        assert!(!is_json(&HeaderMap::new()));
    }
}
