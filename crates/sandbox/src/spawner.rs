//! The one thread that starts inits.
//!
//! A box follows its parent's death (`PR_SET_PDEATHSIG`), and to the kernel
//! the parent is the thread that forked. This one lives as long as the server.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;

use tokio::sync::oneshot;

use crate::error::{During, Result, SandboxError};
use crate::init::INIT_NAME;

/// A handle to the thread; it ends when the handle is dropped.
#[derive(Debug)]
pub(crate) struct Spawner {
    requests: mpsc::Sender<Request>,
}

/// An init's outer half, and the server's end of the socket to it.
pub(crate) struct Spawned {
    pub(crate) child: Child,
    pub(crate) socket: UnixStream,
}

struct Request {
    reply: oneshot::Sender<io::Result<Spawned>>,
}

impl Spawner {
    pub(crate) fn start(init: PathBuf) -> Result<Self> {
        let (requests, inbox) = mpsc::channel::<Request>();
        thread::Builder::new()
            .name("spawner".to_owned())
            .spawn(move || {
                for request in inbox {
                    if let Err(Ok(mut unwanted)) =
                        request.reply.send(spawn(&init))
                    {
                        // The asker has gone: without its socket the init
                        // ends by itself, and is reaped here.
                        drop(unwanted.socket);
                        let _ = unwanted.child.wait();
                    }
                }
            })
            .during("start the spawner thread")?;
        Ok(Self { requests })
    }

    /// Starts an init. Dropping the future leaves none behind.
    pub(crate) async fn spawn(&self) -> Result<Spawned> {
        let step = "start init";
        let (reply, answer) = oneshot::channel();
        let gone = || SandboxError::other(step, "the spawner thread is gone");
        self.requests.send(Request { reply }).map_err(|_| gone())?;
        answer.await.map_err(|_| gone())?.during(step)
    }
}

fn spawn(init: &PathBuf) -> io::Result<Spawned> {
    let (ours, theirs) = UnixStream::pair()?;
    // The environment is cleared here, not in the box: /proc/1/environ would
    // show the server's.
    let child = Command::new(init)
        .arg0(INIT_NAME)
        .env_clear()
        .stdin(Stdio::from(OwnedFd::from(theirs)))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()?;
    Ok(Spawned { child, socket: ours })
}
