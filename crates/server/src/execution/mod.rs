//! `POST /api/compile` and `POST /api/run`: the same runs and one rate limit,
//! with two forms of request and answer.

mod answer;
mod control;
mod error;
mod events;
mod input_request;
mod log;
mod media_type;
mod negotiation;
mod request;
mod request_id;
mod run_answer;
mod run_request;
pub(crate) mod runner;
mod sessions;
mod stream;

use std::net::IpAddr;
use std::sync::Arc;

use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, StatusCode};
use sandpiper_engine::languages::Language;
use sandpiper_engine::{Refusal, RunAttachment, RunOptions};
use sandpiper_shared::LinkState;
use tokio::sync::watch;
use tracing::{Instrument, Span};

use crate::embed::Frameworks;
use crate::http::{
    Answer, AnswerMemory, ClientAddresses, ClientGone, Connection,
    IdempotencyKey, RequestBody, RequestContext, json_text, method_not_allowed,
};
use crate::metrics::{Metrics, RunEnd};
use crate::rate_limit::{Quota, RequestLimiter, Verdict};
use crate::settings::NodeTag;

pub(crate) use answer::CompileResponse;
pub(crate) use error::{ExecutionError, REFUSALS};
#[cfg(feature = "fuzzing")]
pub(crate) use events::OutputText;
pub(crate) use input_request::InputRequest;
use negotiation::{accepts_events, is_json};
pub(crate) use request::CompileRequest;
use request::RequestError;
use request_id::RequestId;
pub(crate) use run_answer::RunResponse;
pub(crate) use run_request::RunRequest;
use runner::FinishedRun;
pub(crate) use runner::Runner;
use sessions::{RunId, Session, Sessions};

/// The header in which a client names its run, so that it can stop it.
const RUN_ID: HeaderName = HeaderName::from_static("sandpiper-run");

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
    limiter: RequestLimiter,
    addresses: ClientAddresses,
    frameworks: Frameworks<R>,
    metrics: Arc<Metrics>,
    memory: AnswerMemory,
    /// Bytes of artifacts of one run; 0 if none are returned.
    artifact_bytes: u64,
    sessions: Sessions,
}

/// A request, as the limiter and the log know it.
#[derive(Clone, Debug)]
struct RequestInfo {
    id: RequestId,
    client: IpAddr,
    /// The id that it has at every node that is tried.
    client_request: IdempotencyKey,
    /// Its answer's status if only another node may run it.
    elsewhere_status: StatusCode,
}

/// One admitted run, as metrics and the log know it. Each is counted once and has
/// one line. If it is dropped before its end, it counts as stopped: its connection
/// was ended, by the end of the drain or, rarely, by a reset amid an earlier answer.
#[derive(Debug)]
struct AdmittedRun {
    metrics: Arc<Metrics>,
    request: RequestInfo,
    /// The language's id, or `none`: a name that no language has is refused, and
    /// shown nowhere.
    language: String,
    is_recorded: bool,
}

impl AdmittedRun {
    /// Returns the span that gives all log lines of the engine about this run its
    /// id.
    fn span(&self) -> Span {
        tracing::error_span!("run", request = %self.request.id)
    }

    /// Counts a run that was started or was to be started, and logs it. A refusal
    /// of the engine is counted and logged with all other refusals.
    fn record_end(
        &mut self,
        ended: Result<FinishedRun, ExecutionError>,
    ) -> Result<FinishedRun, ExecutionError> {
        self.is_recorded = true;
        match &ended {
            Ok(FinishedRun { language, outcome }) => {
                self.metrics.outcome(language, outcome);
                log::run_ended(&self.request, language, outcome);
            }
            Err(ExecutionError::ClientGone) => {
                self.give_up(RunEnd::CLIENT_GONE);
            }
            Err(ExecutionError::Engine(Refusal::Failed)) => {
                self.give_up(RunEnd::FAILED);
            }
            Err(_) => {}
        }
        ended
    }

    fn give_up(&self, end: RunEnd) {
        self.metrics.run(&self.language, end);
        log::given_up(&self.request, &self.language, end);
    }
}

impl Drop for AdmittedRun {
    fn drop(&mut self) {
        if !self.is_recorded {
            self.give_up(RunEnd::STOPPED);
        }
    }
}

impl<R: Runner> Execution<R> {
    pub(crate) fn new(
        runner: Arc<R>,
        limiter: RequestLimiter,
        addresses: ClientAddresses,
        metrics: Arc<Metrics>,
        memory: AnswerMemory,
        artifact_bytes: u64,
        node_tag: Option<NodeTag>,
    ) -> Self {
        let sessions = Sessions::new(node_tag);
        Self {
            frameworks: Frameworks::new(Arc::clone(&runner)),
            runner,
            limiter,
            addresses,
            metrics,
            memory,
            artifact_bytes,
            sessions,
        }
    }

    /// Returns the answer to any request of a route of this form.
    pub(crate) async fn answer(
        self: &Arc<Self>,
        form: Form,
        request: RequestContext<'_>,
    ) -> Result<Answer, ClientGone> {
        let head = request.head;
        let info = self.info(&request);
        let (mut answer, quota) = match head.method {
            Method::OPTIONS => return Ok(answer::preflight()),
            Method::POST => {
                let RequestContext { head, body, connection, .. } = request;
                // Valkey may be asked, and the body comes meanwhile. A refusal
                // does not wait for it.
                let (quota, answered) = match tokio::try_join!(
                    biased;
                    self.admit(&info),
                    async { Ok(read(form, head, body).await) },
                ) {
                    Err(quota) => {
                        (Some(quota), Err(ExecutionError::RateLimited(quota)))
                    }
                    Ok((quota, Err(error))) => (quota, Err(error)),
                    Ok((quota, Ok(request))) => {
                        let run =
                            self.run(form, request, head, connection, &info);
                        (quota, run.await)
                    }
                };
                (self.answer_of(answered, &info)?, quota)
            }
            _ => (
                method_not_allowed(request.route.path, "POST, OPTIONS"),
                self.limiter.quota(info.client).await,
            ),
        };
        answer::add_headers(answer.headers_mut(), quota, info.id);
        Ok(answer)
    }

