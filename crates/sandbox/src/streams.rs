//! The three streams of a command: pipes, and the tasks that carry them.

use std::io;
use std::os::fd::OwnedFd;

use tokio::io::AsyncWriteExt;
use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio::task::JoinHandle;

use crate::StepSpec;
use crate::error::{During, Result};
use crate::output::{capture, incoming, outgoing};

/// The server's ends of a command's streams.
#[derive(Debug)]
pub(crate) struct Near {
    stdin: pipe::Sender,
    stdout: pipe::Receiver,
    stderr: pipe::Receiver,
}

/// New streams: the server's ends, and the command's in the usual order.
pub(crate) fn pipes() -> Result<(Near, [OwnedFd; 3])> {
    let (stdin, far_stdin) = incoming()?;
    let (stdout, far_stdout) = outgoing()?;
    let (stderr, far_stderr) = outgoing()?;
    let near = Near { stdin, stdout, stderr };
    Ok((near, [far_stdin, far_stdout, far_stderr]))
}

impl Near {
    /// Feeds stdin and captures the others, up to the caps of `spec`; `over`
    /// is told when one is passed.
    pub(crate) fn carry(
        self,
        spec: &StepSpec,
        over: watch::Sender<bool>,
    ) -> Streams {
        let (tell_dead, dead) = watch::channel(false);
        let cap = spec.output_bytes;
        let keep = |stream, over| {
            tokio::spawn(capture(stream, cap, over, dead.clone()))
        };
        Streams {
            stdin: tokio::spawn(feed(self.stdin, spec.stdin.clone())),
            stdout: keep(self.stdout, over.clone()),
            stderr: keep(self.stderr, over),
            dead: tell_dead,
        }
    }
}

/// The tasks that carry a command's streams.
pub(crate) struct Streams {
    stdin: JoinHandle<()>,
    stdout: JoinHandle<io::Result<Vec<u8>>>,
    stderr: JoinHandle<io::Result<Vec<u8>>>,
    /// Tells the two above that nobody is left who could write.
    dead: watch::Sender<bool>,
}

impl Streams {
    /// What was written. To be called when every process of the command is
    /// killed.
    pub(crate) async fn finish(mut self) -> Result<(Vec<u8>, Vec<u8>)> {
        let step = "collect the output";
        self.dead.send_replace(true);
        let stdout = (&mut self.stdout).await.during(step)?.during(step)?;
        let stderr = (&mut self.stderr).await.during(step)?.during(step)?;
        Ok((stdout, stderr))
    }
}

/// A command whose future was dropped: nobody reads its streams any more.
impl Drop for Streams {
    fn drop(&mut self) {
        self.stdin.abort();
        self.stdout.abort();
        self.stderr.abort();
    }
}

/// Writes all of stdin and closes it. A program that does not read it, or has
/// ended, is no failure.
async fn feed(mut stdin: pipe::Sender, bytes: Vec<u8>) {
    let _ = stdin.write_all(&bytes).await;
}
