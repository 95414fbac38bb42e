//! Facts about a Valkey, for operators.

use std::collections::HashMap;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, FromRedisValue, RedisError};
use tokio::time::timeout;

use crate::fault::{late, reason};
use crate::url::ServerUrl;

/// The longest time that a Valkey may take for all questions.
const WITHIN: Duration = Duration::from_secs(3);

/// Facts about a Valkey that answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its name and version, such as `valkey 8.1.1`.
    pub version: String,
    /// The time of its clock, since 1970.
    pub clock: Duration,
    /// `None` if the user of the URL may not read them.
    pub settings: Option<ValkeySettings>,
}

/// The settings of a Valkey that decide which state it loses.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ValkeySettings {
    /// Whether it writes changes to a file.
    pub append_only: bool,
    /// When these are on the disk: `always` before each answer, `everysec`
    /// later, `no` at some time.
    pub append_fsync: String,
    /// Times of snapshots; empty if it makes none.
    pub save: String,
    /// The memory that it may use, in bytes; 0: all.
    pub max_memory: u64,
    /// The keys that it removes when there is no memory, such as `noeviction`.
    pub max_memory_policy: String,
}

/// The Valkey does not answer. This is the reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NoAnswer(String);

/// Asks a Valkey who it is, its time and its settings. Nothing is changed.
///
/// # Errors
/// The Valkey cannot be reached, refuses the user, or takes too long.
pub async fn inspect(url: &ServerUrl) -> Result<Facts, NoAnswer> {
    let facts = timeout(WITHIN, ask(url)).await;
    let facts = facts.map_err(|_| NoAnswer(late(WITHIN)))?;
    facts.map_err(|error| NoAnswer(reason(&error)))
}

async fn ask(url: &ServerUrl) -> Result<Facts, RedisError> {
    let config = AsyncConnectionConfig::new()
        .set_connection_timeout(None)
        .set_response_timeout(None);
    let mut connection = url
        .client()?
        .get_multiplexed_async_connection_with_config(&config)
        .await?;
    let hello: HashMap<String, redis::Value> =
        redis::cmd("HELLO").query_async(&mut connection).await?;
    let word = |name: &str| {
        let value = hello.get(name).cloned().unwrap_or(redis::Value::Nil);
        String::from_redis_value(value).unwrap_or_default()
    };
    let version = format!("{} {}", word("server"), word("version"));
    let (seconds, micros): (u64, u32) =
        redis::cmd("TIME").query_async(&mut connection).await?;
    let clock =
        Duration::from_secs(seconds) + Duration::from_micros(u64::from(micros));
    let settings = settings(&mut connection).await?;
    Ok(Facts { version, clock, settings })
}

async fn settings(
    connection: &mut MultiplexedConnection,
) -> Result<Option<ValkeySettings>, RedisError> {
    const NAMES: [&str; 5] =
        ["appendonly", "appendfsync", "save", "maxmemory", "maxmemory-policy"];
    let mut command = redis::cmd("CONFIG");
    command.arg("GET").arg(&NAMES);
    let answer = command.query_async::<HashMap<String, String>>(connection);
    let mut found = match answer.await {
        Ok(found) => found,
        Err(error) if error.code() == Some("NOPERM") => return Ok(None),
        Err(error) => return Err(error),
    };
    let mut take = |name: &str| found.remove(name).unwrap_or_default();
    Ok(Some(ValkeySettings {
        append_only: take("appendonly") == "yes",
        append_fsync: take("appendfsync"),
        save: take("save"),
        max_memory: take("maxmemory").parse().unwrap_or_default(),
        max_memory_policy: take("maxmemory-policy"),
    }))
}
