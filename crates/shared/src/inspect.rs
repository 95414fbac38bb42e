//! Facts about a Valkey, for operators.

use std::collections::HashMap;
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{ErrorKind, FromRedisValue, RedisError, Value};
use tokio::time::{Instant, timeout};

use crate::catalogue::KEYS;
use crate::error::{late, reason};
use crate::url::{DEFAULT_USER, ServerUrl};

/// The longest time that a Valkey may take for all questions.
const WITHIN: Duration = Duration::from_secs(3);

/// Commands that no node needs. They read or remove the state of others, end the
/// Valkey, or make it run or fetch something.
const NEEDLESS: [&str; 13] = [
    "FLUSHALL",
    "SHUTDOWN",
    "CONFIG SET dir /",
    "ACL SETUSER x",
    "MODULE LOAD x",
    "REPLICAOF x 1",
    "DEBUG SLEEP 0",
    "EVAL x 0",
    "FUNCTION FLUSH",
    "CLIENT KILL TYPE normal",
    "MONITOR",
    "KEYS x",
    // A key that is not Sandpiper's.
    "GET x",
];

/// Commands that a node needs for its limits, those of their functions included.
pub const COMMANDS_OF_LIMITS: [&str; 11] = [
    "FUNCTION LOAD REPLACE x",
    "FCALL x 1 sp1:x",
    "TIME",
    "GET sp1:x",
    "PEXPIRE sp1:x 1",
    "SET sp1:x x",
    "ZADD sp1:x 1 x",
    "ZCARD sp1:x",
    "ZRANGE sp1:x 0 0",
    "ZREMRANGEBYSCORE sp1:x 0 1",
    "ZSCORE sp1:x x",
];

/// Commands that a node needs for its products, those of their functions included.
pub const COMMANDS_OF_PRODUCTS: [&str; 11] = [
    "FUNCTION LOAD REPLACE x",
    "FCALL x 1 sp1:x",
    "HDEL sp1:x x",
    "HGET sp1:x x",
    "HINCRBY sp1:x x 1",
    "HSET sp1:x x x",
    "PEXPIRE sp1:x 1",
    "ZADD sp1:x 1 x",
    "ZCARD sp1:x",
    "ZRANGE sp1:x 0 0",
    "ZREM sp1:x x",
];

/// Facts about a Valkey that answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Facts {
    /// Its name and version, such as `valkey 8.1.1`.
    pub version: String,
    /// The time of its clock, since 1970.
    pub clock: Duration,
    /// The moment at which it said so.
    pub clock_read: Instant,
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

/// The rights of the users of a Valkey.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rights {
    /// The commands that nodes need and may not run.
    pub lacking: Vec<&'static str>,
    /// The commands that nodes may run and do not need.
    pub needless: Vec<&'static str>,
    /// Whether Valkey can read its file of changes, which it does as the user
    /// `default`. It leaves out what this user may not do.
    pub can_replay: bool,
}

/// The Valkey does not answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct NoAnswer {
    /// Why, in words.
    pub reason: String,
    /// Whether it will answer later by itself: it reads its file, or a function
    /// takes long.
    pub is_busy: bool,
}

/// Asks a Valkey who it is, its time and its settings. Nothing is changed.
///
/// # Errors
/// The Valkey cannot be reached, refuses the user, or takes too long.
pub async fn inspect(url: &ServerUrl) -> Result<Facts, NoAnswer> {
    in_time(ask(url)).await
}

