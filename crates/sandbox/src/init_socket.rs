//! The server's end of the socket to the init of a box.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::error::{During, Result};
use crate::protocol::{self, MAX_REPLY_BYTES, Reply, Request};
use crate::sys;

/// The socket to one init.
#[derive(Debug)]
pub(crate) struct InitSocket {
    /// Watched for reading only. Else the runtime would be woken each time init
    /// has read a message and there is room for another.
    socket: AsyncFd<OwnedFd>,
}

impl InitSocket {
    pub(crate) fn new(socket: UnixStream) -> Result<Self> {
        let step = "open the socket to init";
        socket.set_nonblocking(true).during(step)?;
        let socket = sys::watch(socket.into(), Interest::READABLE);
        Ok(Self { socket: socket.during(step)? })
    }

    /// Sends a request to init.
    pub(crate) async fn send(
        &mut self,
        request: &Request<'_>,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<()> {
        let step = "send a request to init";
        let frame = protocol::encode(request).during(step)?;
        let sent = protocol::send_with(&self.socket, &frame, descriptors);
        match sent {
            Ok(sent) => self.send_rest(&frame[sent..], &[]).await,
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                self.send_rest(&frame, descriptors).await
            }
            Err(error) => Err(error),
        }
        .during(step)
    }

    /// Sends the rest of a message, for which the socket had no room at once.
    async fn send_rest(
        &self,
        mut rest: &[u8],
        mut descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        if rest.is_empty() {
            return Ok(());
        }
        let own = self.socket.as_fd().try_clone_to_owned()?;
        let socket = sys::watch(own, Interest::WRITABLE)?;
        while !rest.is_empty() {
            let send = |socket: &OwnedFd| {
                protocol::send_with(socket, rest, descriptors)
            };
            let sent = socket.async_io(Interest::WRITABLE, send).await?;
            rest = &rest[sent..];
            descriptors = &[];
        }
        Ok(())
    }

    /// Receives the next answer and its descriptors. An answer that reports a
    /// failure is returned as an error.
    pub(crate) async fn receive(&mut self) -> Result<(Reply, Vec<OwnedFd>)> {
        self.receive_with(0).await
    }

    /// Receives like [`InitSocket::receive`] an answer that may be longer by this
    /// many bytes of content.
    pub(crate) async fn receive_with(
        &mut self,
        content: u64,
    ) -> Result<(Reply, Vec<OwnedFd>)> {
        let max_bytes = usize::try_from(content)
            .map_or(usize::MAX, |bytes| bytes.saturating_add(MAX_REPLY_BYTES));
        let (reply, descriptors) =
            self.receive_any(max_bytes).await.during("receive from init")?;
        match reply {
            Reply::Failed(report) => Err(report.into_error("in the box")),
            other => Ok((other, descriptors)),
        }
    }

    async fn receive_any(
        &mut self,
        max_bytes: usize,
    ) -> io::Result<(Reply, Vec<OwnedFd>)> {
        let mut length = [0; 4];
        let mut descriptors = Vec::new();
        self.fill(&mut length, &mut descriptors).await?;
        let length = usize::try_from(u32::from_le_bytes(length))
            .map_err(io::Error::other)?;
        if length > max_bytes {
            return Err(io::Error::other("init's answer is too long"));
        }
        let mut bytes = vec![0; length];
        self.fill(&mut bytes, &mut descriptors).await?;
        Ok((protocol::decode(&bytes)?, descriptors))
    }

    async fn fill(
        &self,
        mut buffer: &mut [u8],
        descriptors: &mut Vec<OwnedFd>,
    ) -> io::Result<()> {
        while !buffer.is_empty() {
            let receive = |socket: &OwnedFd| {
                protocol::receive_with(socket, buffer, descriptors)
            };
            let received =
                self.socket.async_io(Interest::READABLE, receive).await?;
            if received == 0 {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            buffer = &mut buffer[received..];
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::thread;

    use super::*;
    use crate::protocol::{Setup, UserNamespace};

    /// Fails unless init receives a request of about this many bytes, once and
    /// complete, with its descriptor. If `is_full`, the socket is full of bytes
    /// that nobody has read yet.
    fn check(bytes: usize, is_full: bool) {
        let (ours, mut theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        let mut before = 0;
        while is_full && let Ok(sent) = (&ours).write(&[0; 4096]) {
            before += sent;
        }
        let rootfs = std::path::PathBuf::from("a".repeat(bytes));
        let setup = Setup {
            rootfs: rootfs.clone(),
            user_namespace: UserNamespace::Join,
            disk_bytes: 0,
            inodes: 0,
            devices: "/dev".into(),
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        let received = runtime.block_on(async {
            let mut init_socket = InitSocket::new(ours).unwrap();
            let init = thread::spawn(move || {
                theirs.read_exact(&mut vec![0; before]).unwrap();
                let first = protocol::receive::<Request<'_>>(&theirs).unwrap();
                (first, theirs.read(&mut [0]).unwrap())
            });
            let null = std::fs::File::open("/dev/null").unwrap();
            let request = Request::Setup(setup);
            init_socket.send(&request, &[null.as_fd()]).await.unwrap();
            drop(init_socket);
            init.join().unwrap()
        });
        let (Some((Request::Setup(setup), descriptors)), 0) = received else {
            panic!("{bytes} bytes: {received:?}");
        };
        assert_eq!(setup.rootfs, rootfs, "{bytes} bytes");
        assert_eq!(descriptors.len(), 1, "{bytes} bytes");
    }

    #[test]
    fn a_request_arrives() {
        for bytes in [1, 8 << 20] {
            for is_full in [false, true] {
                check(bytes, is_full);
            }
        }
    }
}
