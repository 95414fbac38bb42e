//! A link while its Valkey is killed, stopped, emptied and started again.

use std::future::poll_fn;
use std::io;
use std::pin::pin;
use std::sync::{Arc, Mutex};
use std::task::Poll;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use sandpiper_shared::{CallError, Library, Link, Value};
use sandpiper_testkit::Valkey;
use tokio::time::{sleep, timeout};

use super::PATIENCE;

/// Shorter than a Valkey that is stopped takes.
const SHORT: Duration = Duration::from_millis(50);

/// A library that counts.
const TEXT: &str = "#!lua name=sandpiper_test
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

const LIBRARY: Library = Library {
    part: "test",
    text: TEXT,
    open: "test_open",
    epoch_key: "epoch",
    within: PATIENCE,
    without: "the test fails",
};

fn link(url: String) -> Link {
    Link::start(url.parse().unwrap(), LIBRARY, Arc::new(|_, _| {}))
}

async fn up(link: &Link) {
    timeout(PATIENCE, link.until_up()).await.unwrap();
}

/// Waits until it is so.
async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let begun = Instant::now();
    while !is_so().await {
        assert!(begun.elapsed() < PATIENCE, "never: {what}");
        sleep(Duration::from_millis(10)).await;
    }
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
            // Those that wait at one moment count once.
            let call = || count(&link, SHORT);
            let answers = tokio::join!(call(), call(), call());
            let none = || Err(CallError::Unreachable);
            assert_eq!(answers, (none(), none(), none()));
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

/// Its Valkey may have been another, which is gone.
#[tokio::test]
#[ignore = "needs Valkey"]
async fn an_answer_of_an_earlier_connection_ends_no_row_of_time_outs() {
    let valkey = Valkey::start(&[]);
    let link = link(valkey.url(""));
    up(&link).await;
    // It is sent, and nobody reads its answer.
    let mut held = pin!(count(&link, PATIENCE));
    let first = poll_fn(|context| Poll::Ready(held.as_mut().poll(context)));
    assert!(first.await.is_pending());
    assert_eq!(count(&link, PATIENCE).await, Ok(Value::Int(2)));
    assert_eq!(valkey.cli(&["CLIENT", "KILL", "TYPE", "normal"]), "1\n");
    until("a call fails", async || {
        let _ = count(&link, PATIENCE).await;
        link.failures() > 0
    })
    .await;
    up(&link).await;
    valkey.signal(Signal::STOP);
    for _ in 0..2 {
        assert!(count(&link, SHORT).await.is_err());
    }
    assert!(link.is_up());
    assert_eq!(held.await, Ok(Value::Int(1)));
    assert!(count(&link, SHORT).await.is_err());
    assert!(!link.is_up());
    valkey.signal(Signal::CONT);
}

/// Valkey may lack the count of a call that failed.
#[tokio::test]
#[ignore = "needs Valkey"]
async fn an_error_fails_one_call() {
    let valkey = Valkey::start(&[]);
    let first = link(valkey.url(""));
    up(&first).await;
    let old = first.age().unwrap();
    let begun = Instant::now();
    assert_eq!(valkey.cli(&["SET", "text", "x"]), "OK\n");
    let to_text = first.call("test_count", &["text"], &[b"1"], PATIENCE);
    assert_eq!(to_text.await, Err(CallError::BadAnswer));
    assert!(first.is_up());
    let elapsed = begun.elapsed();
    assert!(first.age().unwrap() < old + elapsed);
    assert_eq!(count(&first, PATIENCE).await, Ok(Value::Int(1)));
    assert_eq!(valkey.cli(&["CONFIG", "SET", "maxmemory", "1"]), "OK\n");
    // A link that connects now can call as much.
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
    let are_back = async || count(&link, PATIENCE).await.is_ok();
    until("they are back", are_back).await;
}

#[tokio::test]
#[ignore = "needs Valkey"]
async fn a_silent_valkey_is_noticed_without_a_call() {
    let mut valkey = Valkey::start(&[]);
    let link = link(valkey.url(""));
    up(&link).await;
    valkey.kill();
    until("it is noticed", async || !link.is_up()).await;
}

/// So one that is back is used soon. The clock jumps to the next event.
#[tokio::test(start_paused = true)]
async fn a_valkey_that_is_gone_is_tried_at_least_each_second() {
    // Nobody listens there.
    let link = link("valkey://127.0.0.1:1".to_owned());
    sleep(Duration::from_secs(10)).await;
    let failures = link.failures();
    assert!((9..=41).contains(&failures), "{failures}");
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
    until("it is noticed", async || {
        let elapsed = begun.elapsed();
        link.age().unwrap() < old + elapsed
    })
    .await;
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
    until("it fails", async || {
        assert!(!wrong.is_up());
        wrong.failures() > 0
    })
    .await;
    assert!(!wrong.is_up());
}

/// All that is logged in this process.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    /// Returns how often this was logged of the Valkey with this address.
    fn count(&self, address: &str, words: &str) -> usize {
        let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
        let words = format!("{address} {words}");
        text.matches(&words).count()
    }
}

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[tokio::test]
#[ignore = "needs Valkey"]
async fn each_reason_is_logged_once() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber =
        tracing_subscriber::fmt().with_writer(move || writer.clone()).finish();
    // One of this thread alone may miss events that others log first.
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let mut valkey = Valkey::start(&[]);
    let user = ["ACL", "SETUSER", "node", "on", ">word", "~*", "+@all"];
    assert_eq!(valkey.cli(&user), "OK\n");
    let link = link(valkey.url("node:word@"));
    let address = valkey.url("");
    let count = |words: &str| log.count(&address, words);
    let fails = async |times: u64| {
        let before = link.failures();
        until("it fails", async || link.failures() >= before + times).await;
    };
    up(&link).await;
    // A check notices it. Its error is one line.
    assert_eq!(valkey.cli(&["FUNCTION", "FLUSH"]), "OK\n");
    until("it is noticed", async || {
        count("cannot be reached: it answered ERR") > 0
    })
    .await;
    assert_eq!(count("failed a call"), 0);
    up(&link).await;
    assert_eq!(valkey.cli(&["SET", "text", "x"]), "OK\n");
    for _ in 0..2 {
        let to_text = link.call("test_count", &["text"], &[b"1"], PATIENCE);
        assert_eq!(to_text.await, Err(CallError::BadAnswer));
    }
    assert_eq!(count("failed a call: it answered ERR"), 1);
    // This ends its connection.
    assert_eq!(valkey.cli(&["ACL", "DELUSER", "node"]), "1\n");
    fails(3).await;
    assert_eq!(count("cannot be reached: it refuses the user"), 1);
    valkey.kill();
    fails(3).await;
    assert_eq!(count("cannot be reached: Connection refused"), 1);
    assert!(count("cannot be reached") <= 5);
    valkey.restart();
    assert_eq!(valkey.cli(&user), "OK\n");
    up(&link).await;
    valkey.kill();
    fails(3).await;
    assert_eq!(count("cannot be reached: Connection refused"), 2);
}
