//! The catalogue in a Valkey whose memory is used up, in one whose answer is lost,
//! and in one that comes back with an older state.

use std::collections::BTreeMap;
use std::fs;
use std::future::poll_fn;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Duration;

use rustix::process::Signal;
use sandpiper_shared::{Catalogue, Cursor, Observe, Replaced};
use sandpiper_testkit::Valkey;
use tokio::time::timeout;

use super::PATIENCE;

const CAPACITY: u64 = 1 << 20;
const TEXT: &[u8] = b",\"name\":\"a\"}";

/// A server's view of this catalogue.
async fn catalogue(valkey: &Valkey) -> Catalogue {
    let observe: Observe = Arc::new(|_, _| {});
    let catalogue = Catalogue::start(valkey.url("").parse().unwrap(), observe);
    timeout(PATIENCE, catalogue.link().until_up()).await.unwrap();
    catalogue
}

/// A server that connects when the memory is used up can remove products, too. A
/// request that was done before that is answered as it was.
#[tokio::test]
#[ignore = "needs Valkey"]
async fn a_full_valkey_gives_room_back() {
    let valkey = Valkey::start(&[]);
    let before = catalogue(&valkey).await;
    for request in ["a", "b"] {
        let id = before.create(request, CAPACITY, TEXT).await.unwrap();
        assert!(id.is_some());
    }
    let replaced = before.replace("r", CAPACITY, 1, TEXT).await;
    assert_eq!(replaced, Ok(Replaced::Done));
    assert_eq!(valkey.cli(&["CONFIG", "SET", "maxmemory", "1"]), "OK\n");
    for (node, id) in [(before, 1), (catalogue(&valkey).await, 2)] {
        let created = node.create("c", CAPACITY, TEXT).await;
        assert_eq!(created, Ok(None));
        let replaced = node.replace("d", CAPACITY, id, TEXT).await;
        assert_eq!(replaced, Ok(Replaced::Full));
        assert_eq!(node.create("b", CAPACITY, TEXT).await, Ok(Some(2)));
        let replaced = node.replace("r", CAPACITY, 1, TEXT).await;
        assert_eq!(replaced, Ok(Replaced::Done));
        assert!(node.get(id).await.unwrap().is_some());
        let changes = node.changes(&Cursor::default()).await.unwrap();
        assert_eq!(changes.products.len(), 2);
        assert_eq!(node.remove("e", id).await, Ok(true));
        assert!(node.link().is_up());
    }
}

/// Valkey adds the product, and the connection ends before its answer. The call asks
/// again.
#[tokio::test]
#[ignore = "needs Valkey"]
async fn a_create_whose_answer_is_lost_adds_one_product() {
    /// One may come to Valkey too late, when the connection has ended.
    const ATTEMPTS: i64 = 20;
    let valkey = Valkey::start(&["--slowlog-log-slower-than", "0"]);
    let node = catalogue(&valkey).await;
    let url = valkey.url("");
    let mut operator =
        TcpStream::connect(url.trim_start_matches("valkey://")).unwrap();
    operator.write_all(b"PING\r\n").unwrap();
    operator.read_exact(&mut [0; 7]).unwrap();
    for id in 1..=ATTEMPTS {
        timeout(PATIENCE, node.link().until_up()).await.unwrap();
        let request = format!("request-{id}");
        let mut created = pin!(node.create(&request, CAPACITY, TEXT));
        // Valkey takes both at one moment, and then has no connection to answer to.
        valkey.signal(Signal::STOP);
        let begun =
            poll_fn(|context| Poll::Ready(created.as_mut().poll(context)));
        assert!(begun.await.is_pending());
        // It is sent by another task.
        tokio::task::yield_now().await;
        operator.write_all(b"CLIENT KILL TYPE normal\r\n").unwrap();
        valkey.signal(Signal::CONT);
        assert_eq!(created.await, Ok(Some(id)));
        let done = format!("sp1:{{catalogue}}:done:create:{request}");
        let asked = format!("HGET\n{done}\nanswer\n");
        let calls = valkey.cli(&["SLOWLOG", "GET", "100"]);
        if calls.matches(&asked).count() == 2 {
            // Both were one try: a word of 16 digits, and the line's end.
            assert_eq!(valkey.cli(&["HGET", &done, "tries"]).len(), 17);
            return;
        }
    }
    panic!("each answer came");
}

