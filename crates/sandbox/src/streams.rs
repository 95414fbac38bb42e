//! The three streams of a command as pipes, and the copying of their bytes.

use std::io;
use std::os::fd::OwnedFd;

use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, watch};

use crate::error::{During, Result};
use crate::output::{Sink, capture, incoming, outgoing};
use crate::{InputReceiver, Output, OutputChunk, OutputStream, StepSpec};

/// The server's ends of a command's streams.
#[derive(Debug)]
pub(crate) struct ParentPipes {
    stdin: OwnedFd,
    stdout: pipe::Receiver,
    stderr: pipe::Receiver,
}

/// The signals between a command's streams and its limits.
#[derive(Debug)]
pub(crate) struct StreamSignals {
    /// Becomes true when a stream passes its limit.
    pub(crate) over: watch::Sender<bool>,
    /// Becomes true when no process is left that could write.
    pub(crate) dead: watch::Receiver<bool>,
    /// Notified at each output and input.
    pub(crate) activity: watch::Sender<()>,
}

/// The program's ends of a command's streams, in the usual order.
pub(crate) type ChildPipes = [OwnedFd; 3];

/// Makes the pipes of a command.
pub(crate) fn pipes() -> Result<(ParentPipes, ChildPipes)> {
    let (stdin, childs_stdin) = incoming()?;
    let (stdout, childs_stdout) = outgoing()?;
    let (stderr, childs_stderr) = outgoing()?;
    let pipes = ParentPipes { stdin, stdout, stderr };
    Ok((pipes, [childs_stdin, childs_stdout, childs_stderr]))
}

impl ParentPipes {
    /// Feeds stdin, and captures stdout and stderr up to the limit of `spec`.
    /// Returns the part of both that `output` did not take, when they end or when
    /// every process that could write is dead.
    pub(crate) async fn carry(
        self,
        spec: &StepSpec,
        output: Option<&mpsc::Sender<OutputChunk>>,
        input: Option<&mut InputReceiver>,
        signals: StreamSignals,
    ) -> Result<(Output, Output)> {
        let step = "collect the output";
        let signals = &signals;
        let keep = |pipe, stream| {
            let sink = output.map(|output| Sink { stream, output });
            capture(pipe, spec.output_bytes, sink, signals)
        };
        let (stdout, stderr, fed) = tokio::join!(
            keep(self.stdout, OutputStream::Stdout),
            keep(self.stderr, OutputStream::Stderr),
            feed(self.stdin, &spec.stdin, input, signals),
        );
        fed.during("feed stdin")?;
        Ok((stdout.during(step)?, stderr.during(step)?))
    }
}

/// Writes all of stdin, and then all of `input`, and closes it. A program may
/// end without reading it.
async fn feed(
    stdin: OwnedFd,
    bytes: &[u8],
    input: Option<&mut InputReceiver>,
    signals: &StreamSignals,
) -> io::Result<()> {
    if bytes.is_empty() && input.is_none() {
        return Ok(());
    }
    let mut stdin = pipe::Sender::from_owned_fd_unchecked(stdin)?;
    let mut dead = signals.dead.clone();
    let fed = async {
        stdin.write_all(bytes).await?;
        let Some(input) = input else { return Ok(()) };
        while let Some(more) = input.next().await {
            signals.activity.send_replace(());
            stdin.write_all(&more.bytes).await?;
        }
        io::Result::Ok(())
    };
    tokio::select! {
        _ = fed => {}
        _ = dead.wait_for(|&dead| dead) => {}
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use crate::input_queue;

    use super::*;

    #[tokio::test]
    async fn input_is_activity() {
        let (stdin, _program) = incoming().unwrap();
        let (_alive, dead) = watch::channel(false);
        let (activity, seen) = watch::channel(());
        let over = watch::Sender::new(false);
        let signals = StreamSignals { over, dead, activity };
        let (sender, mut input) = input_queue(1);
        sender.try_send(b"a".to_vec()).unwrap();
        drop(sender);
        feed(stdin, b"", Some(&mut input), &signals).await.unwrap();
        assert!(seen.has_changed().unwrap());
    }
}
