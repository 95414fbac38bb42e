//! Servers that have faults, and the requests that are sent to them.

use std::fs;
use std::net::TcpStream;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) use sandpiper_testkit::traces::at_rest;
pub(crate) use sandpiper_testkit::{Reply, Server, eventually};

use sandpiper_testkit::traces::{descendants, outside};

/// Starts a server of Python with further flags, and waits until it is ready.
pub(crate) fn start(flags: &[&str]) -> Server {
    start_under(&[], &[&["--languages=python"], flags].concat(), None)
}

/// Starts a server with these flags, and waits until it is ready; see
/// [`Server::spawn_under`]. It makes no boxes ahead, so that a test can tell what a
/// fault left.
pub(crate) fn start_under(
    starter: &[&str],
    flags: &[&str],
    data: Option<TempDir>,
) -> Server {
    let flags = [&["--warm-memory=0"], flags].concat();
    spawn_under(starter, &flags, data)
}

/// Starts a server with these flags and a ready box of each of these languages.
pub(crate) fn start_with_boxes(languages: &[&str], flags: &[&str]) -> Server {
    let only = format!("--languages={}", languages.join(","));
    let server = spawn_under(&[], &[&[only.as_str()], flags].concat(), None);
    await_boxes(&server, languages);
    server
}

/// Waits until a box of each of these languages is ready.
pub(crate) fn await_boxes(server: &Server, languages: &[&str]) {
    eventually("a box of each language is ready", || {
        let metrics = server.metrics();
        languages.iter().all(|language| metrics.ready(language) > 0)
    });
}

fn spawn_under(
    starter: &[&str],
    flags: &[&str],
    data: Option<TempDir>,
) -> Server {
    let usual = [
        "--compile-rate-limit=0",
        "--trusted-proxy=127.0.0.1",
        "--queue-wait=120s",
        // Runs beside a fault end by their test, not by this limit.
        "--run-wall-time=600s",
    ];
    let flags = [&usual, flags].concat();
    let server = Server::spawn_under(starter, &flags, data);
    server.wait_until_ready();
    server
}

/// Returns a program of one file.
pub(crate) fn program(language: &str, file: &str, source: &str) -> Value {
    json!({
        "language": language,
        "entryFile": file,
        "files": [{"path": file, "content": source}],
    })
}

pub(crate) fn python(source: &str) -> Value {
    program("python", "main.py", source)
}

/// Returns a Python program that sleeps longer than any test, and its name.
pub(crate) fn sleeper(name: &str) -> (String, Value) {
    // With two commands the shell does not execute `sleep` in its own process.
    shell(name, "sleep 1000; exit 1")
}

/// Returns a Python program that executes a shell under a unique name, by which its
/// process can be found. The command line of a launcher does not contain the name
/// of the entry file.
fn shell(name: &str, script: &str) -> (String, Value) {
    let name = format!("{name}-{}", std::process::id());
    let become_it =
        format!("import os\nos.execlp('sh', '{name}', '-c', '{script}')");
    (name, python(&become_it))
}

/// A program that must not be affected by a fault beside it.
pub(crate) struct Bystander {
    /// The process that it waits for.
    sleep: i32,
    connection: TcpStream,
}

impl Bystander {
    /// Sends it from the address of `client`, and returns when it waits.
    pub(crate) fn start(server: &Server, name: &str, client: u8) -> Self {
        let script = "echo begun; sleep 1000 & wait; \
                      python3 -c \"import decimal\" && echo whole";
        let (name, request) = shell(name, script);
        let connection = send(server, &request, client);
        let mut sleep = None;
        eventually("it waits", || {
            let shell = process(server, &name);
            sleep = shell.and_then(|shell| {
                descendants(shell).into_iter().find(|&pid| is_sleep(pid))
            });
            sleep.is_some()
        });
        Self { sleep: sleep.unwrap(), connection }
    }

