//! The three streams of a command as pipes, and the copying of their bytes.

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
pub(crate) struct ParentPipes {
    stdin: OwnedFd,
    stdout: pipe::Receiver,
    stderr: pipe::Receiver,
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
    /// Returns both when they end, or when every process that could write is
    /// `dead`. `over` becomes true when one passes the limit.
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

/// Writes all of stdin and closes it. A program may end without reading it.
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
