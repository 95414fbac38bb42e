//! A run that is answered while it goes on, as server-sent events.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use sandpiper_engine::{
    Attached, Chunk, InputSender, OutputStream, Stage, input_queue,
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
    let mut sender: Option<InputSender> = None;
    let mut input = None;
    if is_interactive {
        let (ours, theirs) = input_queue(LIVE_INPUT_WAITING);
        sender = Some(ours);
        input = Some(theirs);
    }
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

/// Sends the events of a run up to its end, without the last ones; `begin` has
/// the first ones.
pub(super) async fn relay(
    mut reader: Reader,
    mut running: Running,
    begin: Vec<u8>,
    events: mpsc::Sender<Bytes>,
    connection: Arc<Connection>,
) -> Result<Finished, Failure> {
    let mut text = OutputText::default();
    let relayed = async {
        send(&events, begin).await;
        let ended = loop {
            tokio::select! {
                // A stage is reported before its output.
                biased;
                Some(stage) = reader.stages.recv() => {
                    send(&events, events::stage(stage)).await;
                }
                Some(Chunk { stream, bytes }) = reader.output.recv() => {
                    send(&events, text.push(stream, &bytes)).await;
                }
                ended = running.ended() => break ended,
                () = sleep(PING_TIME) => send(&events, PING.to_vec()).await,
            }
        };
        while let Some(Chunk { stream, bytes }) = reader.output.recv().await {
            send(&events, text.push(stream, &bytes)).await;
        }
        if let Ok(Finished { outcome, .. }) = &ended {
            let out = text.finish(OutputStream::Stdout, &outcome.stdout.bytes);
            send(&events, out).await;
            let err = text.finish(OutputStream::Stderr, &outcome.stderr.bytes);
            send(&events, err).await;
        }
        ended
    };
    tokio::select! {
        biased;
        ended = relayed => ended,
        () = connection.closed_by_client() => Err(Failure::ClientGone),
        // The connection was closed on this side.
        () = events.closed() => Err(Failure::ClientGone),
    }
}

async fn send(events: &mpsc::Sender<Bytes>, bytes: Vec<u8>) {
    if !bytes.is_empty() {
        // If nobody reads any more, the caller notices it.
        let _ = events.send(bytes.into()).await;
    }
}
