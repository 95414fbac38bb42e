//! Killed parts of a server: all of it amid 50 runs, one of its processes, the init
//! of a box. Everything left is removed at once or at the next start.

use std::fs;
use std::net::TcpStream;

use libtest_mimic::Completion;
use serde_json::{Value, json};

use crate::Fault;
use crate::holdings::Holdings;
use crate::servers::{
    Bystander, Reply, Server, assert_reported, assert_serves, at_rest,
    await_boxes, eventually, fork_server, kill, parent, process, program,
    python, send, send_to, serving, sleeper, start, start_under,
    start_with_boxes, stop,
};
use sandpiper_testkit::traces::{boxes, descendants};

pub(crate) const FAULTS: &[(&str, Fault)] = &[
    ("killed/server-amid-50-runs", all_amid_50_runs),
    ("killed/server-amid-live-runs", all_amid_live_runs),
    ("killed/serving-process", serving_process),
    ("killed/root-process", root_process),
    ("killed/pid-1-of-a-box", pid_1),
    ("killed/outer-half-of-init", outer_half),
    ("killed/box-that-looks-for-a-crash", crash_step),
    ("killed/fork-server", no_fork_server),
    ("killed/ready-box-that-was-asked", asked_box),
    ("killed/starter-of-the-server", starter),
    ("killed/in-order", in_order),
];

const LONG: [&str; 2] = ["--run-cpu-time=600s", "--drain-time=1s"];

fn all_amid_50_runs() -> Completion {
    let other = start(&LONG);
    let beside = Bystander::start(&other, "other", 1);
    let languages = ["python", "c", "php", "java"];
    let flags = [&["--boxes=50"][..], &LONG].concat();
    let server = start_with_boxes(&languages, &flags);
    let runs: Vec<TcpStream> =
        (1..).zip(mixed()).map(|(n, run)| send(&server, &run, n)).collect();
    assert_eq!(runs.len(), 50);
    // Most boxes run a program; in others a compiler runs, or nothing yet.
    eventually("half of the boxes run a program", || {
        programs(&server).len() >= 25
    });
    // Ready boxes must end like the others.
    await_boxes(&server, &["python"]);
    let held = Holdings::of(&server);
    assert!(held.processes() > 75, "{}", held.processes());
    let serving = serving(&server);
    kill(server.pid());
    if serving != server.pid() {
        kill(serving);
    }
    drop(server);
    held.await_end();
    let next = start_with_boxes(&["python"], &flags);
    assert_serves(&next);
    held.await_groups_end();
    drop(next);
    held.assert_no_files();
    drop(runs);
    // A start removes only the remains of dead servers.
    beside.goes_on();
    Completion::Completed
}

/// Programs that wait for their input, in boxes beside the ordinary ones.
fn all_amid_live_runs() -> Completion {
    let flags = [&["--live-boxes=4"][..], &LONG].concat();
    let server = start(&flags);
    let mut asked = python("print(input('? '))");
    asked["interactive"] = true.into();
    let runs: Vec<_> = (1..=2)
        .map(|_| {
            let mut events = server.stream(&[], &asked).unwrap();
            events.until("? ");
            events
        })
        .collect();
    let held = Holdings::of(&server);
    // Two processes of init and the program.
    assert!(held.processes() >= 3 * runs.len(), "{}", held.processes());
    let serving = serving(&server);
    kill(server.pid());
    if serving != server.pid() {
        kill(serving);
    }
    drop(server);
    held.await_end();
    let next = start(&flags);
    assert_serves(&next);
    held.await_groups_end();
    drop(next);
    held.assert_no_files();
    drop(runs);
    Completion::Completed
}

