//! Why the sandbox itself failed: which step, and what the kernel said.

use std::io;

/// A failure of the sandbox, for the operator's log. What the program does is
/// never an error but an [`Outcome`](crate::Outcome).
#[derive(Debug, thiserror::Error)]
#[error("{step}: {cause}")]
pub struct SandboxError {
    /// What was being done, such as `mount proc`.
    pub step: String,
    /// What the kernel said.
    pub cause: io::Error,
}

/// What system calls say when more cannot be had now.
const SHORTAGES: [i32; 5] =
    [libc::EMFILE, libc::ENFILE, libc::EAGAIN, libc::ENOMEM, libc::ENOSPC];

/// The crate's result.
pub type Result<T> = std::result::Result<T, SandboxError>;

impl SandboxError {
    /// Whether the host, or this server, had too little of something for the
    /// moment: descriptors, processes, memory, places for control groups.
    pub fn is_shortage(&self) -> bool {
        let number = self.cause.raw_os_error();
        number.is_some_and(|number| SHORTAGES.contains(&number))
    }

    /// Whether a box had ended before it heard what was asked: nothing of it
    /// has begun.
    pub fn is_unheard(&self) -> bool {
        // The end of a socket that holds what nobody read is a reset, else it
        // is the end of the stream (unix(7)).
        is_ended(&self.cause)
    }

    pub(crate) fn new(step: impl Into<String>, cause: io::Error) -> Self {
        Self { step: step.into(), cause }
    }

    /// A failure that no system call reported.
    pub(crate) fn other(
        step: impl Into<String>,
        reason: impl Into<String>,
    ) -> Self {
        Self::new(step, io::Error::other(reason.into()))
    }
}

/// Whether a socket told that its other end is closed.
pub(crate) fn is_ended(error: &io::Error) -> bool {
    let ended = [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset];
    ended.contains(&error.kind())
}

/// Names the step in which a call failed.
pub(crate) trait During<T> {
    /// Turns the failure into a [`SandboxError`] of this step.
    fn during(self, step: &str) -> Result<T>;
}

impl<T, E: Into<io::Error>> During<T> for std::result::Result<T, E> {
    fn during(self, step: &str) -> Result<T> {
        self.map_err(|error| SandboxError::new(step, error.into()))
    }
}
