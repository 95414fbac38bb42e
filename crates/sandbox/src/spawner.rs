//! The fork server that starts inits, seen from the server: started once, and
//! again when it was killed.

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

/// Starts inits. The fork server ends when this is dropped, or with the
/// server: when nobody has the other end of its socket any more.
#[derive(Debug)]
pub(crate) struct Spawner {
    init: PathBuf,
    /// The filter of every step. It is made here: what is left of making it
    /// would be in the fork server's memory, of which every box has a copy.
    seccomp: Vec<u8>,
    fork_server: Mutex<ForkServer>,
}

#[derive(Debug)]
struct ForkServer {
    /// How many there were before.
    number: u64,
    child: Child,
    socket: OwnedFd,
}

/// An init that was asked for.
pub(crate) struct AskedInit {
    /// The server's end of the socket to it.
    pub(crate) socket: UnixStream,
    /// The number of the fork server that was asked.
    pub(crate) of: u64,
}

impl Spawner {
    pub(crate) fn start(init: PathBuf) -> Result<Self> {
        // What whoever started the server left open is none of the boxes'.
        sys::close_on_exec_from(3).during("close descriptors")?;
        let seccomp = seccomp::to_bytes(&seccomp::program()?);
        let fork_server =
            ForkServer::start(&init, &seccomp, 0).during("start init")?;
        Ok(Self { init, seccomp, fork_server: Mutex::new(fork_server) })
    }

    /// Asks for an init.
    pub(crate) fn spawn(&self) -> Result<AskedInit> {
        self.try_spawn(None).during("start init")
    }

    /// Asks for another in place of one that never began. Its fork server was
    /// killed, but may still take requests: when a process ends, the kernel
    /// closes what it opened last first, here the socket to that init.
    pub(crate) fn spawn_again(&self, of: u64) -> Result<AskedInit> {
        self.try_spawn(Some(of)).during("start init again")
    }

    fn try_spawn(&self, lost: Option<u64>) -> io::Result<AskedInit> {
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
        Ok(AskedInit { socket: ours, of: fork_server.number })
    }
}

impl ForkServer {
    fn start(init: &Path, seccomp: &[u8], number: u64) -> io::Result<Self> {
        let (ours, theirs) = socketpair(
            AddressFamily::UNIX,
            // A message for each box: requests of several threads never mix.
            SocketType::SEQPACKET,
            SocketFlags::CLOEXEC,
            None,
        )?;
        // The environment is cleared here, not in the box: /proc/1/environ
        // would show the server's.
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
        // One byte: a message without any reads as the end of the stream.
        protocol::send_with(&self.socket, &[0], &[socket.as_fd()]).map(drop)
    }
}
