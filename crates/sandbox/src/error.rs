//! The error of the sandbox: the step that failed, and its cause.

use std::io;

/// A failure of the sandbox, for the operator's log. A program that misbehaves
/// is a [`StepOutcome`](crate::StepOutcome) and never an error.
#[derive(Debug, thiserror::Error)]
#[error("{step}: {cause}")]
pub struct SandboxError {
    /// The step that failed, such as `mount proc`.
    pub step: String,
    /// The error of the system call.
    pub cause: io::Error,
}

/// Errors of system calls that say that a resource is used up for the moment.
const SHORTAGES: [i32; 5] =
    [libc::EMFILE, libc::ENFILE, libc::EAGAIN, libc::ENOMEM, libc::ENOSPC];

/// The result type of this crate.
pub type Result<T> = std::result::Result<T, SandboxError>;

impl SandboxError {
    /// Returns whether the host, or this server, was short of a resource for
    /// the moment: descriptors, processes, memory, control groups.
    pub fn is_shortage(&self) -> bool {
        let number = self.cause.raw_os_error();
        number.is_some_and(|number| SHORTAGES.contains(&number))
    }

    /// Returns whether the box had ended before it read the request. Then
    /// nothing of the request has begun.
    pub fn was_not_delivered(&self) -> bool {
        // A socket that is closed with unread data resets the connection. With
        // none it ends the stream (unix(7)).
        is_ended(&self.cause)
    }

    pub(crate) fn new(step: impl Into<String>, cause: io::Error) -> Self {
        Self { step: step.into(), cause }
    }

    /// Returns a failure that no system call reported.
    pub(crate) fn other(
        step: impl Into<String>,
        reason: impl Into<String>,
    ) -> Self {
        Self::new(step, io::Error::other(reason.into()))
    }
}

/// Returns whether this is the error of a socket whose other end is closed.
pub(crate) fn is_ended(error: &io::Error) -> bool {
    let ended = [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset];
    ended.contains(&error.kind())
}

/// Adds the step to an error.
pub(crate) trait During<T> {
    /// Turns the error into a [`SandboxError`] of this step.
    fn during(self, step: &str) -> Result<T>;
}

impl<T, E: Into<io::Error>> During<T> for std::result::Result<T, E> {
    fn during(self, step: &str) -> Result<T> {
        self.map_err(|error| SandboxError::new(step, error.into()))
    }
}
