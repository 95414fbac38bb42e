//! The functions that run in a Valkey: loaded, and called.

use std::time::Duration;

use redis::Value;
use redis::aio::MultiplexedConnection;
use tokio::time::timeout;

use crate::error::{LinkError, is_out_of_memory};

/// The functions that are called in a Valkey.
#[derive(Clone, Copy, Debug)]
pub struct Library {
    /// The name of their part of the service in the log and in metrics, such as
    /// `limits`.
    pub part: &'static str,
    /// Their text, in Lua.
    pub text: &'static str,
    /// The function that returns Valkey's epoch. It is given one key, and
    /// a word to use if Valkey has no epoch yet.
    pub open: &'static str,
    /// The key that it is given.
    pub epoch_key: &'static str,
    /// The longest time that `open` may take. A Valkey that is slower than
    /// that is not connected.
    pub within: Duration,
    /// The effect of a Valkey that is gone, for the log.
    pub without: &'static str,
}

impl Library {
    /// Puts the functions into a Valkey.
    pub(crate) async fn load(
        &self,
        commands: &MultiplexedConnection,
    ) -> Result<(), LinkError> {
        let mut load = redis::cmd("FUNCTION");
        load.arg("LOAD").arg("REPLACE").arg(self.text);
        match load.query_async::<()>(&mut commands.clone()).await {
            // It may have the functions, some of which free memory.
            Err(error) if is_out_of_memory(&error) => Ok(()),
            loaded => Ok(loaded?),
        }
    }

    /// Returns Valkey's epoch. It is another after Valkey lost its state.
    pub(crate) async fn open(
        &self,
        commands: &MultiplexedConnection,
    ) -> Result<Value, LinkError> {
        let Self { open, epoch_key, within, .. } = *self;
        let new = format!("{:016x}", rand::random::<u64>());
        fcall(commands, open, &[epoch_key], &[new.as_bytes()], within).await
    }
}

/// Calls a function, and returns its value or the reason why there is none.
pub(crate) async fn fcall(
    commands: &MultiplexedConnection,
    function: &str,
    keys: &[&str],
    args: &[&[u8]],
    within: Duration,
) -> Result<Value, LinkError> {
    let mut command = redis::cmd("FCALL");
    command.arg(function).arg(keys.len()).arg(keys).arg(args);
    let mut commands = commands.clone();
    let answer = command.query_async::<Value>(&mut commands);
    let answer = timeout(within, answer).await;
    Ok(answer.map_err(|_| LinkError::Timeout(within))??)
}
