//! The server's end of the socket to a box's init.

use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;

use tokio::io::Interest;
use tokio::io::unix::AsyncFd;

use crate::error::{During, Result};
use crate::protocol::{self, LONGEST_REPLY, Reply, Request};
use crate::sys;

/// The socket to one init.
#[derive(Debug)]
pub(crate) struct Control {
    /// Watched for what can be read alone: else the runtime would be woken for
    /// the room that is left when init has read a message.
    socket: AsyncFd<OwnedFd>,
}

impl Control {
    pub(crate) fn new(socket: UnixStream) -> Result<Self> {
        let step = "open the control socket";
        socket.set_nonblocking(true).during(step)?;
        let socket = sys::watch(socket.into(), Interest::READABLE);
        Ok(Self { socket: socket.during(step)? })
    }

    /// Asks something of init.
    pub(crate) async fn send(
        &mut self,
        request: &Request<'_>,
        descriptors: &[BorrowedFd<'_>],
    ) -> Result<()> {
        let step = "ask init";
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

    /// What of a message the socket had no room for at once.
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

    /// The next answer that is no failure; the descriptors that came with it.
    pub(crate) async fn receive(&mut self) -> Result<(Reply, Vec<OwnedFd>)> {
        self.receive_with(0).await
    }

    /// The same, where it may be longer by this many bytes of artifacts.
    pub(crate) async fn receive_with(
        &mut self,
        artifacts: u64,
    ) -> Result<(Reply, Vec<OwnedFd>)> {
        let longest = usize::try_from(artifacts)
            .map_or(usize::MAX, |bytes| bytes.saturating_add(LONGEST_REPLY));
        let (reply, descriptors) =
            self.receive_any(longest).await.during("hear from init")?;
        match reply {
            Reply::Failed(report) => Err(report.into_error("in the box")),
            other => Ok((other, descriptors)),
        }
    }

    async fn receive_any(
        &mut self,
        longest: usize,
    ) -> io::Result<(Reply, Vec<OwnedFd>)> {
        let mut length = [0; 4];
        let mut descriptors = Vec::new();
        self.fill(&mut length, &mut descriptors).await?;
        let length = usize::try_from(u32::from_le_bytes(length))
            .map_err(io::Error::other)?;
        if length > longest {
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

    /// Fails unless init hears a request of about so many bytes, once and
    /// whole, with its descriptor, where nobody has read yet what was sent
    /// before.
    fn check(bytes: usize, is_full: bool) {
        let (near, mut far) = UnixStream::pair().unwrap();
        near.set_nonblocking(true).unwrap();
        let mut before = 0;
        while is_full && let Ok(sent) = (&near).write(&[0; 4096]) {
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
        let heard = runtime.block_on(async {
            let mut control = Control::new(near).unwrap();
            let init = thread::spawn(move || {
                far.read_exact(&mut vec![0; before]).unwrap();
                let first = protocol::receive::<Request<'_>>(&far).unwrap();
                (first, far.read(&mut [0]).unwrap())
            });
            let null = std::fs::File::open("/dev/null").unwrap();
            let request = Request::Setup(setup);
            control.send(&request, &[null.as_fd()]).await.unwrap();
            drop(control);
            init.join().unwrap()
        });
        let (Some((Request::Setup(heard), descriptors)), 0) = heard else {
            panic!("{bytes} bytes: {heard:?}");
        };
        assert_eq!(heard.rootfs, rootfs, "{bytes} bytes");
        assert_eq!(descriptors.len(), 1, "{bytes} bytes");
    }

    #[test]
    fn a_request_finds_its_way() {
        for bytes in [1, 8 << 20] {
            for is_full in [false, true] {
                check(bytes, is_full);
            }
        }
    }
}