    /// Lets it continue. Fails unless it still runs, can start another program of
    /// its image, and its client gets the whole output.
    pub(crate) fn goes_on(mut self) {
        kill(self.sleep);
        let reply = Reply::read(&mut self.connection);
        reply.assert_json(200, r#"{"stdout":"begun\nwhole\n","stderr":""}"#);
    }
}

fn is_sleep(pid: i32) -> bool {
    let name = fs::read_to_string(format!("/proc/{pid}/comm"));
    name.is_ok_and(|name| name == "sleep\n")
}

/// Sends a request from the address of `client`. The answer is not read yet.
pub(crate) fn send(server: &Server, request: &Value, client: u8) -> TcpStream {
    send_to("/api/compile", server, request, client)
}

/// The same to another path.
pub(crate) fn send_to(
    path: &str,
    server: &Server,
    request: &Value,
    client: u8,
) -> TcpStream {
    let from = format!("X-Forwarded-For: 192.0.2.{client}");
    let headers = ["Content-Type: application/json", &from];
    server.begin("POST", path, &headers, request.to_string())
}

/// Fails unless products, the editor and programs work.
pub(crate) fn assert_serves(server: &Server) {
    for path in ["/products", "/embed?lang=python", "/healthz"] {
        assert_eq!(server.ask("GET", path).status, 200, "{path}");
    }
    let reply = server.compile(&python("print(6 * 7)"));
    reply.assert_json(200, r#"{"stdout":"42\n","stderr":""}"#);
}

/// Returns whether a program ran. Fails if it did not run correctly, and was not
/// refused either.
pub(crate) fn ran(server: &Server) -> bool {
    // It takes so long that its sockets and locks are counted.
    let code = "import time\ntime.sleep(0.1)\nprint('ran')";
    let reply = server.compile(&python(code));
    let ran = reply.status == 200;
    if ran {
        reply.assert_json(200, r#"{"stdout":"ran\n","stderr":""}"#);
    } else {
        assert_reported(&reply, 503);
    }
    ran
}

/// Fails unless this answer says that the service failed and, for 503, when to
/// retry, and reveals no internals.
pub(crate) fn assert_reported(reply: &Reply, status: u16) {
    reply.assert_failure_about(status, &[]);
    let text = reply.text();
    for inside in ["/", "errno", "os error", "cgroup", "spawn", "init"] {
        assert!(!text.contains(inside), "{text} reveals {inside}");
    }
    let waits = reply.header("retry-after").is_some();
    assert_eq!(waits, status == 503, "{reply:?}");
}

/// Returns the process that serves. As root, it is the only child of the process
/// that was started.
pub(crate) fn serving(server: &Server) -> i32 {
    let pid = server.pid();
    if !rustix::process::geteuid().is_root() {
        return pid;
    }
    children(pid)[0]
}

/// Returns the fork server of the boxes' inits. No box may be starting.
pub(crate) fn fork_server(server: &Server) -> i32 {
    let serving = serving(server);
    let mut below = outside(server.pid());
    below.retain(|&pid| pid != server.pid() && pid != serving);
    assert_eq!(below.len(), 1, "{below:?}");
    below.pop_first().unwrap()
}

/// Returns the process of the server whose command line contains this file.
pub(crate) fn process(server: &Server, file: &str) -> Option<i32> {
    descendants(server.pid()).into_iter().find(|pid| {
        let arguments = fs::read(format!("/proc/{pid}/cmdline"));
        arguments.is_ok_and(|it| String::from_utf8_lossy(&it).contains(file))
    })
}

pub(crate) fn parent(pid: i32) -> i32 {
    let status = fs::read_to_string(format!("/proc/{pid}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("PPid:"));
    line.unwrap().trim().parse().unwrap()
}

/// Returns the children of a process's first thread.
fn children(pid: i32) -> Vec<i32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = fs::read_to_string(path).unwrap();
    text.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

pub(crate) fn kill(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

pub(crate) fn stop(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::STOP).unwrap();
}