/// Fifty programs: most sleep, one spins, some have to be compiled first.
fn mixed() -> impl Iterator<Item = Value> {
    let sleeping = [
        ("python", "main.py", "import time\ntime.sleep(1000)"),
        ("php", "main.php", "<?php sleep(1000);"),
        (
            "c",
            "main.c",
            "#include <unistd.h>\nint main(void) { fork(); sleep(1000); }",
        ),
        (
            "java",
            "Main.java",
            "class Main { public static void main(String[] a) throws Exception \
             { Thread.sleep(1000000); } }",
        ),
    ];
    let spinning = ("python", "main.py", "import os\nos.fork()\nwhile 1: pass");
    let count = [29, 10, 8, 2];
    let sleeping = sleeping.into_iter().zip(count);
    sleeping
        .flat_map(|(each, count)| std::iter::repeat_n(each, count))
        .chain(std::iter::repeat_n(spinning, 1))
        .map(|(language, file, source)| program(language, file, source))
}

/// Returns the processes of programs in boxes.
fn programs(server: &Server) -> Vec<i32> {
    let all = descendants(server.pid()).into_iter();
    all.filter(|pid| {
        let name = fs::read_to_string(format!("/proc/{pid}/comm"));
        name.is_ok_and(|name| !name.contains("sandpiper") && name != "exe\n")
    })
    .collect()
}

/// Kills only the process that serves. The one that stays root cleans up at once.
fn serving_process() -> Completion {
    one_of_two(|server| kill(serving(server)), true)
}

/// Kills only the process that stays root. The other one ends by itself.
fn root_process() -> Completion {
    one_of_two(|server| kill(server.pid()), false)
}

fn one_of_two(fault: impl Fn(&Server), cleared: bool) -> Completion {
    if let Some(not_seen) = crate::needs_root() {
        return not_seen;
    }
    let server = start_with_boxes(&["python"], &LONG);
    let (file, request) = sleeper("one-of-two");
    let run = send(&server, &request, 1);
    eventually("the program runs", || process(&server, &file).is_some());
    await_boxes(&server, &["python"]);
    let held = Holdings::of(&server);
    fault(&server);
    held.await_end();
    if cleared {
        // A later start would remove them, too: other tests start servers.
        assert!(held.has_no_group(), "{held:?}");
        held.assert_no_files();
    }
    drop(server);
    let next = start(&[]);
    assert_serves(&next);
    held.await_groups_end();
    drop(next);
    held.assert_no_files();
    drop(run);
    Completion::Completed
}

fn pid_1() -> Completion {
    part_of_a_box(parent)
}

fn outer_half() -> Completion {
    part_of_a_box(|program| parent(parent(program)))
}

/// Kills a part of a box. Its client gets an error, the run beside it goes on, and
/// nothing of the box is left.
fn part_of_a_box(part: impl Fn(i32) -> i32) -> Completion {
    let server = start(&LONG);
    assert_serves(&server);
    let before = at_rest(&server);
    let (file, request) = sleeper("part-of-a-box");
    let mut hit = send(&server, &request, 1);
    let beside = Bystander::start(&server, "beside", 2);
    eventually("the program runs", || process(&server, &file).is_some());
    kill(part(process(&server, &file).unwrap()));
    assert_reported(&Reply::read(&mut hit), 500);
    beside.goes_on();
    assert_serves(&server);
    assert_eq!(at_rest(&server), before);
    Completion::Completed
}

/// Kills the box in which the line of a crash is looked for. The end of the program
/// is known, so its client gets that without the line.
fn crash_step() -> Completion {
    let server = start_under(&[], &["--languages=python,c"], None);
    assert_serves(&server);
    let before = at_rest(&server);
    // The compiler waits for its second reading of the included file.
    let source = "#include <stdlib.h>\n#include <sys/stat.h>\n\
                  #include <unistd.h>\n#include \"a.h\"\nint main(void) {\n\
                  unlink(\"a.h\");\nmkfifo(\"a.h\", 0600);\nabort();\n}\n";
    let mut request = program("c", "main.c", source);
    let files = request["files"].as_array_mut().unwrap();
    files.push(json!({"path": "a.h", "content": ""}));
    let mut run = send_to("/api/run", &server, &request, 1);
    let mut step = None;
    eventually("the line is looked for", || {
        step = process(&server, "--crash");
        step.is_some()
    });
    kill(parent(step.unwrap()));
    let reply = Reply::read(&mut run);
    assert_eq!(reply.status, 200, "{}", reply.text());
    let end = &reply.json()["run"];
    assert_eq!(end["exit"], json!({"signal": "SIGABRT"}), "{end}");
    assert_eq!(end["crash"], Value::Null, "{end}");
    assert_serves(&server);
    assert_eq!(at_rest(&server), before);
    Completion::Completed
}

