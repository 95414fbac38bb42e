//! A server that is short of descriptors or processes. Requests that need them are
//! refused until there are enough again.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use libtest_mimic::Completion;

use crate::Fault;
use crate::servers::{
    Bystander, Reply, assert_reported, assert_serves, at_rest, eventually,
    fork_server, python, ran, send, serving, start,
};

pub(crate) const FAULTS: &[(&str, Fault)] = &[
    ("short/no-descriptor", no_descriptor),
    ("short/few-descriptors", few_descriptors),
    ("short/descriptors-for-the-first-page", first_page),
    ("short/no-process", no_process),
];

/// Lowers a soft limit of a process of the server until this is dropped.
struct Lowered {
    pid: i32,
    resource: &'static str,
    before: String,
}

impl Lowered {
    /// `resource` is the name that prlimit(1) uses.
    fn to(limit: u64, resource: &'static str, pid: i32) -> Self {
        let flags = ["--noheadings", "--raw", "--output=SOFT"];
        let resource_flag = format!("--{resource}");
        let before = prlimit(pid, &[&flags[..], &[&resource_flag]].concat());
        // The hard limit stays, so that no right is needed to raise it again.
        prlimit(pid, &[&format!("--{resource}={limit}:")]);
        Self { pid, resource, before: before.trim().to_owned() }
    }
}

impl Drop for Lowered {
    fn drop(&mut self) {
        let Self { pid, resource, before } = self;
        prlimit(*pid, &[&format!("--{resource}={before}:")]);
    }
}

/// Runs prlimit(1) as the process's user. Another user would need a capability that
/// root has in few containers.
fn prlimit(pid: i32, flags: &[&str]) -> String {
    let uid = fs::metadata(format!("/proc/{pid}")).unwrap().uid().to_string();
    let mut command = if rustix::process::geteuid().is_root() {
        let mut command = Command::new("setpriv");
        command.args(["--reuid", &uid, "--regid", &uid, "--clear-groups"]);
        command.arg("prlimit");
        command
    } else {
        Command::new("prlimit")
    };
    command.args(["--pid", &pid.to_string()]).args(flags);
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

/// Returns the numbers of the process's open descriptors.
fn descriptors(pid: i32) -> Vec<u64> {
    let found = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let number = |name: std::ffi::OsString| name.to_str()?.parse().ok();
    let mut numbers: Vec<u64> =
        found.filter_map(|entry| number(entry.file_name())).collect();
    numbers.sort_unstable();
    numbers
}

/// A client that connects while no connection can be accepted waits, and is served.
fn no_descriptor() -> Completion {
    const REFUSED: &str = "cannot accept connections";
    let server = start(&[]);
    assert_serves(&server);
    let before = at_rest(&server);
    let mut open: Vec<_> = (0..5).map(|_| server.connect()).collect();
    assert_eq!(server.ask("GET", "/healthz").status, 200);
    let lowered = Lowered::to(0, "nofile", serving(&server));
    let mut waiting = send(&server, &python("print('waited')"), 1);
    server.line_with(REFUSED);
    // The end of another connection is no news.
    while let Some(stream) = open.pop() {
        let before = descriptors(serving(&server)).len();
        drop(stream);
        eventually("it is closed", || {
            descriptors(serving(&server)).len() < before
        });
    }
    let patience = waiting.read_timeout().unwrap();
    waiting.set_nonblocking(true).unwrap();
    assert!(waiting.peek(&mut [0]).is_err(), "there was a descriptor");
    waiting.set_nonblocking(false).unwrap();
    waiting.set_read_timeout(patience).unwrap();
    drop(lowered);
    let reply = Reply::read(&mut waiting);
    reply.assert_json(200, r#"{"stdout":"waited\n","stderr":""}"#);
    assert_serves(&server);
    assert_eq!(at_rest(&server), before);
    let log = server.into_log();
    let reports = log.matches(REFUSED).count();
    assert_eq!(reports, 1, "{log}");
    Completion::Completed
}

/// The limit on descriptors rises by one each time, so that a run fails at another
/// step. No run hangs or leaves anything, and with enough descriptors it succeeds.
fn few_descriptors() -> Completion {
    let server = start(&[]);
    assert_serves(&server);
    let before = at_rest(&server);
    let serving = serving(&server);
    let open = descriptors(serving);
    let (mut refused, mut served) = (0, 0);
    for more in 1..40 {
        // The kernel uses the lowest free descriptors first.
        let free = (0..).filter(|number| !open.contains(number));
        let most = free.take(more).last().unwrap() + 1;
        let lowered = Lowered::to(most, "nofile", serving);
        *if ran(&server) { &mut served } else { &mut refused } += 1;
        drop(lowered);
        assert_serves(&server);
        assert_eq!(at_rest(&server), before, "{more} descriptors");
        eventually("its descriptors are closed", || {
            descriptors(serving).len() <= open.len()
        });
    }
    assert!(refused > 5 && served > 2, "{refused} refused, {served} served");
    println!("{refused} refused, {served} served");
    Completion::Completed
}

/// A page contains a random number, which needs no descriptor either.
fn first_page() -> Completion {
    let server = start(&[]);
    at_rest(&server);
    let open = descriptors(serving(&server));
    // One descriptor is free, for the connection.
    let free = (0..).find(|number| !open.contains(number)).unwrap();
    let lowered = Lowered::to(free + 1, "nofile", serving(&server));
    let page = server.ask("GET", "/embed?lang=python");
    assert_eq!(page.status, 200, "{page:?}");
    drop(lowered);
    Completion::Completed
}

/// No box can be started; running boxes go on.
fn no_process() -> Completion {
    let server = start(&[]);
    assert_serves(&server);
    let before = at_rest(&server);
    let fork_server = fork_server(&server);
    let beside = Bystander::start(&server, "first", 1);
    let lowered = Lowered::to(1, "nproc", fork_server);
    for _ in 0..10 {
        assert_reported(&server.compile(&python("print(1)")), 503);
    }
    for path in ["/products", "/embed?lang=python", "/healthz"] {
        assert_eq!(server.ask("GET", path).status, 200, "{path}");
    }
    beside.goes_on();
    drop(lowered);
    assert_serves(&server);
    assert_eq!(at_rest(&server), before);
    Completion::Completed
}
