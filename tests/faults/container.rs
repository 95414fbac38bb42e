//! A server in a small container: its control group gives server and boxes less
//! than they may use together.

use std::fs;

use libtest_mimic::Completion;

use crate::Fault;
use crate::groups::Group;
use crate::servers::{
    Bystander, Server, assert_serves, at_rest, python, ran, start_under,
};

pub(crate) const FAULTS: &[(&str, Fault)] = &[
    ("container/memory", memory),
    ("container/processes", processes),
    ("container/threads", threads),
];

/// Enters the group `$1`, and executes the rest of its arguments. Without the
/// variable, boxes get their groups inside this one. All groups are mounted a second
/// time, at `$2`.
const IN_GROUP: &str = r#"
    set -eu; procs=$1 place=$2; shift 2; unset SANDPIPER_CGROUP
    mount --rbind /sys/fs/cgroup "$place"; echo 0 >"$procs"; exec "$@""#;

/// Starts a server of this language in the group.
fn start_in(group: &Group, language: &str) -> Server {
    let procs = group.file(&["cgroup.procs"]);
    let place = tempfile::tempdir().unwrap();
    let starter = ["unshare", "--mount", "--propagation=private", "sh", "-c"];
    let script = [
        IN_GROUP,
        "sh",
        procs.to_str().unwrap(),
        &place.path().display().to_string(),
    ];
    let languages = format!("--languages={language}");
    let starter = [&starter[..], &script].concat();
    start_under(&starter, &[&languages, "--boxes=4"], Some(place))
}

/// The container has less memory than two boxes may use. A program that uses too
/// much is killed, and the programs beside it go on.
fn memory() -> Completion {
    if let Some(not_seen) = crate::needs_root() {
        return not_seen;
    }
    let group = Group::of(&["memory"]);
    group.set(&["memory.limit_in_bytes", "memory.max"], 384 << 20);
    let server = start_in(&group, "python");
    let before = at_rest(&server);
    for _ in 0..3 {
        let beside = Bystander::start(&server, "beside", 1);
        let greedy = "x = b'x' * (450 << 20)\nprint('had it')";
        let greedy = server.compile(&python(greedy));
        assert_eq!(
            greedy.header("sandpiper-exit"),
            Some("stage=run; limit=memory")
        );
        beside.goes_on();
        assert_serves(&server);
    }
    assert_eq!(at_rest(&server), before);
    // The box was allowed 512 MiB.
    let reported = "a program that was within its memory limit";
    assert_eq!(server.into_log().matches(reported).count(), 3);
    Completion::Completed
}

/// The limit on processes rises by one each time, so that in turn init, pid 1 and
/// the program cannot be started.
fn processes() -> Completion {
    if let Some(not_seen) = crate::needs_root() {
        return not_seen;
    }
    let group = Group::of(&["pids"]);
    let server = start_in(&group, "python");
    let before = at_rest(&server);
    let used = in_use(&group);
    let mut refused = 0;
    let mut has_run = false;
    while !has_run {
        let more = refused;
        group.set(&["pids.max"], used + more);
        has_run = ran(&server);
        refused += u64::from(!has_run);
        assert_eq!(server.ask("GET", "/products").status, 200);
        group.set(&["pids.max"], 10_000);
        assert_serves(&server);
        assert_eq!(at_rest(&server), before, "{more} processes");
        // A thread of the server may be missing as well.
        assert!(more < 6, "it never runs");
    }
    assert!(refused >= 3, "{refused} refused");
    drop(server);
    Completion::Completed
}

/// The container gives a server no further thread. It still looks for a framework,
/// which needs a thread for blocking work.
fn threads() -> Completion {
    if let Some(not_seen) = crate::needs_root() {
        return not_seen;
    }
    let group = Group::of(&["pids"]);
    let server = start_in(&group, "react");
    let before = at_rest(&server);
    group.set(&["pids.max"], in_use(&group));
    let missing = server.ask("GET", "/embed/assets/framework-react-0.js");
    assert_eq!(missing.status, 404);
    group.set(&["pids.max"], 10_000);
    assert_eq!(at_rest(&server), before);
    drop(server);
    Completion::Completed
}

/// Returns the number of processes and threads in the group.
fn in_use(group: &Group) -> u64 {
    let used = fs::read_to_string(group.file(&["pids.current"])).unwrap();
    used.trim().parse().unwrap()
}
