//! Attacks by many clients on runs that are read and typed into while they go
//! on, and on large answers. Each begins with its control.

use std::cell::Cell;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, PoisonError, RwLock};
use std::thread::{scope, spawn};

use libtest_mimic::{Arguments, Trial};
use sandpiper_testkit::traces::at_rest;
use sandpiper_testkit::{Events, Usage, eventually, is_chosen, needs_images};
use serde_json::{Value, json};

use crate::bystander::Bystander;
use crate::crash::forged_crashes;
use crate::crossed::crossed_runs;
use crate::left::left_files;
use crate::servers::{self, Server, Start, client};

/// An attack, and whether times are measured beside it.
type Attack = (&'static str, bool, fn());

/// Those beside which others wait come first; the longest has others beside it.
const ATTACKS: [Attack; 8] = [
    ("live/many-runs", true, many_runs),
    ("live/stalled-readers", true, stalled_readers),
    ("live/input-flood", false, input_flood),
    ("live/forged-events", false, forged_events),
    ("live/crossed-runs", false, crossed_runs),
    ("live/left-files", false, left_files),
    ("live/forged-crashes", false, forged_crashes),
    ("live/large-answers", false, large_answers),
];

pub(crate) const JSON: &str = "Content-Type: application/json";

/// Returns the attacks as tests. One that measures has `turn` alone.
pub(crate) fn trials(
    arguments: &Arguments,
    turn: &Arc<RwLock<()>>,
) -> Vec<Trial> {
    let chosen = ATTACKS.iter().filter(|it| is_chosen(arguments, it.0));
    let trials = chosen.map(|&(name, measures, attack)| {
        let turn = Arc::clone(turn);
        let trial = Trial::test(name, move || {
            if measures {
                let _turn =
                    turn.write().unwrap_or_else(PoisonError::into_inner);
                attack();
            } else {
                let _turn = turn.read().unwrap_or_else(PoisonError::into_inner);
                attack();
            }
            Ok(())
        });
        needs_images(arguments, trial)
    });
    trials.collect()
}

pub(crate) fn start(flags: &[&str]) -> Server {
    let flags = [&["--languages=python"], flags].concat();
    let server = servers::start(Start::Cold, &flags);
    server.wait_until_ready();
    server
}

pub(crate) fn python(source: &str, more: &Value) -> Value {
    let source = format!("import os, sys, time\n{source}");
    let mut request = json!({
        "language": "python",
        "entryFile": "main.py",
        "files": [{"path": "main.py", "content": source}],
    });
    let fields = request.as_object_mut().unwrap();
    fields.extend(more.as_object().unwrap().clone());
    request
}

pub(crate) fn interactive(source: &str) -> Value {
    python(source, &json!({"interactive": true}))
}

fn memory_kib(server: &Server) -> u64 {
    Usage::of(server.pid()).memory_kib
}

fn answer_memory(server: &Server) -> usize {
    let metrics = server.metrics();
    metrics.count("sandpiper_answer_memory_bytes{answers=\"others\"}")
}

/// Reads the status of an answer, and nothing more of it.
fn status(stream: &mut TcpStream) -> String {
    let mut status = [0; 12];
    stream.read_exact(&mut status).expect("a status");
    String::from_utf8(status.to_vec()).unwrap()[9..].to_owned()
}

/// 64 clients ask for 4 MiB of artifacts each and read none of it.
fn large_answers() {
    let server = start(&["--boxes=4"]);
    let files = json!({"artifacts": true});
    let asked = python("open('a', 'wb').write(b'x' * (4 << 20))", &files);
    let send = |number| {
        let headers = [JSON, &client(number)];
        server.begin("POST", "/api/run", &headers, asked.to_string())
    };
    let whole = sandpiper_testkit::Reply::read(&mut send(1));
    assert_eq!(whole.json()["artifacts"][0]["size"], 4 << 20);
    let before = memory_kib(&server);
    let limit = 256 << 20;
    let mut most = 0;
    let mut clients = Vec::new();
    for number in 1..=64 {
        let mut stream = send(number);
        let status = status(&mut stream);
        assert!(["200", "503"].contains(&&*status), "{status}");
        if status == "200" {
            clients.push(stream);
        }
        // One answer may pass the limit.
        let held = answer_memory(&server);
        assert!(held <= limit + (8 << 20), "{held} by client {number}");
        most = most.max(held);
    }
    // Together they are more than the limit: the last are refused, or the first
    // have been disconnected, if all of this took longer than a slow client may.
    assert!(clients.len() > 32, "{}", clients.len());
    assert!(most > limit / 2, "{most}");
    let grown = (memory_kib(&server) - before) >> 10;
    assert!(grown < 256 + 64, "{grown} MiB more");
    drop(clients);
    eventually("no answer is left", || answer_memory(&server) == 0);
    assert_eq!(status(&mut send(1)), "200");
}

/// One client opens 200 live runs.
fn many_runs() {
    let server = start(&["--live-boxes=8", "--boxes=2"]);
    let rest = at_rest(&server);
    let asked = interactive("print(input('? '))");
    let open = |number| server.stream(&[&client(number)], &asked);
    let bystander = Bystander::now(&server).unwrap();
    let live = scope(|scope| {
        let opening = scope.spawn(|| -> Vec<Events> {
            (0..200)
                .filter_map(|_| match open(1) {
                    Ok(events) => Some(events),
                    Err(refused) => {
                        let text =
                            "this client's half of the live runs is taken";
                        refused.assert_failure(503, text);
                        assert_eq!(refused.header("retry-after"), Some("1"));
                        None
                    }
                })
                .collect()
        });
        let over = || opening.is_finished();
        bystander.lives_beside(&server, over).unwrap();
        opening.join().unwrap()
    });
    assert_eq!(live.len(), 4);
    // Others have the rest.
    let mut others = [2, 2, 3, 3].map(|number| open(number).unwrap());
    let refused = open(4).unwrap_err();
    refused.assert_failure(503, "all 8 live runs are taken");
    assert_eq!(refused.header("retry-after"), Some("1"));
    let other = &mut others[0];
    other.until("? ");
    let run = other.run.clone().unwrap();
    assert_eq!(server.tell(&run, "input", r#"{"text":"a\n"}"#).status, 204);
    assert_eq!(other.end()["exit"], json!({"code": 0}));
    drop((live, others));
    assert_eq!(at_rest(&server), rest);
}

/// Clients that read nothing of a flood, and clients that leave amid it.
fn stalled_readers() {
    const COUNT: usize = 8;
    let server = start(&["--live-boxes=16", "--boxes=8"]);
    let rest = at_rest(&server);
    let bystander = Bystander::now(&server).unwrap();
    let flood = "while 1: sys.stdout.write('\\x01' * 4096)";
    let mut read = server.stream(&[], &interactive(flood)).unwrap();
    assert_eq!(read.end()["exit"], json!({"limit": "output"}));
    let before = memory_kib(&server);
    let series = |outcome: &str| {
        format!(
            "sandpiper_runs_total{{language=\"python\",outcome=\"{outcome}\"}}"
        )
    };
    let outcomes = |outcome: &str| server.metrics().count(&series(outcome));
    // The ends of all runs but those of the bystander and the first.
    let over = || {
        let metrics = server.metrics();
        let all = metrics.values.iter().filter(|(name, _)| {
            name.starts_with("sandpiper_runs_total") && **name != series("ok")
        });
        all.map(|(_, count)| count).sum::<f64>() - 1.0
    };
    // The output is no more than 1 MiB in each stream, and 6 MiB as JSON: less
    // than that may fit into a socket.
    let both = "while 1:\n for out in sys.stdout, sys.stderr:\n\
                \x20 out.write('\\x01' * 4096)\n  out.flush()";
    let open = |number: usize, is_live: bool| {
        let mut asked = python(both, &json!({"interactive": is_live}));
        asked["limits"] = json!({"wall_ms": 4_000});
        let from = client(u8::try_from(number).unwrap());
        server.stream(&[&from], &asked).unwrap()
    };
    let stalled: Vec<_> =
        (0..COUNT).map(|number| open(number, number % 2 == 0)).collect();
    let most = Cell::new(0);
    let are_over = || {
        most.set(memory_kib(&server).max(most.get()));
        over() >= COUNT as f64
    };
    bystander.lives_beside(&server, are_over).unwrap();
    let grown = most.get().saturating_sub(before) >> 10;
    assert!(grown < 4 * COUNT as u64, "{grown} MiB more");
    let ended = || outcomes("time") + outcomes("output") - 1;
    assert_eq!(ended(), COUNT);
    drop(stalled);
    let left: Vec<_> = (0..COUNT).map(|number| open(number, true)).collect();
    drop(left);
    bystander.lives_beside(&server, || over() >= 2.0 * COUNT as f64).unwrap();
    assert_eq!(outcomes("client_gone") + ended(), 2 * COUNT);
    eventually("no answer is left", || answer_memory(&server) == 0);
    assert_eq!(at_rest(&server), rest);
}

/// One request of many on a connection.
fn input(run: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST /api/run/{run}/input HTTP/1.1\r\nHost: x\r\n{JSON}\r\n\
         Content-Length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// Sends requests one behind the other, and returns the status of each.
pub(crate) fn statuses(server: &Server, requests: &[Vec<u8>]) -> Vec<String> {
    let mut stream = server.connect();
    let all = requests.concat();
    let mut writing = stream.try_clone().unwrap();
    let written = spawn(move || writing.write_all(&all));
    let mut answers = BufReader::new(&mut stream);
    let mut statuses = Vec::new();
    while statuses.len() < requests.len() {
        let mut line = String::new();
        assert_ne!(answers.read_line(&mut line).unwrap(), 0, "{statuses:?}");
        // A body of JSON ends without a line break.
        if let Some((_, rest)) = line.split_once("HTTP/1.1 ") {
            statuses.push(rest[..3].to_owned());
        }
    }
    written.join().unwrap().unwrap();
    statuses
}

/// More input than a run may have, than waits, and of all kinds.
fn input_flood() {
    let server = start(&["--live-boxes=4"]);
    let open = |source: &str| {
        let mut events = server.stream(&[], &interactive(source)).unwrap();
        events.next();
        let run = events.run.clone().unwrap();
        (events, run)
    };
    let line = br#"{"text":"a\u0000b\n"}"#;
    let (mut reading, id) = open("print(ascii(input()))");
    assert_eq!(statuses(&server, &[input(&id, line)]), ["204"]);
    assert_eq!(reading.end()["exit"], json!({"code": 0}));
    assert_eq!(reading.stdout, "'a\\x00b'\n");
    // Over: the same again.
    assert_eq!(statuses(&server, &[input(&id, line)]), ["404"]);
    let before = memory_kib(&server);
    let (one, id) = open("sys.stdin.read()\nprint('read')");
    let count = |requests: &[Vec<u8>]| {
        let found = statuses(&server, requests);
        let mut kinds = found.clone();
        kinds.sort();
        kinds.dedup();
        (kinds, found)
    };
    let many = vec![input(&id, line); 10_000];
    let (kinds, found) = count(&many);
    assert_eq!(kinds, ["204", "429"]);
    assert_eq!(found.iter().filter(|status| *status == "204").count(), 600);
    let end = br#"{"end":true}"#;
    // Not even the end of the input: a client that flooded stops its run.
    assert_eq!(count(&[input(&id, end)]).0, ["429"]);
    let (two, id) = open("time.sleep(999)");
    let large = [br#"{"text":""#, &vec![b'a'; 60_000][..], br#""}"#].concat();
    let (kinds, found) = count(&vec![input(&id, &large); 100]);
    assert_eq!(kinds, ["204", "503"]);
    // One is in the pipe, one waits, and one more came before the pipe was.
    let taken = found.iter().filter(|status| *status == "204").count();
    assert!(taken <= 3, "{found:?}");
    let refused = server.tell(&id, "input", str::from_utf8(&large).unwrap());
    refused.assert_failure(503, "the program is not reading");
    assert_eq!(refused.header("retry-after"), Some("1"));
    let huge = [br#"{"text":""#, &vec![b'a'; 1 << 20][..], br#""}"#].concat();
    let huge =
        server.send("POST", &format!("/api/run/{id}/input"), &[JSON], huge);
    assert_eq!(huge.status, 413, "{}", huge.text());
    for wrong in [
        &b"{\"text\":\"\xff\"}"[..],
        br#"{"text":1}"#,
        br#"{"end":"true"}"#,
        b"[]",
        b"",
    ] {
        assert_eq!(count(&[input(&id, wrong)]).0, ["400"], "{wrong:?}");
    }
    let grown = memory_kib(&server).saturating_sub(before) >> 10;
    assert!(grown < 16, "{grown} MiB more");
    assert_eq!(server.tell(&id, "stop", "").status, 204);
    drop((one, two));
}

/// A program prints events.
fn forged_events() {
    let server = start(&[]);
    let forged = "a\n\nevent: end\ndata: {\"exit\":{\"code\":0}}\n\n";
    let odd = "\r\revent: end\r\ndata: {}\r\n\r\n\u{2028}\u{2029}\u{85}\0:\n\n";
    // Sent as it is, the end would be believed.
    let raw = TcpListener::bind("127.0.0.1:0").unwrap();
    let reading = TcpStream::connect(raw.local_addr().unwrap()).unwrap();
    let (mut sending, _) = raw.accept().unwrap();
    let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n";
    let plain = forged.replacen("a\n\n", "", 1);
    write!(sending, "{head}{plain}").unwrap();
    drop(sending);
    assert_eq!(Events::read(reading).unwrap().end()["exit"]["code"], 0);
    for text in [forged, odd] {
        let source = format!(
            "for out in sys.stdout, sys.stderr:\n\
             \x20   for part in {}:\n\
             \x20       out.write(part)\n\x20       out.flush()\nsys.exit(3)",
            json!(text.chars().map(String::from).collect::<Vec<_>>())
        );
        let asked = python(&source, &json!({}));
        let mut events = server.stream(&[], &asked).unwrap();
        assert_eq!(events.end()["exit"], json!({"code": 3}));
        assert_eq!((&*events.stdout, &*events.stderr), (text, text));
    }
}
