//! The processes of a box that the server holds, and their cleanup.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::process::{Signal, pidfd_send_signal};
use tokio::io::Interest;
use tokio::time::sleep;

use crate::cgroup::Group;
use crate::error::{During, Result};
use crate::host::IdRange;
use crate::sys;
use crate::uncharged::Uncharged;

/// The pause after a failed cleanup, such as one without a free descriptor.
const RETRY_PAUSE: Duration = Duration::from_secs(1);

/// Handles of the processes of a box, and the resources that they use. The
/// resources are given back when all processes have ended, in this order.
#[derive(Debug)]
pub(crate) struct ProcessHandles {
    /// A pidfd of init's outer half, which ends after pid 1, if not before.
    pub(crate) outer: OwnedFd,
    /// A pidfd of pid 1, once it has reported that the box stands.
    pub(crate) init: Option<OwnedFd>,
    pub(crate) group: Group,
    /// Present once pid 1 has reported that the box stands.
    pub(crate) uncharged: Option<Uncharged>,
    pub(crate) ids: IdRange,
}

impl ProcessHandles {
    /// Kills pid 1. The kernel then kills everything else in the box.
    pub(crate) fn kill(&self) {
        if let Some(init) = &self.init {
            // ESRCH: it has ended already.
            let _ = pidfd_send_signal(init, Signal::KILL);
        }
    }

    /// Kills pid 1, and waits until every process of the box has ended.
    pub(crate) async fn kill_and_wait(&self) -> Result<()> {
        self.kill();
        self.init_ended().await
    }

    async fn init_ended(&self) -> Result<()> {
        let step = "wait for the end of a box";
        let Some(init) = &self.init else { return Ok(()) };
        ended(init.try_clone().during(step)?).await.during(step)
    }

    /// Kills the box, waits for its end, and gives its resources back.
    pub(crate) async fn clear(mut self) {
        // Until then something may run, and needs the group and the ids.
        while let Err(error) = self.wait().await {
            tracing::error!(%error, "cannot remove a box; trying again");
            sleep(RETRY_PAUSE).await;
        }
        remove(&mut self.group).await;
        drop(self.ids);
    }

    async fn wait(&self) -> Result<()> {
        let step = "wait for the end of a box";
        // If pid 1 is not known yet, the outer half ends after it.
        if self.init.is_some() {
            self.kill();
            // Both at once: ending each takes the kernel 0.1 ms.
            let _ = pidfd_send_signal(&self.outer, Signal::KILL);
            self.init_ended().await?;
        }
        ended(self.outer.try_clone().during(step)?).await.during(step)
    }
}

/// Removes the group of a box that has ended. Failure is logged.
async fn remove(group: &mut Group) {
    /// Since Linux 6.19 a process leaves its group some time after its end can
    /// be seen.
    const PAUSES_MS: [u64; 4] = [1, 10, 100, 1_000];
    let mut pauses = PAUSES_MS.map(Duration::from_millis).into_iter();
    while let Err(error) = group.try_remove() {
        let Some(pause) = pauses.next() else {
            tracing::warn!(%error, "cannot remove a box's group");
            return;
        };
        sleep(pause).await;
    }
}

/// Resolves when the process of a pidfd has ended.
async fn ended(pidfd: OwnedFd) -> io::Result<()> {
    let pidfd = sys::watch(pidfd, Interest::READABLE)?;
    pidfd.readable().await.map(drop)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    /// On a host before Linux 6.19 no process stays in a group that long. A
    /// folder that is not empty cannot be removed either.
    #[tokio::test(start_paused = true)]
    async fn a_group_that_is_not_empty_yet_is_removed_later() {
        let parent = tempfile::tempdir().unwrap();
        let folder = parent.path().join("group");
        fs::create_dir_all(folder.join("process")).unwrap();
        let mut group = Group::at(folder.clone());
        let leaves = async {
            sleep(Duration::from_millis(50)).await;
            fs::remove_dir(folder.join("process")).unwrap();
        };
        tokio::join!(remove(&mut group), leaves);
        assert!(!folder.exists());
    }
}
