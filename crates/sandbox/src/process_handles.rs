//! What of a box has to be cleared away when it ends.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::process::{Signal, pidfd_send_signal};
use tokio::io::Interest;
use tokio::time::sleep;

use crate::cgroup::Group;
use crate::error::{During, Result};
use crate::host::Slot;
use crate::sys;
use crate::uncharged::Uncharged;

/// When to try again to clear a box away, as when no descriptor was free.
const CLEAR_AGAIN: Duration = Duration::from_secs(1);

/// What must be cleared away when a box ends, in this order.
#[derive(Debug)]
pub(crate) struct Remains {
    /// Init's outer half: it ends when pid 1 has, if not before.
    pub(crate) outer: OwnedFd,
    /// Pid 1, once it has reported that the box stands.
    pub(crate) init: Option<OwnedFd>,
    pub(crate) group: Group,
    /// The same.
    pub(crate) uncharged: Option<Uncharged>,
    pub(crate) slot: Slot,
}

impl Remains {
    /// Kills everything in the box: pid 1, and with it the kernel kills all.
    pub(crate) fn kill(&self) {
        if let Some(init) = &self.init {
            // ESRCH: it has ended already.
            let _ = pidfd_send_signal(init, Signal::KILL);
        }
    }

    /// The same, and waits until every process of the box has ended.
    pub(crate) async fn kill_and_wait(&self) -> Result<()> {
        self.kill();
        self.init_ended().await
    }

    async fn init_ended(&self) -> Result<()> {
        let step = "wait for the end of a box";
        let Some(init) = &self.init else { return Ok(()) };
        ended(init.try_clone().during(step)?).await.during(step)
    }

    /// Waits until the box is dead, then gives back all it had.
    pub(crate) async fn clear(mut self) {
        // Until then the group and the ids stay taken: something may run.
        while let Err(error) = self.wait().await {
            tracing::error!(%error, "cannot clear a box away");
            sleep(CLEAR_AGAIN).await;
        }
        self.group.remove();
        drop(self.slot);
    }

    async fn wait(&self) -> Result<()> {
        let step = "wait for the end of a box";
        // Where pid 1 is not known yet, the outer half ends when it has.
        if self.init.is_some() {
            self.kill();
            // Both at once: each takes the kernel 0.1 ms.
            let _ = pidfd_send_signal(&self.outer, Signal::KILL);
            self.init_ended().await?;
        }
        ended(self.outer.try_clone().during(step)?).await.during(step)
    }
}

/// Resolves when the process of a pidfd has ended.
async fn ended(pidfd: OwnedFd) -> io::Result<()> {
    let pidfd = sys::watch(pidfd, Interest::READABLE)?;
    pidfd.readable().await.map(drop)
}
