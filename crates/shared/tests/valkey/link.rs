//! A link while its Valkey is killed, stopped, emptied and started again.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use sandpiper_shared::{CallError, Link, Part, Value};
use sandpiper_testkit::Valkey;
use tokio::time::timeout;

use super::PATIENCE;

/// Shorter than a Valkey that is stopped takes.
const SHORT: Duration = Duration::from_millis(50);

/// A library that counts.
const LIBRARY: &str = "#!lua name=sandpiper_test
local function open(keys, args)
  local known = server.call('GET', keys[1])
  if known then return known end
  server.call('SET', keys[1], args[1])
  return args[1]
end
local function count(keys, args)
  return server.call('INCRBY', keys[1], args[1])
end
server.register_function{function_name = 'test_open', callback = open, flags = {'allow-oom'}}
server.register_function('test_count', count)
";

const PART: Part = Part {
    name: "test",
    library: LIBRARY,
    open: "test_open",
    epoch_key: "epoch",
    within: PATIENCE,
    without: "the test fails",
};

fn link(url: String) -> Link {
    Link::start(url.parse().unwrap(), PART, Arc::new(|_, _| {}))
}

async fn up(link: &Link) {
    timeout(PATIENCE, link.until_up()).await.unwrap();
}

async fn count(link: &Link, within: Duration) -> Result<Value, CallError> {
    link.call("test_count", &["key"], &[b"1"], within).await
}

#[tokio::test]
#[ignore = "needs Valkey"]
async fn it_calls_and_comes_back() {
    let mut valkey = Valkey::start(&[]);
    let link = link(valkey.url(""));
    up(&link).await;
    assert_eq!(count(&link, PATIENCE).await, Ok(Value::Int(1)));
    assert_eq!(count(&link, PATIENCE).await, Ok(Value::Int(2)));
    assert_eq!(link.failures(), 0);
    valkey.kill();
    assert_eq!(count(&link, PATIENCE).await, Err(CallError::Unreachable));
    assert!(!link.is_up());
    assert_eq!(count(&link, PATIENCE).await, Err(CallError::Unreachable));
    valkey.restart();
    up(&link).await;
    assert_eq!(count(&link, PATIENCE).await, Ok(Value::Int(1)));
    assert!(link.failures() > 0);
}

#[tokio::test]
#[ignore = "needs Valkey"]
async fn a_host_can_have_a_name() {
    let valkey = Valkey::start(&[]);
    let link = link(valkey.url("").replace("127.0.0.1", "localhost"));
    up(&link).await;
    assert_eq!(count(&link, PATIENCE).await, Ok(Value::Int(1)));
}

#[tokio::test]
#[ignore = "needs Valkey"]
async fn three_time_outs_in_a_row_end_the_wait_of_all() {
    let valkey = Valkey::start(&[]);
    let link = Arc::new(link(valkey.url("")));
    up(&link).await;
    for _ in 0..2 {
        valkey.signal(Signal::STOP);
        for _ in 0..2 {
            let answer = count(&link, SHORT).await;
            assert_eq!(answer, Err(CallError::Unreachable));
            assert!(link.is_up());
        }
        valkey.signal(Signal::CONT);
        assert!(count(&link, PATIENCE).await.is_ok());
    }
    valkey.signal(Signal::STOP);
    let others: Vec<_> = (0..10)
        .map(|_| {
            let link = Arc::clone(&link);
            tokio::spawn(async move { count(&link, PATIENCE * 10).await })
        })
        .collect();
    for _ in 0..3 {
        let answer = count(&link, SHORT).await;
        assert_eq!(answer, Err(CallError::Unreachable));
    }
    for other in others {
        let answer = timeout(PATIENCE, other).await.unwrap().unwrap();
        assert_eq!(answer, Err(CallError::Unreachable));
    }
    valkey.signal(Signal::CONT);
    up(&link).await;
    assert!(count(&link, PATIENCE).await.is_ok());
}

/// Valkey may lack the count of a call that failed.
#[tokio::test]
#[ignore = "needs Valkey"]
async fn an_error_fails_one_call() {
    let valkey = Valkey::start(&[]);
    let first = link(valkey.url(""));
    up(&first).await;
    let old = (Instant::now(), first.age().unwrap());
    assert_eq!(valkey.cli(&["SET", "text", "x"]), "OK\n");
    let to_text = first.call("test_count", &["text"], &[b"1"], PATIENCE);
    assert_eq!(to_text.await, Err(CallError::Refused));
    assert!(first.is_up());
    assert!(first.age().unwrap() < old.1 + old.0.elapsed());
    assert_eq!(count(&first, PATIENCE).await, Ok(Value::Int(1)));
    assert_eq!(valkey.cli(&["CONFIG", "SET", "maxmemory", "1"]), "OK\n");
    // Whoever connects now can call as much.
    let second = link(valkey.url(""));
    up(&second).await;
    for link in [&first, &second] {
        let failures = link.failures();
        let answer = count(link, PATIENCE).await;
        assert_eq!(answer, Err(CallError::OutOfMemory));
        assert!(link.is_up());
        assert_eq!(link.failures(), failures + 1);
    }
    assert_eq!(valkey.cli(&["CONFIG", "SET", "maxmemory", "0"]), "OK\n");
    for (link, counted) in [(&first, 2), (&second, 3)] {
        let answer = count(link, PATIENCE).await;
        assert_eq!(answer, Ok(Value::Int(counted)));
    }
}

/// A connection without them is of no use.
#[tokio::test]
#[ignore = "needs Valkey"]
async fn functions_that_are_gone_come_back() {
    let valkey = Valkey::start(&[]);
    let link = link(valkey.url(""));
    up(&link).await;
    assert_eq!(valkey.cli(&["FUNCTION", "FLUSH"]), "OK\n");
    let begun = Instant::now();
    while count(&link, PATIENCE).await.is_err() {
        assert!(begun.elapsed() < PATIENCE, "they are gone");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
#[ignore = "needs Valkey"]
async fn a_silent_valkey_is_noticed_without_a_call() {
    let mut valkey = Valkey::start(&[]);
    let link = link(valkey.url(""));
    up(&link).await;
    valkey.kill();
    let begun = Instant::now();
    while link.is_up() {
        assert!(begun.elapsed() < PATIENCE, "it was not noticed");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

#[tokio::test]
#[ignore = "needs Valkey"]
async fn a_lost_state_is_noticed() {
    let valkey = Valkey::start(&[]);
    let link = link(valkey.url(""));
    up(&link).await;
    let old = link.age().unwrap();
    let begun = Instant::now();
    valkey.cli(&["FLUSHALL"]);
    loop {
        let elapsed = begun.elapsed();
        if link.age().unwrap() < old + elapsed {
            break;
        }
        assert!(begun.elapsed() < PATIENCE, "it was not noticed");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert_eq!(link.failures(), 0);
}

#[tokio::test]
#[ignore = "needs Valkey"]
async fn a_wrong_password_is_no_connection() {
    let options = ["--user", "default", "off", "--user"];
    let user = ["sandpiper", "on", ">right", "~*", "+@all"];
    let valkey = Valkey::start(&[&options[..], &user[..]].concat());
    let wrong = link(valkey.url("sandpiper:wrong@"));
    let right = link(valkey.url("sandpiper:right@"));
    up(&right).await;
    while wrong.failures() == 0 {
        assert!(!wrong.is_up());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    assert!(!wrong.is_up());
}