/// Existing boxes go on without the fork server, and the next box starts a new one.
fn no_fork_server() -> Completion {
    let server = start(&LONG);
    assert_serves(&server);
    let before = at_rest(&server);
    let killed = fork_server(&server);
    let beside = Bystander::start(&server, "beside", 1);
    kill(killed);
    assert_serves(&server);
    beside.goes_on();
    let after = at_rest(&server);
    assert_eq!(after.processes.len(), before.processes.len());
    let next = fork_server(&server);
    assert_ne!(next, killed);
    // A request that the killed one had not handled goes to a new one.
    stop(next);
    let mut run = send(&server, &python("print(1)"), 2);
    eventually("an init is asked for", || !boxes(server.pid()).is_empty());
    kill(next);
    Reply::read(&mut run).assert_json(200, r#"{"stdout":"1\n","stderr":""}"#);
    Completion::Completed
}

/// A ready box dies before it receives its submission: another box runs it.
fn asked_box() -> Completion {
    for (language, file, source) in [
        ("python", "main.py", "print(1)"),
        ("c", "main.c", "int puts(const char *);int main() { puts(\"1\"); }"),
    ] {
        let server = start_with_boxes(&[language], &LONG);
        let mut waiting = Vec::new();
        eventually("its pid 1 waits", || {
            let all = descendants(server.pid()).into_iter();
            waiting = all.filter(|&pid| is_pid_1(pid)).collect();
            !waiting.is_empty()
                && waiting.len() == server.metrics().ready(language)
        });
        waiting.iter().for_each(|&pid| stop(pid));
        let mut run = send(&server, &program(language, file, source), 1);
        eventually("a box is taken", || {
            server.metrics().count("sandpiper_boxes_in_use") == 1
        });
        waiting.iter().for_each(|&pid| kill(pid));
        let reply = Reply::read(&mut run);
        reply.assert_json(200, r#"{"stdout":"1\n","stderr":""}"#);
    }
    Completion::Completed
}

/// Returns whether a process is pid 1 of a pid namespace of its own.
fn is_pid_1(pid: i32) -> bool {
    let status = fs::read_to_string(format!("/proc/{pid}/status"));
    let status = status.unwrap_or_default();
    let ids = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
    let mut ids = ids.unwrap_or_default().split_whitespace();
    ids.clone().count() > 1 && ids.next_back() == Some("1")
}

/// A server ends with the thread that started it, if it was started with
/// `setpriv --pdeathsig`, as in these tests.
fn starter() -> Completion {
    let started = std::thread::spawn(|| {
        let server = start_with_boxes(&["python"], &LONG);
        let (file, request) = sleeper("starter");
        let run = send(&server, &request, 1);
        eventually("the program runs", || process(&server, &file).is_some());
        await_boxes(&server, &["python"]);
        (Holdings::of(&server), server, run)
    });
    let (held, server, run) = started.join().unwrap();
    held.await_end();
    assert!(held.has_no_group(), "{held:?}");
    drop(server);
    held.assert_no_files();
    drop(run);
    Completion::Completed
}

/// A server that ends on SIGTERM leaves nothing for the next start to remove.
fn in_order() -> Completion {
    let server = start_with_boxes(&["python"], &LONG);
    let (file, request) = sleeper("in-order");
    let run = send(&server, &request, 1);
    eventually("the program runs", || process(&server, &file).is_some());
    await_boxes(&server, &["python"]);
    let held = Holdings::of(&server);
    drop(server);
    // Without groups, no process can be left in a box.
    assert!(held.has_no_group(), "{held:?}");
    // The fork server ends when its socket is closed.
    held.await_end();
    held.assert_no_files();
    drop(run);
    Completion::Completed
}
