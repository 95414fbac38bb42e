//! A caller's part in a run that goes on.

use std::future::pending;
use std::time::Duration;

use sandpiper_languages::Stage;
use sandpiper_sandbox::{Attachment, InputReceiver, OutputChunk};
use tokio::sync::{mpsc, watch};

/// A caller's part in a run that goes on. By default there is none.
#[derive(Debug, Default)]
pub struct RunAttachment {
    /// Gets each stage as it begins, before any of its output. The first one
    /// says that the run has its box.
    pub stages: Option<mpsc::UnboundedSender<Stage>>,
    /// Takes the output of the run step as it comes. If it is full, the program
    /// waits. The outcome has the output that it did not take.
    pub output: Option<mpsc::Sender<OutputChunk>>,
    /// Gives more standard input. Such a run is *interactive*: it has one of the
    /// live boxes, and the limits of live runs.
    pub input: Option<InputReceiver>,
    /// Becomes true when the run is to end.
    pub stop: Option<watch::Receiver<bool>>,
}

impl RunAttachment {
    /// Returns whether more input may come.
    pub(crate) fn is_interactive(&self) -> bool {
        self.input.is_some()
    }

    /// Resolves when the run is to end.
    pub(crate) async fn stopped(&self) {
        if let Some(mut stop) = self.stop.clone()
            && stop.wait_for(|&stop| stop).await.is_ok()
        {
            return;
        }
        // Nobody is left who could end it.
        pending().await
    }

    /// Returns the part in a command that is no step of the caller's: it can be
    /// stopped.
    pub(crate) fn aside(&self) -> Attachment {
        Attachment { stop: self.stop.clone(), ..Attachment::default() }
    }

    /// Reports that a step of this stage begins. Returns its part; an interactive
    /// run may be idle for `live_idle_time`.
    pub(crate) fn begin(
        &mut self,
        stage: Stage,
        live_idle_time: Duration,
    ) -> Attachment {
        if let Some(stages) = &self.stages {
            // A caller that has gone drops the run as well.
            let _ = stages.send(stage);
        }
        let idle_time = self.is_interactive().then_some(live_idle_time);
        match stage {
            // Its output counts only if it fails.
            Stage::Compile => self.aside(),
            Stage::Run => Attachment {
                output: self.output.take(),
                input: self.input.take(),
                idle_time,
                ..self.aside()
            },
        }
    }
}
