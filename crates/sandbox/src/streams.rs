//! The three streams of a command: pipes, and what carries them.

use std::io;
use std::os::fd::OwnedFd;

use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::sync::watch;

use crate::StepSpec;
use crate::error::{During, Result};
use crate::output::{capture, incoming, outgoing};

/// The server's ends of a command's streams.
#[derive(Debug)]
pub(crate) struct Near {
    stdin: OwnedFd,
    stdout: pipe::Receiver,
    stderr: pipe::Receiver,
}

/// The program's ends of a command's streams, in the usual order.
pub(crate) type Far = [OwnedFd; 3];

/// Where the streams of a box's commands come from.
#[derive(Debug, Default)]
pub(crate) struct Pipes {
    /// Those of the next command.
    ahead: Option<(Near, Far)>,
}

impl Pipes {
    /// Makes the next ones while nobody waits for them.
    pub(crate) fn make_ahead(&mut self) -> Result<()> {
        self.ahead = Some(pipes()?);
        Ok(())
    }

    pub(crate) fn take(&mut self) -> Result<(Near, Far)> {
        self.ahead.take().map_or_else(pipes, Ok)
    }
}

fn pipes() -> Result<(Near, Far)> {
    let (stdin, far_stdin) = incoming()?;
    let (stdout, far_stdout) = outgoing()?;
    let (stderr, far_stderr) = outgoing()?;
    let near = Near { stdin, stdout, stderr };
    Ok((near, [far_stdin, far_stdout, far_stderr]))
}

impl Near {
    /// Feeds stdin and captures the others up to the caps of `spec`, until
    /// they end or every process that could write is `dead`: what was written.
    /// `over` is told when a cap is passed.
    pub(crate) async fn carry(
        self,
        spec: &StepSpec,
        over: watch::Sender<bool>,
        dead: watch::Receiver<bool>,
    ) -> Result<(Vec<u8>, Vec<u8>)> {
        let step = "collect the output";
        let cap = spec.output_bytes;
        let keep = |stream, over| capture(stream, cap, over, dead.clone());
        let (stdout, stderr, fed) = tokio::join!(
            keep(self.stdout, over.clone()),
            keep(self.stderr, over),
            feed(self.stdin, &spec.stdin, dead.clone()),
        );
        fed.during("feed stdin")?;
        Ok((stdout.during(step)?, stderr.during(step)?))
    }
}

/// Writes all of stdin and closes it. A program that does not read it, or has
/// ended, is no failure.
async fn feed(
    stdin: OwnedFd,
    bytes: &[u8],
    mut dead: watch::Receiver<bool>,
) -> io::Result<()> {
    if bytes.is_empty() {
        return Ok(());
    }
    let mut stdin = pipe::Sender::from_owned_fd_unchecked(stdin)?;
    tokio::select! {
        _ = stdin.write_all(bytes) => {}
        _ = dead.wait_for(|&dead| dead) => {}
    }
    Ok(())
}
