//! What a program writes, taken as it comes and kept up to a cap.

use std::io;

use rustix::pipe::{PipeFlags, pipe_with};
use std::os::fd::OwnedFd;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::watch;

use crate::error::{During, Result};

/// How much is read at once: a pipe's capacity.
const CHUNK: usize = 64 << 10;

/// A pipe whose far end goes to a program: what it writes.
pub(crate) fn outgoing() -> Result<(pipe::Receiver, OwnedFd)> {
    let (near, far) = pipe_with(PipeFlags::CLOEXEC).during("make pipe")?;
    nonblocking(&near)?;
    let near = pipe::Receiver::from_owned_fd(near).during("make pipe")?;
    Ok((near, far))
}

/// A pipe whose far end goes to a program: what it reads.
pub(crate) fn incoming() -> Result<(pipe::Sender, OwnedFd)> {
    let (far, near) = pipe_with(PipeFlags::CLOEXEC).during("make pipe")?;
    nonblocking(&near)?;
    let near = pipe::Sender::from_owned_fd(near).during("make pipe")?;
    Ok((near, far))
}

/// Only our end: the flag belongs to an open end, and a program's own end must
/// block as programs expect.
fn nonblocking(descriptor: &OwnedFd) -> Result<()> {
    rustix::io::ioctl_fionbio(descriptor, true).during("make pipe")
}

/// Reads to the end of the stream. Keeps the first `cap` bytes; what comes
/// after is read and dropped, and `over` is told.
pub(crate) async fn capture(
    mut stream: pipe::Receiver,
    cap: u64,
    over: watch::Sender<bool>,
) -> Vec<u8> {
    let cap = usize::try_from(cap).unwrap_or(usize::MAX);
    let mut kept = Vec::new();
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = match stream.read(&mut chunk).await {
            Ok(0) => return kept,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => 0,
            // A pipe has no other errors to read; it ends here.
            Err(_) => return kept,
        };
        let room = cap - kept.len();
        kept.extend_from_slice(&chunk[..read.min(room)]);
        if read > room {
            over.send_replace(true);
        }
    }
}
