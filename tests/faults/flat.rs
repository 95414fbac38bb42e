//! What a server uses itself stays as it is, whatever it went through.

use std::fs;
use std::io::Write;
use std::net::Shutdown;
use std::path::PathBuf;
use std::thread::sleep;
use std::time::{Duration, Instant};

use libtest_mimic::Completion;
use serde_json::Value;

use crate::Fault;
use crate::servers::{
    Reply, Server, assert_serves, at_rest, compile, program, python, send,
    serving, start_under,
};

pub(crate) const FAULTS: &[(&str, Fault)] =
    &[("flat/after-300-attacks", after_300_attacks)];

/// How many times the whole list is run through before it is measured, and
/// then, of which half tells how much memory is usual.
const WARM_UP: usize = 5;
const ROUNDS: usize = 20;
/// What memory may grow by in the other half: pages of an allocator, not 10
/// KiB for each attack.
const GROWTH_KIB: u64 = 2 << 10;

/// For how long the server may keep a connection after its end, and more.
const LINGER: Duration = Duration::from_secs(4);

/// What the process that serves has.
#[derive(Debug, PartialEq, Eq)]
struct Use {
    /// What each is of: numbered things count as what they are.
    descriptors: Vec<String>,
    threads: u64,
    resident_kib: u64,
}

impl Use {
    /// What it has when no connection lingers.
    fn without_clients(server: &Server) -> Self {
        let begun = Instant::now();
        let mut least = Self::of(server);
        while begun.elapsed() < LINGER {
            sleep(Duration::from_millis(100));
            let now = Self::of(server);
            if now.descriptors.len() <= least.descriptors.len() {
                least = now;
            }
        }
        least
    }

    fn of(server: &Server) -> Self {
        let pid = serving(server);
        let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
        let field = |name: &str| -> u64 {
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
            descriptors,
            threads: field("Threads:"),
            resident_kib: field("VmRSS:"),
        }
    }
}

fn after_300_attacks() -> Completion {
    let flags = [
        "--languages=python,c",
        "--run-wall-time=1s",
        "--run-cpu-time=1s",
        "--memory=64MiB",
        "--queue=4",
    ];
    let server = start_under(&[], &flags, None);
    assert_serves(&server);
    for _ in 0..WARM_UP {
        attack_all_ways(&server);
    }
    let rest = at_rest(&server);
    let before = Use::without_clients(&server);
    let (mut count, mut usual_kib) = (0, before.resident_kib);
    for round in 0..ROUNDS {
        count += attack_all_ways(&server);
        if round < ROUNDS / 2 {
            usual_kib = usual_kib.max(Use::of(&server).resident_kib);
        }
    }
    assert!(count >= 300, "{count}");
    assert_serves(&server);
    assert_eq!(at_rest(&server), rest);
    let mut after = Use::of(&server);
    for _ in 0..100 {
        if after.descriptors == before.descriptors {
            break;
        }
        // The last connections may not be closed yet.
        sleep(Duration::from_millis(100));
        after = Use::of(&server);
    }
    println!("{before:?}, and after {count} attacks {after:?}");
    assert_eq!(after.descriptors, before.descriptors);
    assert_eq!(after.threads, before.threads);
    let grown = after.resident_kib.saturating_sub(usual_kib);
    assert!(grown <= GROWTH_KIB, "{usual_kib} KiB, and then {after:?}");
    Completion::Completed
}

/// Each attack once; how many these are.
fn attack_all_ways(server: &Server) -> usize {
    let mut count = 0;
    for (request, words) in programs() {
        let reply = compile(server, &request);
        let exit = reply.header("sandpiper-exit").unwrap_or_default();
        assert!(exit.contains(words), "{request}: {reply:?}");
        count += 1;
    }
    count += leave_in_the_middle(server);
    count += crowd(server);
    count + garbage(server)
}

/// Programs that want too much, and how they end.
fn programs() -> Vec<(Value, &'static str)> {
    let c = |source| program("c", "main.c", source);
    vec![
        (python("while 1: print('x' * 9999)"), "limit=output"),
        (python("x = b'x' * (1 << 30)"), "limit=memory"),
        (python("import os\nwhile 1: os.fork()"), "stage=run"),
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

/// Clients that go away before their answer.
fn leave_in_the_middle(server: &Server) -> usize {
    for client in 1..=3 {
        let sleeping = python("import time\ntime.sleep(99)");
        let connection = send(server, &sleeping, client);
        sleep(Duration::from_millis(50));
        drop(connection);
    }
    3
}

/// More at once than the queue holds: some run, the others are refused.
fn crowd(server: &Server) -> usize {
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

/// What is no request, or half of one.
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
        // The server may have refused it in the middle.
        let _ = connection.write_all(text.as_bytes());
        let _ = connection.shutdown(Shutdown::Write);
        let _ = std::io::copy(&mut connection, &mut std::io::sink());
    }
    texts.len()
}
