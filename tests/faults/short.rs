//! A server that is short of descriptors or processes. What needs them is
//! refused, and served again as soon as there are enough.

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::process::Command;

use libtest_mimic::Completion;

use crate::Fault;
use crate::servers::{
    Bystander, Reply, assert_serves, assert_told, at_rest, compile, eventually,
    fork_server, python, ran, send, serving, start,
};

pub(crate) const FAULTS: &[(&str, Fault)] = &[
    ("short/no-descriptor", no_descriptor),
    ("short/few-descriptors", few_descriptors),
    ("short/descriptors-for-the-first-page", first_page),
    ("short/no-process", no_process),
];

/// A soft limit of a process of the server's, until this is dropped.
struct Lowered {
    pid: i32,
    resource: &'static str,
    before: String,
}

impl Lowered {
    /// `resource` as prlimit(1) calls it.
    fn to(most: u64, resource: &'static str, pid: i32) -> Self {
        let flags = ["--noheadings", "--raw", "--output=SOFT"];
        let resource_flag = format!("--{resource}");
        let before = prlimit(pid, &[&flags[..], &[&resource_flag]].concat());
        // The hard limit stays, so that anybody may go back.
        prlimit(pid, &[&format!("--{resource}={most}:")]);
        Self { pid, resource, before: before.trim().to_owned() }
    }
}

impl Drop for Lowered {
    fn drop(&mut self) {
        let Self { pid, resource, before } = self;
        prlimit(*pid, &[&format!("--{resource}={before}:")]);
    }
}

/// As the process's own user: others need a right that root has in few
/// containers.
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

/// The numbers of its open descriptors.
fn descriptors(pid: i32) -> Vec<u64> {
    let found = fs::read_dir(format!("/proc/{pid}/fd")).unwrap().flatten();
    let number = |name: std::ffi::OsString| name.to_str()?.parse().ok();
    let mut numbers: Vec<u64> =
        found.filter_map(|entry| number(entry.file_name())).collect();
    numbers.sort_unstable();
    numbers
}

/// Who comes while nobody can be let in waits, and is served.
fn no_descriptor() -> Completion {
    const REFUSED: &str = "cannot accept connections";
    let server = start(&[]);
    assert_serves(&server);
    let before = at_rest(&server);
    let lowered = Lowered::to(0, "nofile", serving(&server));
    let mut waiting = send(&server, &python("print('waited')"), 1);
    server.line_with(REFUSED);
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
    let told = log.matches(REFUSED).count();
    assert_eq!(told, 1, "{log}");
    Completion::Completed
}

/// With one descriptor more each time, a run fails at another step; none
/// hangs, none leaves anything, and with enough of them it is right.
fn few_descriptors() -> Completion {
    let server = start(&[]);
    assert_serves(&server);
    let before = at_rest(&server);
    let serving = serving(&server);
    let open = descriptors(serving);
    let (mut refused, mut served) = (0, 0);
    for more in 1..40 {
        // The lowest free ones are taken first.
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

/// A page holds a random number: that needs no descriptor either.
fn first_page() -> Completion {
    let server = start(&[]);
    at_rest(&server);
    let open = descriptors(serving(&server));
    // One is free: the connection's.
    let free = (0..).find(|number| !open.contains(number)).unwrap();
    let lowered = Lowered::to(free + 1, "nofile", serving(&server));
    let page = server.ask("GET", "/embed?lang=python");
    assert_eq!(page.status, 200, "{page:?}");
    drop(lowered);
    Completion::Completed
}

/// No box can be started; those that run go on.
fn no_process() -> Completion {
    let server = start(&[]);
    assert_serves(&server);
    let before = at_rest(&server);
    let fork_server = fork_server(&server);
    let beside = Bystander::start(&server, "first", 1);
    let lowered = Lowered::to(1, "nproc", fork_server);
    for _ in 0..10 {
        assert_told(&compile(&server, &python("print(1)")), 503);
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
