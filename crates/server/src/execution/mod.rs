//! `POST /api/compile` and `POST /api/run`: the same runs and one rate limit,
//! with two forms of request and answer.

mod answer;
mod events;
mod input_request;
mod live;
mod log;
mod media_type;
mod negotiation;
mod request;
mod request_id;
mod run_answer;
mod run_request;
pub(crate) mod runner;
mod sessions;

use std::net::IpAddr;
use std::sync::Arc;

use http::{HeaderName, HeaderValue, Method, StatusCode};
use sandpiper_engine::languages::Language;
use sandpiper_engine::{Attached, Refusal, RunOptions};
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;
use tracing::{Instrument, Span};

use crate::http::{
    Answer, AnswerBody, AnswerMemory, ClientAddresses, ClientGone, Connection,
    RequestContext, json_text, method_not_allowed, no_content,
};
use crate::metrics::{Metrics, RunEnd};
use crate::rate_limit::{RateLimiter, Verdict};

pub(crate) use answer::CompileResponse;
use answer::Failure;
pub(crate) use answer::REFUSALS;
#[cfg(feature = "fuzzing")]
pub(crate) use events::OutputText;
pub(crate) use input_request::InputRequest;
use live::Running;
use negotiation::{accepts_events, is_json};
pub(crate) use request::CompileRequest;
use request::RequestError;
use request_id::RequestId;
pub(crate) use run_answer::RunResponse;
pub(crate) use run_request::RunRequest;
pub(crate) use runner::Runner;
use runner::{Finished, Refused};
use sessions::{InputRefused, RunId, Session, Sessions};

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
    limiter: RateLimiter,
    addresses: ClientAddresses,
    metrics: Arc<Metrics>,
    memory: AnswerMemory,
    /// Bytes of artifacts of one run; 0 if none are returned.
    artifact_bytes: u64,
    sessions: Sessions,
}

/// One admitted run, as metrics and the log know it.
#[derive(Clone, Copy)]
struct RunContext<'a> {
    id: RequestId,
    client: IpAddr,
    /// The language's id, or `none`: a name that no language has is refused, and
    /// shown nowhere.
    language: &'a str,
}

