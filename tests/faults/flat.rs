//! The resources of a server do not grow, whatever it went through.

use std::fs;
use std::io::{Read, Write};
use std::net::Shutdown;
use std::path::PathBuf;

use libtest_mimic::Completion;
use serde_json::{Value, json};

use crate::Fault;
use crate::servers::{
    Reply, Server, assert_serves, at_rest, eventually, program, python, send,
    serving, start_under,
};

use sandpiper_testkit::traces::boxes;

pub(crate) const FAULTS: &[(&str, Fault)] = &[
    ("flat/after-300-attacks", after_300_attacks),
    ("flat/after-large-outputs", after_large_outputs),
];

/// The number of rounds in which all attacks run. After the warm-up, the minimum
/// of the first [`COMPARED`] rounds is compared with that of the last.
const WARM_UP: usize = 3;
const ROUNDS: usize = 14;
const COMPARED: usize = 4;
/// The growth that is allowed for each attack. A leak is found when all of it is
/// more than the free heap that stays resident, some 450 KiB: 1 KiB in each run was
/// not found, 64 KiB in each live run was.
const GROWTH_BYTES: usize = 512;
/// The growth that is allowed after large outputs, which are ten times as large.
const KEPT_KIB: usize = 1 << 10;

/// One heap for all threads. With several, it is chance which of them grows.
const ONE_HEAP: [&str; 2] = ["env", "MALLOC_ARENA_MAX=1"];
/// glibc returns free memory at the end of its heap at once.
const NO_TOP: [&str; 2] = ["MALLOC_TOP_PAD_=0", "MALLOC_TRIM_THRESHOLD_=0"];

const ENDLESS: &str = "while 1: print('x' * 9999)";

/// The resources of the process that serves.
#[derive(Debug)]
struct Use {
    threads: usize,
    /// The kind of each descriptor, without numbers.
    descriptors: Vec<String>,
    memory_kib: usize,
}

impl Use {
    /// Waits until no client is connected and no box exists, and returns the
    /// resources then.
    fn of(server: &Server) -> Self {
        eventually("nothing is left of clients and runs", || {
            server.metrics().count("sandpiper_connections") == 0
                && boxes(server.pid()).is_empty()
        });
        let pid = serving(server);
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let field = |name: &str| -> usize {
            let mut lines = status.lines();
            let line = lines.find_map(|line| line.strip_prefix(name)).unwrap();
            line.split_whitespace().next().unwrap().parse().unwrap()
        };
        let open = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
        let links = open.filter_map(|entry| fs::read_link(entry.path()).ok());
        let kind = |link: PathBuf| {
            let name = link.to_string_lossy().into_owned();
            name.split('[').next().unwrap_or_default().to_owned()
        };
        let mut descriptors: Vec<String> = links.map(kind).collect();
        descriptors.sort();
        Self {
            threads: field("Threads:"),
            descriptors,
            // Not the pages of the executable, which the kernel may drop.
            memory_kib: field("RssAnon:"),
        }
    }

    /// Returns the minimum of each resource.
    fn least(all: &[Self]) -> Self {
        let by_count = |one: &&Self| one.descriptors.len();
        let fewest = all.iter().min_by_key(by_count).unwrap();
        Self {
            threads: all.iter().map(|one| one.threads).min().unwrap(),
            descriptors: fewest.descriptors.clone(),
            memory_kib: all.iter().map(|one| one.memory_kib).min().unwrap(),
        }
    }
}

fn after_300_attacks() -> Completion {
    let flags = [
        "--languages=python,c",
        "--memory=64MiB",
        "--compile-memory=64MiB",
        "--processes=16",
        "--queue=4",
        "--live-boxes=1",
    ];
    let starter = [ONE_HEAP, NO_TOP].concat();
    let server = start_under(&starter, &flags, None);
    assert_serves(&server);
    for _ in 0..WARM_UP {
        attack_all_ways(&server);
    }
    let rest = at_rest(&server);
    let mut count = 0;
    let rounds: Vec<Use> = (0..ROUNDS)
        .map(|_| {
            count += attack_all_ways(&server);
            Use::of(&server)
        })
        .collect();
    assert!(count >= 300, "{count}");
    assert_serves(&server);
    assert_eq!(at_rest(&server), rest);
    let before = Use::least(&rounds[..COMPARED]);
    let after = Use::least(&rounds[ROUNDS - COMPARED..]);
    let memory: Vec<_> = rounds.iter().map(|one| one.memory_kib).collect();
    println!("{before:?}, and {count} attacks; KiB: {memory:?}");
    assert_eq!(after.descriptors, before.descriptors);
    // Threads that count locks end in their own time.
    eventually("no thread is left of the attacks", || {
        Use::of(&server).threads <= before.threads
    });
    let between = count / ROUNDS * (ROUNDS - COMPARED);
    let max_kib = before.memory_kib + between * GROWTH_BYTES / 1024;
    assert!(after.memory_kib <= max_kib, "KiB: {memory:?}");
    Completion::Completed
}