/// Asks a Valkey as its operator for the rights of its users, that of `node`
/// among them, who needs these commands. Returns `None` if the operator may not
/// ask. Nothing is changed.
///
/// # Errors
/// The Valkey cannot be reached, refuses the operator, or takes too long.
pub async fn rights(
    operator: &ServerUrl,
    node: &ServerUrl,
    needed: &[&'static str],
) -> Result<Option<Rights>, NoAnswer> {
    in_time(async {
        match ask_rights(operator, node.user(), needed).await {
            Ok(rights) => Ok(Some(rights)),
            Err(error) if error.code() == Some("NOPERM") => Ok(None),
            Err(error) => Err(error),
        }
    })
    .await
}

/// Returns whether a Valkey serves whoever does not log in.
///
/// # Errors
/// The Valkey cannot be reached, takes too long, or answers that it is busy.
pub async fn is_open(url: &ServerUrl) -> Result<bool, NoAnswer> {
    let stranger = url.without_login();
    let answer = async {
        let mut connection = stranger.connect().await?;
        redis::cmd("TIME").query_async::<()>(&mut connection).await
    };
    in_time(async {
        match answer.await {
            Ok(()) => Ok(true),
            Err(error) if is_refusal(&error) => Ok(false),
            Err(error) => Err(error),
        }
    })
    .await
}

/// Returns whether a Valkey refuses the user. Other errors pass, such as those
/// of a Valkey that reads its file.
fn is_refusal(error: &RedisError) -> bool {
    error.kind() == ErrorKind::AuthenticationFailed
        || matches!(error.code(), Some("NOAUTH" | "NOPERM" | "WRONGPASS"))
}

fn is_busy(error: &RedisError) -> bool {
    matches!(error.code(), Some("LOADING" | "BUSY"))
}

async fn in_time<T>(
    answer: impl Future<Output = Result<T, RedisError>>,
) -> Result<T, NoAnswer> {
    match timeout(WITHIN, answer).await {
        Ok(answer) => answer.map_err(|error| NoAnswer {
            reason: reason(&error),
            is_busy: is_busy(&error),
        }),
        Err(_) => Err(NoAnswer { reason: late(WITHIN), is_busy: false }),
    }
}

async fn ask_rights(
    operator: &ServerUrl,
    node: &str,
    needed: &[&'static str],
) -> Result<Rights, RedisError> {
    let mut connection = operator.connect().await?;
    let mut may = async |user: &str, command: &str| {
        let words: Vec<&str> = command.split(' ').collect();
        let mut asked = redis::cmd("ACL");
        asked.arg("DRYRUN").arg(user).arg(words);
        let answer = asked.query_async::<Value>(&mut connection).await?;
        Ok::<bool, RedisError>(answer == Value::Okay)
    };
    let mut lacking = Vec::new();
    for command in needed {
        if !may(node, command).await? {
            lacking.push(*command);
        }
    }
    let mut needless = Vec::new();
    for command in NEEDLESS {
        if may(node, command).await? {
            needless.push(command);
        }
    }
    let change = format!("HSET {} x x", KEYS[0]);
    let can_replay = may(DEFAULT_USER, &change).await?
        && may(DEFAULT_USER, "FUNCTION LOAD x").await?;
    Ok(Rights { lacking, needless, can_replay })
}

async fn ask(url: &ServerUrl) -> Result<Facts, RedisError> {
    let mut connection = url.connect().await?;
    let hello: HashMap<String, Value> =
        redis::cmd("HELLO").query_async(&mut connection).await?;
    let word = |name: &str| {
        let value = hello.get(name).cloned().unwrap_or(Value::Nil);
        String::from_redis_value(value).unwrap_or_default()
    };
    let version = format!("{} {}", word("server"), word("version"));
    let (seconds, micros): (u64, u32) =
        redis::cmd("TIME").query_async(&mut connection).await?;
    let clock_read = Instant::now();
    let clock =
        Duration::from_secs(seconds) + Duration::from_micros(u64::from(micros));
    let settings = settings(&mut connection).await?;
    Ok(Facts { version, clock, clock_read, settings })
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_need_the_commands_of_their_functions() {
        let check = |text: &str, needed: &[&str]| {
            let calls = text.split("call('").skip(1);
            let calls = calls.filter_map(|rest| rest.split('\'').next());
            for call in calls {
                let is_it = |it: &&str| it.split(' ').next() == Some(call);
                assert!(needed.iter().any(is_it), "{call}");
            }
        };
        check(include_str!("rate_limits.lua"), &COMMANDS_OF_LIMITS);
        check(include_str!("catalogue.lua"), &COMMANDS_OF_PRODUCTS);
    }

    #[test]
    fn only_a_refusal_of_the_user_closes_a_valkey() {
        let check = |code: &str, refuses: bool, busy: bool| {
            let line = format!("-{code} some words\r\n");
            let answer = redis::parse_redis_value(line.as_bytes()).unwrap();
            let error = answer.extract_error().unwrap_err();
            let found = (is_refusal(&error), is_busy(&error));
            assert_eq!(found, (refuses, busy), "{code}");
        };
        check("NOAUTH", true, false);
        check("NOPERM", true, false);
        check("WRONGPASS", true, false);
        check("LOADING", false, true);
        check("BUSY", false, true);
        check("MASTERDOWN", false, false);
        check("ERR", false, false);
        let failed = (ErrorKind::AuthenticationFailed, "at the start");
        assert!(is_refusal(&failed.into()));
    }
}
