//! A run that is answered while it goes on, by an event stream.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use sandpiper_engine::{
    Outcome, OutputChunk, OutputStream, RunAttachment, RunOptions, Stage,
    input_queue,
};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tracing::Instrument;

use super::answer;
use super::error::ExecutionError;
use super::events::{self, OutputText, PING};
use super::run_request::FrameworkPlace;
use super::runner::{FinishedRun, Runner};
use super::sessions::{RunId, Session};
use super::{AdmittedRun, Execution, RunRequest};
use crate::embed::Framework;
use crate::http::{Answer, AnswerBody, Connection};
use crate::limits::LIVE_INPUT_WAITING;

/// Time without an event after which a comment is sent.
const PING_TIME: Duration = Duration::from_secs(10);

impl<R: Runner> Execution<R> {
    /// Runs a request that is answered while the run goes on. The answer begins
    /// when the run has its box.
    pub(super) async fn stream(
        self: &Arc<Self>,
        request: RunRequest,
        options: RunOptions,
        named: Option<RunId>,
        mut admitted: AdmittedRun,
        connection: &Arc<Connection>,
    ) -> Result<Answer, ExecutionError> {
        let is_interactive = request.interactive;
        let framework = self.left_out(&request, &admitted.language).await;
        let (attachment, mut reader, session) =
            attach(is_interactive, framework.is_some());
        let own = is_interactive.then(RunId::random);
        let id = own.or(named);
        let registration =
            id.and_then(|id| self.sessions.register(id, session));
        let language = &request.language;
        let limits =
            self.runner.limits(language, is_interactive, &options.limits);
        let runner = Arc::clone(&self.runner);
        let client = admitted.request.client;
        let run = async move {
            runner.run(request, options, attachment, client).await
        };
        let mut running = RunTask::start(run.instrument(admitted.span()));
        let stage = tokio::select! {
            biased;
            Some(stage) = reader.stages.recv() => stage,
            ended = running.ended() => {
                // It was refused, or stopped while it waited: it never began.
                let FinishedRun { outcome, .. } = admitted.record_end(ended)?;
                let end = events::end(&outcome, self.sessions.is_stopping());
                let (sender, answer) = begin_answer(connection);
                let _ = sender.try_send(end.into());
                return Ok(answer);
            }
            () = connection.closed_by_client() => {
                admitted.record_end(Err(ExecutionError::ClientGone))?;
                return Err(ExecutionError::ClientGone);
            }
        };
        let run = registration.as_ref().and(id);
        let run = run.map(|id| self.sessions.name(id));
        let begin =
            events::begin(&admitted.language, run, &limits, is_interactive);
        let (sender, answer) = begin_answer(connection);
        let relayed = relay(
            reader,
            running,
            [begin, events::stage(stage)].concat(),
            framework,
            sender.clone(),
            Arc::clone(connection),
        );
        let (own, connection) = (Arc::clone(self), Arc::clone(connection));
        tokio::spawn(async move {
            let (ended, mut rest) = relayed.await;
            drop(registration);
            let Some(last) = own.last_events(admitted, ended) else { return };
            rest.extend(last);
            let rest = connection.last_piece(rest, &own.memory);
            let _ = sender.send(rest).await;
        });
        Ok(answer)
    }

    /// Returns the framework that is left out of the document of this run.
    async fn left_out(
        &self,
        request: &RunRequest,
        language: &str,
    ) -> Option<Arc<Framework>> {
        let is_left_out = request.framework == FrameworkPlace::External
            && !request.interactive;
        if is_left_out { self.frameworks.of(language).await } else { None }
    }

    /// Counts and logs a run whose answer has begun. Returns its last events, or
    /// `None` if nobody reads them.
    fn last_events(
        &self,
        mut admitted: AdmittedRun,
        ended: Result<FinishedRun, ExecutionError>,
    ) -> Option<Vec<u8>> {
        match admitted.record_end(ended) {
            Ok(FinishedRun { outcome, .. }) => {
                let is_stopping = self.sessions.is_stopping();
                Some(events::end(&outcome, is_stopping))
            }
            Err(ExecutionError::ClientGone) => None,
            Err(error) => {
                let reason = error.reason();
                self.note_refusal(reason, &admitted.request, StatusCode::OK);
                Some(events::failed(&error))
            }
        }
    }
}