/// The server returns large blocks to the kernel. This must not use [`NO_TOP`],
/// with which glibc would do so.
fn after_large_outputs() -> Completion {
    let flags = ["--languages=python"];
    let server = start_under(&ONE_HEAP, &flags, None);
    assert_serves(&server);
    let before = Use::of(&server).memory_kib;
    for _ in 0..10 {
        let reply = server.compile(&python(ENDLESS));
        assert_eq!(
            reply.header("sandpiper-exit"),
            Some("stage=run; limit=output")
        );
    }
    let after = Use::of(&server).memory_kib;
    println!("{before} KiB, and then {after}");
    assert!(after <= before + KEPT_KIB, "{before} KiB, and then {after}");
    Completion::Completed
}

/// Runs each attack once. Returns their number.
fn attack_all_ways(server: &Server) -> usize {
    let mut count = 0;
    for (request, words) in programs() {
        let reply = server.compile(&request);
        let exit = reply.header("sandpiper-exit").unwrap_or_default();
        assert!(exit.contains(words), "{request}: {reply:?}");
        count += 1;
    }
    count += leave_in_the_middle(server);
    count += leave_unread(server);
    count += many_runs(server);
    count + garbage(server)
}

/// Returns programs that exceed limits or fail, and how they end.
fn programs() -> Vec<(Value, &'static str)> {
    let c = |source| program("c", "main.c", source);
    vec![
        (python(ENDLESS), "limit=output"),
        (python("x = b'x' * (1 << 30)"), "limit=memory"),
        (
            python("import os, time\nwhile os.fork(): pass\ntime.sleep(99)"),
            "stage=run",
        ),
        (
            python(
                "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(99)",
            ),
            "code=0",
        ),
        (
            c("#include <stdlib.h>\nint main(void) { abort(); }"),
            "signal=SIGABRT",
        ),
        (c("int main(void) { return"), "stage=compile; code=1"),
    ]
}

/// Clients disconnect before their answer.
fn leave_in_the_middle(server: &Server) -> usize {
    let in_use = || server.metrics().count("sandpiper_boxes_in_use");
    for client in 1..=3 {
        let sleeping = python("import time\ntime.sleep(99)");
        let connection = send(server, &sleeping, client);
        eventually("it has a box", || in_use() == 1);
        drop(connection);
        eventually("it is given up", || in_use() == 0);
    }
    3
}

/// Clients read the beginning of events or of a large answer, and disconnect.
fn leave_unread(server: &Server) -> usize {
    const JSON: &str = "Content-Type: application/json";
    const EVENTS: &str = "Accept: text/event-stream";
    let left = |metric: &str| server.metrics().count(metric);
    // As JSON each of these characters has six bytes: sockets do not hold all.
    let flood = python("while 1: print('\\x01' * 9999)");
    let mut files = python("open('a', 'wb').write(b'x' * (4 << 20))");
    files["artifacts"] = json!(true);
    let all = [(&[JSON, EVENTS][..], flood), (&[JSON], files)];
    for (headers, asked) in &all {
        let path = "/api/run";
        let mut connection =
            server.begin("POST", path, headers, asked.to_string());
        let mut status = [0; 12];
        connection.read_exact(&mut status).unwrap();
        assert_eq!(&status, b"HTTP/1.1 200");
        drop(connection);
        eventually("it is given up", || left("sandpiper_boxes_in_use") == 0);
    }
    let mut dialogue = python("print(input('? '))");
    dialogue["interactive"] = json!(true);
    let mut events = server.stream(&[], &dialogue).unwrap();
    events.until("? ");
    drop(events);
    eventually("it is given up", || left("sandpiper_live_boxes_in_use") == 0);
    all.len() + 1
}

/// Sends more runs at once than the queue holds: some run, others are refused.
fn many_runs(server: &Server) -> usize {
    let sent: Vec<_> = (10..20)
        .map(|client| send(server, &python("print(1)"), client))
        .collect();
    let count = sent.len();
    for mut connection in sent {
        let reply = Reply::read(&mut connection);
        assert!([200, 503].contains(&reply.status), "{reply:?}");
    }
    count
}

/// Sends invalid and incomplete requests.
fn garbage(server: &Server) -> usize {
    let large = "x".repeat(100_000);
    let texts = [
        "\0\0\0\r\n\r\n".to_owned(),
        format!("GET /{large} HTTP/1.1\r\nHost: x\r\n\r\n"),
        "POST /api/compile HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\n{"
            .to_owned(),
        "POST /api/compile HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: 3\r\n\r\n[[["
            .to_owned(),
    ];
    for text in &texts {
        let mut connection = server.connect();
        // The server may close the connection before it has read everything.
        let _ = connection.write_all(text.as_bytes());
        let _ = connection.shutdown(Shutdown::Write);
        let _ = std::io::copy(&mut connection, &mut std::io::sink());
    }
    texts.len()
}
