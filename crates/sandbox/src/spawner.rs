//! The fork server that starts inits, as the server uses it. It is started
//! once, and again if it was killed.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};

use rustix::net::{AddressFamily, SocketFlags, SocketType, socketpair};

use crate::error::{During, Result, is_ended};
use crate::init::INIT_NAME;
use crate::{protocol, seccomp, sys};

/// Starts inits. The fork server ends when nobody has the other end of its
/// socket any more: when this is dropped, or when the server ends.
#[derive(Debug)]
pub(crate) struct Spawner {
    init: PathBuf,
    /// The filter of every step. It is compiled here because every box has a
    /// copy of the fork server's memory, which should stay small.
    seccomp: Vec<u8>,
    fork_server: Mutex<ForkServer>,
}

#[derive(Debug)]
struct ForkServer {
    /// The number of fork servers before this one.
    number: u64,
    child: Child,
    socket: OwnedFd,
}

/// An init that the fork server was asked to start.
pub(crate) struct PendingInit {
    /// The server's end of the socket to this init.
    pub(crate) socket: UnixStream,
    /// The number of the fork server.
    pub(crate) fork_server: u64,
}

impl Spawner {
    pub(crate) fn start(init: PathBuf) -> Result<Self> {
        // Boxes must not get descriptors that the server inherited.
        sys::close_on_exec_from(3).during("close descriptors")?;
        let seccomp = seccomp::to_bytes(&seccomp::program()?);
        let fork_server =
            ForkServer::start(&init, &seccomp, 0).during("start init")?;
        Ok(Self { init, seccomp, fork_server: Mutex::new(fork_server) })
    }

    /// Asks the fork server for an init.
    pub(crate) fn spawn(&self) -> Result<PendingInit> {
        self.try_spawn(None).during("start init")
    }

    /// Asks for an init in place of one that never began, because its fork
    /// server was killed. That fork server may still take requests: the kernel
    /// closes the descriptors of a process that ends one after another.
    pub(crate) fn spawn_again(&self, fork_server: u64) -> Result<PendingInit> {
        self.try_spawn(Some(fork_server)).during("start init again")
    }

    fn try_spawn(&self, lost: Option<u64>) -> io::Result<PendingInit> {
        let (ours, theirs) = UnixStream::pair()?;
        let fork_server = self.fork_server.lock();
        let mut fork_server =
            fork_server.unwrap_or_else(PoisonError::into_inner);
        if lost == Some(fork_server.number) {
            fork_server.replace(&self.init, &self.seccomp)?;
        }
        let sent = fork_server.send(&theirs);
        if sent.as_ref().is_err_and(is_ended) {
            fork_server.replace(&self.init, &self.seccomp)?;
            fork_server.send(&theirs)?;
        } else {
            sent?;
        }
        Ok(PendingInit { socket: ours, fork_server: fork_server.number })
    }
}

impl ForkServer {
    fn start(init: &Path, seccomp: &[u8], number: u64) -> io::Result<Self> {
        let (ours, theirs) = socketpair(
            AddressFamily::UNIX,
            // One message for each box: requests of several threads never mix.
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        // The environment is cleared here and not in the box, where
        // /proc/1/environ would still show the server's.
        let child = Command::new(init)
            .arg0(INIT_NAME)
            .env_clear()
            .stdin(Stdio::from(theirs))
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()?;
        protocol::send_with(&ours, seccomp, &[])?;
        Ok(Self { number, child, socket: ours })
    }

    fn replace(&mut self, init: &Path, seccomp: &[u8]) -> io::Result<()> {
        let next = Self::start(init, seccomp, self.number + 1)?;
        let mut last = std::mem::replace(self, next);
        last.child.kill()?;
        last.child.wait().map(drop)
    }

    fn send(&self, socket: &UnixStream) -> io::Result<()> {
        // One byte: an empty message would read as the end of the stream.
        protocol::send_with(&self.socket, &[0], &[socket.as_fd()]).map(drop)
    }
}
