//! Servers that die and servers beside each other: nothing of a dead one
//! stays, and nothing of a live one is touched.

use std::fs;
use std::net::TcpStream;
use std::path::PathBuf;

use rustix::process::{Pid, Signal, kill_process};

use crate::Case;
use crate::service::{self, Server, compile};
use sandpiper_testkit::eventually;
use sandpiper_testkit::traces::groups_of;

/// A program that sleeps longer than any test, and the name of its file by
/// which its processes are found.
struct Sleeper {
    name: String,
    connection: TcpStream,
}

impl Sleeper {
    /// Sends it and waits until it runs.
    fn start(server: &Server, name: &str) -> Self {
        let name = format!("{name}-{}.py", std::process::id());
        // A launcher that waited was started without the name.
        let source = format!(
            "import os\nos.fork()\nos.execlp('sleep', '{name}', '1000')"
        );
        let request = serde_json::json!({
            "language": "python",
            "entryFile": name,
            "files": [{"path": name, "content": source}],
        });
        let connection = service::send_and_leave(server, &request);
        let sleeper = Self { name, connection };
        eventually("the program runs", || sleeper.processes().len() == 2);
        sleeper
    }

    /// Its processes, by what they were started with.
    fn processes(&self) -> Vec<i32> {
        let all = fs::read_dir("/proc").unwrap().flatten();
        all.filter_map(|entry| {
            let pid = entry.file_name().to_str()?.parse().ok()?;
            let arguments = fs::read(entry.path().join("cmdline")).ok()?;
            let arguments = String::from_utf8_lossy(&arguments);
            arguments.contains(&self.name).then_some(pid)
        })
        .collect()
    }

    /// The folders of its control groups.
    fn groups(&self) -> Vec<PathBuf> {
        groups_of(self.processes()[0])
    }
}

/// The children of a process's first thread: as root, the server proper.
fn children(pid: i32) -> Vec<i32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = fs::read_to_string(path).unwrap();
    text.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

fn kill_now(pid: i32) {
    kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
}

#[test]
fn nothing_is_left_of_a_server_that_was_killed() {
    let beside = service::start(&["--run-wall-time=600s"]);
    let other = Sleeper::start(&beside, "beside");
    let server = service::start(&["--run-wall-time=600s"]);
    let sleeper = Sleeper::start(&server, "killed");
    let groups = sleeper.groups();
    assert!(!groups.is_empty(), "the box is in no group");
    // All of it: the parent that stayed root, and the server.
    let first = server.pid();
    for pid in children(first).into_iter().chain([first]) {
        kill_now(pid);
    }
    eventually("its programs end", || sleeper.processes().is_empty());
    drop(server);
    // The next start removes the groups that nobody could, and not those of
    // the server beside it.
    // It makes no box ahead: that could have the name of one that is gone.
    let next = service::start(&["--warm-memory=0"]);
    for group in groups {
        assert!(!group.exists(), "{} is left", group.display());
    }
    assert_eq!(other.processes().len(), 2, "the other server was touched");
    compile(&next, &Case::new("python", &[("m.py", "print(1)")]).request())
        .prints("1\n");
    drop(other.connection);
    drop(sleeper.connection);
}

#[test]
fn a_server_that_ends_in_order_leaves_nothing() {
    let server = service::start(&["--run-wall-time=600s", "--drain-time=1s"]);
    let sleeper = Sleeper::start(&server, "drained");
    let groups = sleeper.groups();
    assert!(!groups.is_empty(), "the box is in no group");
    drop(server);
    assert!(sleeper.processes().is_empty(), "its program is left");
    for group in groups {
        assert!(!group.exists(), "{} is left", group.display());
    }
}

/// Started as root or not: what parses HTTP has nothing to lose.
#[test]
fn the_server_has_no_privilege() {
    let server = service::start(&[]);
    // The parent, where there is one, is the one that stays root.
    let started = server.pid();
    let serving = children(started).first().copied().unwrap_or(started);
    let path = format!("/proc/{serving}/status");
    let status = fs::read_to_string(path).unwrap();
    let field = |name: &str| {
        let line = status.lines().find(|line| line.starts_with(name));
        line.unwrap().split_whitespace().skip(1).collect::<Vec<_>>()
    };
    assert!(!field("Uid:").contains(&"0"), "{status}");
    assert!(!field("Gid:").contains(&"0"), "{status}");
    for set in ["CapInh:", "CapPrm:", "CapEff:", "CapAmb:"] {
        assert_eq!(field(set), ["0000000000000000"], "{set}");
    }
    assert_eq!(field("NoNewPrivs:"), ["1"]);
}

/// A group that is not there: the server can limit nothing.
#[test]
fn nothing_runs_without_limits_unless_told() {
    let flags = ["--compile-rate-limit=0", "--cgroup=no-such/group"];
    let server = Server::spawn(&flags, None);
    let program = Case::new("python", &[("m.py", "print(1)")]).request();
    let json = ["Content-Type: application/json"];
    eventually("the engine has looked", || {
        server.ask("GET", "/readyz").text().contains("broken")
    });
    let refused =
        server.send("POST", "/api/compile", &json, program.to_string());
    refused.assert_failure_about(503, &["no safe sandbox", "doctor"]);
    assert!(!refused.text().contains("no-such"), "{}", refused.text());
    for path in ["/products", "/embed?lang=python", "/healthz"] {
        assert_eq!(server.ask("GET", path).status, 200, "{path}");
    }
    let told =
        service::start(&["--cgroup=no-such/group", "--allow-missing-limits"]);
    compile(&told, &program).prints("1\n");
}