/// The reading side of a run.
#[derive(Debug)]
struct Reader {
    stages: mpsc::UnboundedReceiver<Stage>,
    output: mpsc::Receiver<OutputChunk>,
}

/// A run in a task of its own, so that its limits hold even if its reader
/// stalls. Dropping it kills the run.
#[derive(Debug)]
struct RunTask(JoinHandle<Result<FinishedRun, ExecutionError>>);

/// Returns the two sides of a run that is read while it goes on, and the ways
/// into it. If its output is a document, that stays in its outcome.
fn attach(
    is_interactive: bool,
    is_document: bool,
) -> (RunAttachment, Reader, Session) {
    let (stages, stages_seen) = mpsc::unbounded_channel();
    // One chunk waits, and one is on its way.
    let (output, output_seen) = mpsc::channel(1);
    let (stop, stopped) = watch::channel(false);
    let queue = is_interactive.then(|| input_queue(LIVE_INPUT_WAITING));
    let (sender, input) = queue.unzip();
    let attachment = RunAttachment {
        stages: Some(stages),
        output: (!is_document).then_some(output),
        input,
        stop: Some(stopped),
    };
    let reader = Reader { stages: stages_seen, output: output_seen };
    (attachment, reader, Session::new(stop, sender))
}

/// Returns an event stream, and the way to send its events: one piece waits.
fn begin_answer(connection: &Arc<Connection>) -> (mpsc::Sender<Bytes>, Answer) {
    let (sender, pieces) = mpsc::channel(1);
    let connection = Arc::clone(connection);
    (sender, answer::stream(AnswerBody::Stream { pieces, connection }))
}

impl RunTask {
    fn start(
        run: impl Future<Output = Result<FinishedRun, ExecutionError>>
        + Send
        + 'static,
    ) -> Self {
        Self(tokio::spawn(run))
    }

    /// Waits for the end of the run.
    async fn ended(&mut self) -> Result<FinishedRun, ExecutionError> {
        match (&mut self.0).await {
            Ok(result) => result,
            // It panicked: nothing else aborts it while this is here.
            Err(_) => Err(ExecutionError::run_failed()),
        }
    }
}

impl Drop for RunTask {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Sends the events of a run that goes on; `begin` has the first ones, and
/// `framework` is in its document under an address of its own. Returns its end,
/// and the events of output that were not sent before it. So an ended run waits
/// for no reader, and the caller can count all that is left of it.
async fn relay(
    mut reader: Reader,
    mut running: RunTask,
    begin: Vec<u8>,
    framework: Option<Arc<Framework>>,
    events: mpsc::Sender<Bytes>,
    connection: Arc<Connection>,
) -> (Result<FinishedRun, ExecutionError>, Vec<u8>) {
    let mut text = OutputText::default();
    let relayed = async {
        let mut next = begin;
        let ended = loop {
            let is_free = next.is_empty();
            tokio::select! {
                // A stage is reported before its output.
                biased;
                Ok(room) = events.reserve(), if !is_free => {
                    room.send(mem::take(&mut next).into());
                }
                Some(stage) = reader.stages.recv(), if is_free => {
                    next = events::stage(stage);
                }
                Some(OutputChunk { stream, bytes }) = reader.output.recv(),
                    if is_free =>
                {
                    next = text.push(stream, &bytes);
                }
                ended = running.ended() => break ended,
                () = sleep(PING_TIME), if is_free => next = PING.to_vec(),
            }
        };
        while let Some(OutputChunk { stream, bytes }) =
            reader.output.recv().await
        {
            next.extend(text.push(stream, &bytes));
        }
        if let Ok(FinishedRun { outcome, .. }) = &ended {
            let Outcome { stdout, stderr, .. } = outcome;
            next.extend(match framework {
                Some(framework) => text.document(stdout, &framework),
                None => text.finish(OutputStream::Stdout, stdout),
            });
            next.extend(text.finish(OutputStream::Stderr, stderr));
        }
        (ended, next)
    };
    tokio::select! {
        biased;
        ended = relayed => ended,
        () = connection.closed_by_client() => gone(),
        // The connection was closed on this side.
        () = events.closed() => gone(),
    }
}

fn gone() -> (Result<FinishedRun, ExecutionError>, Vec<u8>) {
    (Err(ExecutionError::ClientGone), Vec::new())
}
