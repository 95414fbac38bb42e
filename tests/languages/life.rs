//! How a server begins: without privilege, and not without limits.

use std::fs;

use crate::Case;
use crate::service::{self, Server, compile};
use sandpiper_testkit::eventually;

/// The children of a process's first thread: as root, the server proper.
fn children(pid: i32) -> Vec<i32> {
    let path = format!("/proc/{pid}/task/{pid}/children");
    let text = fs::read_to_string(path).unwrap();
    text.split_whitespace().map(|pid| pid.parse().unwrap()).collect()
}

/// Started as root or not: the process that parses HTTP has nothing to lose.
#[test]
#[ignore = "needs the images: make test"]
fn the_server_has_no_privilege() {
    let server = service::start_python(&[]);
    // The parent, if there is one, is the one that stays root.
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
#[ignore = "needs the images: make test"]
fn nothing_runs_without_limits_unless_allowed() {
    let flags = ["--languages=python", "--cgroup=no-such/group"];
    let server = Server::spawn(&flags, None);
    let program = Case::new("python", &[("m.py", "print(1)")]).request();
    eventually("the engine has looked", || {
        server.ask("GET", "/readyz").text().contains("broken")
    });
    let refused = server.compile(&program);
    refused.assert_failure_about(503, &["no safe sandbox", "doctor"]);
    assert!(!refused.text().contains("no-such"), "{}", refused.text());
    for path in ["/products", "/embed?lang=python", "/healthz"] {
        assert_eq!(server.ask("GET", path).status, 200, "{path}");
    }
    let allowed = service::start_python(&[
        "--cgroup=no-such/group",
        "--allow-missing-limits",
    ]);
    compile(&allowed, &program).prints("1\n");
}
