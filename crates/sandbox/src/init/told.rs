//! What init and the process of a program tell each other, through the memory
//! that they share until its execve.

use std::os::fd::OwnedFd;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::error::SandboxError;
use crate::protocol::{Command, Request};

/// What was told and not yet taken.
#[derive(Debug, Default)]
pub(super) struct Told {
    given: Mutex<Option<Given>>,
    heard: Mutex<Option<Heard>>,
    failure: Mutex<Option<SandboxError>>,
    kept: Mutex<Option<OwnedFd>>,
}

/// A command; its stdin, stdout and stderr, and for a launcher its gate.
#[derive(Debug)]
pub(super) struct Given {
    pub(super) command: Command,
    pub(super) descriptors: Vec<OwnedFd>,
}

/// What came from the server.
#[derive(Debug)]
pub(super) enum Heard {
    /// A request that init is to answer, and its descriptors.
    Request(Request<'static>, Vec<OwnedFd>),
    /// A run that the process has taken on: it becomes the program.
    Begun(Begun),
    /// The server closed the socket, or is gone.
    Nothing,
}

/// A run that has begun.
#[derive(Debug)]
pub(super) struct Begun {
    /// How long it took to write them.
    pub(super) fill_time: Duration,
    pub(super) started: Instant,
    // As in `crate::protocol::Run`.
    pub(super) artifacts_writable: bool,
    pub(super) keep_artifacts: Option<u64>,
}

impl Told {
    /// Init: sets what the process is to become.
    pub(super) fn give(&self, command: Command, descriptors: Vec<OwnedFd>) {
        self.put_back(Given { command, descriptors });
    }

    /// The process: what it is to become.
    pub(super) fn given(&self) -> Option<Given> {
        lock(&self.given).take()
    }

    /// The process: gives the memory of a command back.
    pub(super) fn put_back(&self, given: Given) {
        *lock(&self.given) = Some(given);
    }

    /// Init: frees that, and closes its own copies of the descriptors.
    pub(super) fn take_back(&self) {
        drop(take(&self.given));
    }

    /// The process: tells what came from the server.
    pub(super) fn tell(&self, heard: Heard) {
        *lock(&self.heard) = Some(heard);
    }

    /// Init: what came.
    pub(super) fn heard(&self) -> Option<Heard> {
        take(&self.heard)
    }

    /// The process: what stays open in init when it has become a program, until
    /// the end of the box.
    pub(super) fn keep(&self, descriptor: Option<OwnedFd>) {
        *lock(&self.kept) = descriptor;
    }

    /// The process: tells why it could not become a program.
    pub(super) fn fail(&self, error: SandboxError) {
        *lock(&self.failure) = Some(error);
    }

    /// Init: why it could not.
    pub(super) fn failure(&self) -> Option<SandboxError> {
        take(&self.failure)
    }
}

fn lock<T>(told: &Mutex<T>) -> MutexGuard<'_, T> {
    told.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Nothing where the process was killed while it told: locked for ever.
fn take<T>(told: &Mutex<Option<T>>) -> Option<T> {
    told.try_lock().ok()?.take()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{children, sys};

    #[test]
    fn a_twin_that_is_killed_keeps_nobody_waiting() {
        let told: &'static Told = Box::leak(Box::default());
        let twin = sys::fork_twin(
            move |turn| {
                turn.pass();
                let _locked = lock(&told.given);
                let _ = children::kill(
                    std::process::id().cast_signed(),
                    libc::SIGKILL,
                );
                0
            },
            None,
        )
        .0
        .unwrap();
        twin.go_on();
        assert!(!twin.is_here());
        twin.go_on();
        told.take_back();
        assert!(told.failure().is_none());
        let status = children::wait_for(twin.pid).unwrap();
        assert_eq!(
            std::os::unix::process::ExitStatusExt::signal(&status),
            Some(libc::SIGKILL)
        );
    }
}
