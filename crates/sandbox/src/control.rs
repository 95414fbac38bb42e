//! The server's end of the socket to a box's init.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream as StdStream;

use tokio::io::{AsyncReadExt, AsyncWriteExt, Interest};
use tokio::net::UnixStream;

use crate::error::{During, Result, SandboxError};
use crate::protocol::{self, LONGEST_REPLY, Reply, Request};

/// The socket to one init.
#[derive(Debug)]
pub(crate) struct Control {
    stream: UnixStream,
}

impl Control {
    pub(crate) fn new(socket: StdStream) -> Result<Self> {
        let step = "open the control socket";
        socket.set_nonblocking(true).during(step)?;
        let stream = UnixStream::from_std(socket).during(step)?;
        Ok(Self { stream })
    }

    /// Asks something of init.
    pub(crate) async fn send(
        &mut self,
        request: &Request<'_>,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<()> {
        let step = "ask init";
        let frame = protocol::encode(request).during(step)?;
        let sent = self
            .stream
            .async_io(Interest::WRITABLE, || {
                protocol::send_with(self.stream.as_fd(), &frame, descriptors)
            })
            .await
            .during(step)?;
        self.stream.write_all(&frame[sent..]).await.during(step)
    }

    /// The next answer that is no failure; a descriptor that came with it.
    pub(crate) async fn receive(&mut self) -> Result<(Reply, Option<OwnedFd>)> {
        self.receive_with(0).await
    }

    /// The same, where it may be longer by this many bytes of artifacts.
    pub(crate) async fn receive_with(
        &mut self,
        artifacts: u64,
    ) -> Result<(Reply, Option<OwnedFd>)> {
        let longest = usize::try_from(artifacts)
            .map_or(usize::MAX, |bytes| bytes.saturating_add(LONGEST_REPLY));
        let (reply, descriptor) =
            self.receive_any(longest).await.during("hear from init")?;
        match reply {
            Reply::Failed { step, errno, reason } => {
                let source = errno.map_or_else(
                    || io::Error::other(reason),
                    io::Error::from_raw_os_error,
                );
                Err(SandboxError::new(format!("in the box: {step}"), source))
            }
            other => Ok((other, descriptor)),
        }
    }

    async fn receive_any(
        &mut self,
        longest: usize,
    ) -> io::Result<(Reply, Option<OwnedFd>)> {
        let mut length = [0; 4];
        let mut descriptors = Vec::new();
        let first = self
            .stream
            .async_io(Interest::READABLE, || {
                protocol::receive_with(
                    self.stream.as_fd(),
                    &mut length,
                    &mut descriptors,
                )
            })
            .await?;
        if first == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.stream.read_exact(&mut length[first..]).await?;
        let length = usize::try_from(u32::from_le_bytes(length))
            .map_err(io::Error::other)?;
        if length > longest {
            return Err(io::Error::other("init's answer is too long"));
        }
        let mut bytes = vec![0; length];
        self.stream.read_exact(&mut bytes).await?;
        Ok((protocol::decode(&bytes)?, descriptors.pop()))
    }
}
