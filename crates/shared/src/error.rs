//! The errors of a call of a Valkey, for callers and for the log.

use std::fmt;
use std::time::Duration;

use redis::{ErrorKind, RedisError};

/// Why a call has no value. The log has the reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CallError {
    /// There is no answer. The call may have been done all the same.
    #[error("Valkey cannot be reached")]
    Unreachable,
    /// Valkey has no memory for the call, and did nothing.
    #[error("the memory of Valkey is used up")]
    OutOfMemory,
    /// Valkey answered with another error, or not as ours does.
    #[error("Valkey answers with an error")]
    BadAnswer,
}

/// Why a call was not answered with a value.
pub(crate) enum LinkError {
    /// There was no answer within this time.
    Timeout(Duration),
    /// The answer was an error.
    Reply(RedisError),
    /// The answer was a value that no function of ours returns.
    Form,
    /// The connection broke.
    Broken(RedisError),
}

impl From<RedisError> for LinkError {
    fn from(error: RedisError) -> Self {
        match error.code() {
            Some(_) => Self::Reply(error),
            None => Self::Broken(error),
        }
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&match self {
            Self::Timeout(within) => late(*within),
            Self::Form => "its answer has another form than ours".to_owned(),
            Self::Reply(error) | Self::Broken(error) => reason(error),
        })
    }
}

impl From<LinkError> for CallError {
    fn from(error: LinkError) -> Self {
        match error {
            LinkError::Timeout(_) | LinkError::Broken(_) => Self::Unreachable,
            LinkError::Reply(error) if is_out_of_memory(&error) => {
                Self::OutOfMemory
            }
            LinkError::Reply(_) | LinkError::Form => Self::BadAnswer,
        }
    }
}

pub(crate) fn is_out_of_memory(error: &RedisError) -> bool {
    error.code() == Some("OOM")
}

pub(crate) fn late(within: Duration) -> String {
    format!("no answer within {} ms", within.as_millis())
}

/// Returns the reason for the log. The words of a Valkey are left out, for they
/// can repeat those that it was sent: passwords, addresses and products.
pub(crate) fn reason(error: &RedisError) -> String {
    match (error.kind(), error.code()) {
        (ErrorKind::AuthenticationFailed, _) => {
            "it refuses the user and password".to_owned()
        }
        (_, Some(code)) if is_plain(code) => format!("it answered {code}"),
        (ErrorKind::Io | ErrorKind::InvalidClientConfig, None) => {
            error.to_string()
        }
        _ => error.category().to_owned(),
    }
}

/// Returns whether it is a code as Valkey has them: whoever answers in its place
/// must not write into the log.
fn is_plain(code: &str) -> bool {
    code.len() <= 32 && code.bytes().all(|byte| byte.is_ascii_uppercase())
}