    /// Ends the live runs at once, since they may last for minutes; also
    /// those that are still to begin.
    pub(crate) fn begin_stop(&self) {
        self.sessions.begin_stop();
    }

    /// Returns whether the server stops.
    pub(crate) fn is_stopping(&self) -> bool {
        self.sessions.is_stopping()
    }

    /// Returns the state of a shared limit.
    pub(crate) fn shared_limits(&self) -> Option<LinkState> {
        self.limiter.shared_state()
    }

    /// Returns the frameworks, which are assets, too.
    pub(crate) fn frameworks(&self) -> &Frameworks<R> {
        &self.frameworks
    }

    fn info(&self, request: &RequestContext<'_>) -> RequestInfo {
        let RequestContext { head, peer, .. } = *request;
        let proxies = self.addresses.proxies();
        RequestInfo {
            id: RequestId::new(),
            client: self.addresses.client(peer, &head.headers),
            client_request: proxies.request_id(peer, &head.headers),
            elsewhere_status: proxies.elsewhere_status(peer),
        }
    }

    /// Counts the request. Fails with the quota of a client that is over its limit.
    async fn admit(&self, info: &RequestInfo) -> Result<Option<Quota>, Quota> {
        match self.limiter.admit(info.client, &info.client_request).await {
            Some(Verdict::Refused(quota)) => Err(quota),
            verdict => Ok(verdict.map(Verdict::quota)),
        }
    }

    /// Runs an admitted request.
    async fn run(
        self: &Arc<Self>,
        form: Form,
        request: RunRequest,
        head: &Parts,
        connection: &Arc<Connection>,
        info: &RequestInfo,
    ) -> Result<Answer, ExecutionError> {
        let is_stream = form == Form::Run && accepts_events(&head.headers);
        if request.interactive && !is_stream {
            return Err(RequestError::NeedsEvents.into());
        }
        let options = match form {
            Form::Compile => RunOptions::default(),
            Form::Run => request.options(self.artifact_bytes)?,
        };
        if self.memory.is_over_limit() {
            return Err(ExecutionError::AnswerMemoryFull);
        }
        let language = self.runner.catalog().find(&request.language);
        let language = language.map_or("none", Language::id);
        let admitted = AdmittedRun {
            metrics: Arc::clone(&self.metrics),
            request: info.clone(),
            language: language.to_owned(),
            is_recorded: false,
        };
        let named = head.headers.get(&RUN_ID).map(HeaderValue::as_bytes);
        let named = named.and_then(RunId::parse);
        if is_stream {
            self.stream(request, options, named, admitted, connection).await
        } else {
            let run = self.whole(request, options, named, admitted, connection);
            Ok(answer::of(form, &run.await?, &self.memory))
        }
    }

    /// Runs a request that is answered when the run has ended.
    async fn whole(
        &self,
        request: RunRequest,
        options: RunOptions,
        named: Option<RunId>,
        mut admitted: AdmittedRun,
        connection: &Connection,
    ) -> Result<FinishedRun, ExecutionError> {
        let (stop, stopped) = watch::channel(false);
        let attachment =
            RunAttachment { stop: Some(stopped), ..RunAttachment::default() };
        let _registration = named.and_then(|id| {
            self.sessions.register(id, Session::new(stop, None))
        });
        let running = self.runner.run(
            request,
            options,
            attachment,
            admitted.request.client,
        );
        let running = running.instrument(admitted.span());
        let ended = tokio::select! {
            // A run that has ended is answered, even if nobody reads that.
            biased;
            finished = running => finished,
            () = connection.closed_by_client() => Err(ExecutionError::ClientGone),
        };
        admitted.record_end(ended)
    }

    /// Returns the answer to an error. A refused request is counted and logged.
    fn answer_of(
        &self,
        answered: Result<Answer, ExecutionError>,
        info: &RequestInfo,
    ) -> Result<Answer, ClientGone> {
        let error = match answered {
            Ok(answer) => return Ok(answer),
            Err(ExecutionError::ClientGone) => return Err(ClientGone),
            Err(error) => error,
        };
        let reason = error.reason();
        let may_run_elsewhere = error.may_run_elsewhere();
        let mut answer = Answer::from(error);
        if may_run_elsewhere {
            *answer.status_mut() = info.elsewhere_status;
        }
        self.note_refusal(reason, info, answer.status());
        Ok(answer)
    }

    /// Counts and logs a request that was not run. A run that the sandbox failed
    /// was no refusal, and has its line.
    fn note_refusal(
        &self,
        reason: Option<&'static str>,
        info: &RequestInfo,
        status: StatusCode,
    ) {
        if let Some(reason) = reason {
            self.metrics.refused(reason);
            log::refused(info, reason, status);
        }
    }
}

/// Reads a request, and checks it in the order in which errors are reported.
async fn read(
    form: Form,
    head: &Parts,
    body: &mut RequestBody,
) -> Result<RunRequest, ExecutionError> {
    if !is_json(&head.headers) {
        return Err(ExecutionError::NotJsonType);
    }
    let body = body.read().await?;
    let text = json_text(&body).ok_or(ExecutionError::NotJson)?;
    Ok(match form {
        Form::Compile => CompileRequest::parse(&text)?.into(),
        Form::Run => RunRequest::parse(&text)?,
    })
}
