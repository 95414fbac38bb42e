//! A run that is answered while it goes on, as server-sent events.

use std::mem;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use sandpiper_engine::{
    Attached, Chunk, Outcome, OutputStream, Stage, input_queue,
};
use tokio::sync::{mpsc, watch};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use super::answer::Failure;
use super::events::{self, OutputText, PING};
use super::runner::{Finished, Refused};
use super::sessions::Session;
use crate::http::Connection;
use crate::limits::LIVE_INPUT_WAITING;

/// Time without an event after which a comment is sent.
const PING_TIME: Duration = Duration::from_secs(10);

/// The reading side of a run.
#[derive(Debug)]
pub(super) struct Reader {
    pub(super) stages: mpsc::UnboundedReceiver<Stage>,
    output: mpsc::Receiver<Chunk>,
}

/// A run in a task of its own, so that its limits hold even if its reader
/// stalls. Dropping it kills the run.
#[derive(Debug)]
pub(super) struct Running(JoinHandle<Result<Finished, Refused>>);

/// Returns the two sides of a run that is read while it goes on, and the ways
/// into it.
pub(super) fn attach(is_interactive: bool) -> (Attached, Reader, Session) {
    let (stages, stages_seen) = mpsc::unbounded_channel();
    // One chunk waits, and one is on its way.
    let (output, output_seen) = mpsc::channel(1);
    let (stop, stopped) = watch::channel(false);
    let queue = is_interactive.then(|| input_queue(LIVE_INPUT_WAITING));
    let (sender, input) = queue.unzip();
    let attached = Attached {
        stages: Some(stages),
        output: Some(output),
        input,
        stop: Some(stopped),
    };
    let reader = Reader { stages: stages_seen, output: output_seen };
    (attached, reader, Session::new(stop, sender))
}

impl Running {
    pub(super) fn start(
        run: impl Future<Output = Result<Finished, Refused>> + Send + 'static,
    ) -> Self {
        Self(tokio::spawn(run))
    }

    /// Waits for the end of the run.
    pub(super) async fn ended(&mut self) -> Result<Finished, Failure> {
        match (&mut self.0).await {
            Ok(result) => result.map_err(Failure::from),
            // It panicked: nothing else aborts it while this is here.
            Err(_) => Err(Failure::run_failed()),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// Sends the events of a run that goes on; `begin` has the first ones. Returns
/// its end, and the events of output that were not sent before it. So an ended
/// run waits for no reader, and the caller can count all that is left of it.
pub(super) async fn relay(
    mut reader: Reader,
    mut running: Running,
    begin: Vec<u8>,
    events: mpsc::Sender<Bytes>,
    connection: Arc<Connection>,
) -> (Result<Finished, Failure>, Vec<u8>) {
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
                Some(Chunk { stream, bytes }) = reader.output.recv(),
                    if is_free =>
                {
                    next = text.push(stream, &bytes);
                }
                ended = running.ended() => break ended,
                () = sleep(PING_TIME), if is_free => next = PING.to_vec(),
            }
        };
        while let Some(Chunk { stream, bytes }) = reader.output.recv().await {
            next.extend(text.push(stream, &bytes));
        }
        if let Ok(Finished { outcome, .. }) = &ended {
            let Outcome { stdout, stderr, .. } = outcome;
            next.extend(text.finish(OutputStream::Stdout, stdout));
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

fn gone() -> (Result<Finished, Failure>, Vec<u8>) {
    (Err(Failure::ClientGone), Vec::new())
}