impl RunContext<'_> {
    /// Returns the span that gives all log lines of the engine about this run its
    /// id.
    fn span(&self) -> Span {
        tracing::error_span!("run", request = %self.id)
    }
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
        let sessions = Sessions::default();
        Self {
            runner,
            limiter,
            addresses,
            metrics,
            memory,
            artifact_bytes,
            sessions,
        }
    }

    /// The answer to any request of a route of this form.
    pub(crate) async fn answer(
        self: &Arc<Self>,
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

    /// The answer to any request that sends input to a run. `run` is the id in
    /// its path.
    pub(crate) async fn input(
        &self,
        run: &[u8],
        request: RequestContext<'_>,
    ) -> Answer {
        let RequestContext { head, route, body, .. } = request;
        let sent = async {
            if !is_json(&head.headers) {
                return Err(Failure::NotJsonType);
            }
            let body = body.read().await?;
            let text = json_text(&body).ok_or(Failure::NotJson)?;
            let InputRequest { text, end } = InputRequest::parse(&text)?;
            let id = RunId::parse(run).ok_or(InputRefused::NoSuchRun)?;
            Ok(self.sessions.input(id, text, end)?)
        };
        let answer = match head.method {
            Method::OPTIONS => return answer::preflight(),
            Method::POST => {
                sent.await.map_or_else(Answer::from, |()| no_content())
            }
            _ => method_not_allowed(route.path, "POST, OPTIONS"),
        };
        answer::for_any_origin(answer)
    }

    /// The answer to any request that stops a run. `run` is the id in its path.
    pub(crate) fn stop(
        &self,
        run: &[u8],
        request: &RequestContext<'_>,
    ) -> Answer {
        let answer = match request.head.method {
            Method::OPTIONS => return answer::preflight(),
            Method::POST => {
                let id = RunId::parse(run);
                if id.is_some_and(|id| self.sessions.stop(id)) {
                    no_content()
                } else {
                    Failure::from(InputRefused::NoSuchRun).into()
                }
            }
            _ => method_not_allowed(request.route.path, "POST, OPTIONS"),
        };
        answer::for_any_origin(answer)
    }

    /// Checks an admitted request, in the order in which failures are reported,
    /// and runs it.
    async fn run(
        self: &Arc<Self>,
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
        let is_stream = form == Form::Run && accepts_events(&head.headers);
        if request.interactive && !is_stream {
            return Err(RequestError::NeedsEvents.into());
        }
        let options = match form {
            Form::Compile => RunOptions::default(),
            Form::Run => request.options(self.artifact_bytes)?,
        };
        if self.memory.is_over_limit() {
            return Err(Failure::OverLimit);
        }
        let language = self.runner.catalog().find(&request.language);
        let language = language.map_or("none", Language::id);
        let context = RunContext { id, client, language };
        let named = head.headers.get(&RUN_ID).map(HeaderValue::as_bytes);
        let named = named.and_then(RunId::parse);
        if is_stream {
            self.stream(request, options, named, context, connection).await
        } else {
            let run = self.whole(request, options, named, context, connection);
            Ok(answer::of(form, &run.await?, &self.memory))
        }
    }

    /// Runs a request that is answered when the run has ended.
    async fn whole(
        &self,
        request: RunRequest,
        options: RunOptions,
        named: Option<RunId>,
        context: RunContext<'_>,
        connection: &Connection,
    ) -> Result<Finished, Failure> {
        let (stop, stopped) = watch::channel(false);
        let attached = Attached { stop: Some(stopped), ..Attached::default() };
        let _registration = named.and_then(|id| {
            self.sessions.register(id, Session::new(stop, None))
        });
        let running =
            self.runner.run(request, options, attached, context.client);
        let running = running.instrument(context.span());
        let ended = tokio::select! {
            // A run that has ended is answered, even if nobody reads that.
            biased;
            finished = running => finished.map_err(Failure::from),
            () = connection.closed_by_client() => Err(Failure::ClientGone),
        };
        self.end_run(context, ended)
    }

    /// Runs a request that is answered while the run goes on. The answer begins
    /// when the run has its box.
    async fn stream(
        self: &Arc<Self>,
        request: RunRequest,
        options: RunOptions,
        named: Option<RunId>,
        context: RunContext<'_>,
        connection: &Arc<Connection>,
    ) -> Result<Answer, Failure> {
        let is_interactive = request.interactive;
        let (attached, mut reader, session) = live::attach(is_interactive);
        let own = is_interactive.then(RunId::random);
        let id = own.or(named);
        let registration =
            id.and_then(|id| self.sessions.register(id, session));
        let limits = self.runner.limits(&request.language, is_interactive);
        let limits = options.limits.lower(limits);
        let (runner, client) = (Arc::clone(&self.runner), context.client);
        let run =
            async move { runner.run(request, options, attached, client).await };
        let mut running = Running::start(run.instrument(context.span()));
        let stage = tokio::select! {
            biased;
            Some(stage) = reader.stages.recv() => stage,
            ended = running.ended() => {
                // It never began.
                self.end_run(context, ended)?;
                return Err(Failure::run_failed());
            }
            () = connection.closed_by_client() => {
                self.end_run(context, Err(Failure::ClientGone))?;
                return Err(Failure::ClientGone);
            }
        };
        let run = registration.as_ref().and(id).map(|id| id.to_string());
        let begin =
            events::begin(context.language, run, &limits, is_interactive);
        let (sender, pieces) = mpsc::channel(1);
        let answer = answer::stream(AnswerBody::Stream {
            pieces,
            connection: Arc::clone(connection),
        });
        let relayed = live::relay(
            reader,
            running,
            [begin, events::stage(stage)].concat(),
            sender.clone(),
            Arc::clone(connection),
        );
        let (own, connection) = (Arc::clone(self), Arc::clone(connection));
        let (language, id) = (context.language.to_owned(), context.id);
        tokio::spawn(async move {
            let (ended, mut rest) = relayed.await;
            drop(registration);
            let context = RunContext { language: &language, id, client };
            rest.extend(match own.end_run(context, ended) {
                Ok(Finished { outcome, .. }) => events::end(&outcome),
                Err(Failure::ClientGone) => return,
                Err(failure) => {
                    let reason = failure.reason();
                    own.note_refusal(reason, client, id, StatusCode::OK);
                    events::failed(&failure)
                }
            });
            let rest = connection.last_piece(rest, &own.memory);
            let _ = sender.send(rest).await;
        });
        Ok(answer)
    }

    /// Counts a run that was started or was to be started, and logs it. A refusal
    /// of the engine is counted and logged with all other refusals.
    fn end_run(
        &self,
        RunContext { id, client, language }: RunContext<'_>,
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
        self.note_refusal(reason, client, id, answer.status());
        Ok(answer)
    }

    /// Counts and logs a request that was not run. A run that the sandbox failed
    /// was no refusal, and has its line.
    fn note_refusal(
        &self,
        reason: Option<&'static str>,
        client: IpAddr,
        id: RequestId,
        status: StatusCode,
    ) {
        if let Some(reason) = reason {
            self.metrics.refused(reason);
            log::refused(id, client, reason, status);
        }
    }
}