#[tokio::test]
#[ignore = "needs Valkey"]
async fn four_tries_in_any_order_are_one_request() {
    let valkey = Valkey::start(&[]);
    let _node = catalogue(&valkey).await;
    let create = |attempt: &str, capacity: &str| {
        let key = |name: &str| format!("sp1:{{catalogue}}:{name}");
        let names =
            ["products", "changes", "state", "removed", "done:create:1"];
        let keys = names.map(key);
        let mut call = vec!["FCALL", "sp3_create", "5"];
        call.extend(keys.iter().map(String::as_str));
        call.extend([attempt, capacity, r#","name":"a"}"#]);
        valkey.cli(&call).trim().to_owned()
    };
    for attempt in ["a", "b", "a", "b", "c", "d", "a", "d"] {
        assert_eq!(create(attempt, "1000"), "1", "{attempt}");
    }
    // The fifth is another request. If it is refused, it gets no answer of the first.
    for _ in 0..2 {
        assert_eq!(create("e", "200"), "0");
    }
    for attempt in ["e", "f", "e"] {
        assert_eq!(create(attempt, "1000"), "2", "{attempt}");
    }
}

/// The texts of all products by id, as a mirror has them.
type Mirror = BTreeMap<i64, Vec<u8>>;

/// Takes over all changes behind `cursor`.
async fn follow(node: &Catalogue, cursor: &mut Cursor, mirror: &mut Mirror) {
    loop {
        let page = node.changes(cursor).await.unwrap();
        if page.is_anew {
            mirror.clear();
        }
        for (id, text) in page.products {
            match text {
                Some(text) => mirror.insert(id, text),
                None => mirror.remove(&id),
            };
        }
        *cursor = page.cursor;
        if !page.has_more {
            return;
        }
    }
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        fs::copy(entry.path(), to.join(entry.file_name())).unwrap();
    }
}

/// A backup is restored, and gets as many changes as the mirror knows of.
#[tokio::test]
#[ignore = "needs Valkey"]
async fn a_mirror_follows_an_older_state() {
    let folder = tempfile::tempdir().unwrap();
    let files = folder.path().join("appendonlydir");
    let backup = folder.path().join("backup");
    let mut valkey = Valkey::start(&[
        "--dir",
        folder.path().to_str().unwrap(),
        "--appendonly",
        "yes",
        "--appendfsync",
        "always",
    ]);
    let node = catalogue(&valkey).await;
    let create = async |request: &str| {
        let id = node.create(request, CAPACITY, TEXT).await.unwrap();
        id.unwrap()
    };
    let replace = async |id: i64, text: &[u8]| {
        let request = String::from_utf8_lossy(text);
        let done = node.replace(&request, CAPACITY, id, text).await;
        assert_eq!(done, Ok(Replaced::Done));
    };
    for request in ["a", "b", "c"] {
        create(request).await;
    }
    copy(&files, &backup);
    let (mut cursor, mut mirror) = (Cursor::default(), Mirror::new());
    follow(&node, &mut cursor, &mut mirror).await;
    replace(1, b"lost").await;
    assert_eq!(create("d").await, 4);
    follow(&node, &mut cursor, &mut mirror).await;
    assert_eq!((mirror.len(), &mirror[&1][..]), (4, &b"lost"[..]));
    valkey.kill();
    while node.link().is_up() {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    fs::remove_dir_all(&files).unwrap();
    copy(&backup, &files);
    valkey.restart();
    timeout(PATIENCE, node.link().until_up()).await.unwrap();
    replace(2, b"new").await;
    replace(3, b"new").await;
    follow(&node, &mut cursor, &mut mirror).await;
    let (mut anew, mut expected) = (Cursor::default(), Mirror::new());
    follow(&node, &mut anew, &mut expected).await;
    assert_eq!(mirror, expected);
    assert_eq!(expected.len(), 3);
}
