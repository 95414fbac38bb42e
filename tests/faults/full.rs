//! Full file systems: temporary folders, the folder of locks, the log.

use libtest_mimic::Completion;

use crate::Fault;
use crate::groups::Group;
use crate::servers::{
    Bystander, Reply, Server, assert_reported, assert_serves, at_rest,
    eventually, kill, parent, process, python, send, sleeper, start,
    start_under,
};
use sandpiper_testkit::program;

pub(crate) const FAULTS: &[(&str, Fault)] = &[
    ("full/temporary-folders", temporary_folders),
    ("full/run-folder", run_folder),
    ("full/run-folder-of-its-own", run_folder_of_its_own),
    ("full/run-folder-without-inodes", run_folder_without_inodes),
    ("full/log", log),
];

/// Executes the rest of its arguments in its own mounts. There, `$1` is a file system
/// with the options `$3` that the command `$2` fills. The program `$4` stays reachable.
const IN_MOUNTS: &str = r#"
    set -eu; place=$1 fill=$2 options=$3 program=$4; shift 4
    exec 9<"$program"
    mkdir -p "$place"; mount -t tmpfs -o "$options" none "$place"
    if [ ! -e "$program" ]; then
        mkdir -p "${program%/*}"; : >"$program"
        mount --no-canonicalize --bind /proc/self/fd/9 "$program"
    fi
    exec 9<&-; cd "$place"; $fill 2>/dev/null || true; cd /; exec "$@""#;

const BYTES: &str = "dd if=/dev/zero of=filling bs=64k";
const NAMES: &str = "touch 1 2 3 4 5 6 7 8 9";

/// Starts a server for which `place` is full.
fn start_with_full(
    place: &str,
    fill: &str,
    options: &str,
    flags: &[&str],
) -> Server {
    let starter = ["unshare", "--mount", "--propagation=private", "sh", "-c"];
    let program = program();
    let program = program.to_str().unwrap();
    let script = [IN_MOUNTS, "sh", place, fill, options, program];
    let starter = [&starter[..], &script].concat();
    let usual = [
        "--languages=python",
        "--compile-rate-limit=0",
        "--trusted-proxy=127.0.0.1",
        "--run-wall-time=600s",
    ];
    let flags = [&usual, flags];
    Server::spawn_under(&starter, &flags.concat(), None)
}

/// A running server needs no temporary files.
fn temporary_folders() -> Completion {
    if let Some(not_seen) = crate::needs_root() {
        return not_seen;
    }
    for place in ["/tmp", "/var/tmp", "/dev/shm"] {
        let server = start_with_full(place, BYTES, "size=256k", &[]);
        server.wait_until_ready();
        assert_serves(&server);
        at_rest(&server);
    }
    Completion::Completed
}

/// The server cannot write the names of its groups into its lock.
fn run_folder() -> Completion {
    if let Some(not_seen) = crate::needs_root() {
        return not_seen;
    }
    let (_group, cgroup) = own_group();
    let server = start_with_full(
        "/run/sandpiper",
        BYTES,
        "mode=755,size=256k",
        &[&cgroup],
    );
    server.wait_until_ready();
    assert_serves(&server);
    let full = "No space left on device";
    assert!(server.begun.contains(full), "{}", server.begun);
    drop(server);
    Completion::Completed
}

/// Returns a control group and the flag that starts servers in it, apart from the
/// servers of other tests.
fn own_group() -> (Group, String) {
    let group = Group::of(&["memory", "pids", "cpu", "cpuacct"]);
    let cgroup = format!("--cgroup={}", group.name());
    (group, cgroup)
}

/// Servers that share the control groups but not this folder still choose
/// different names for their groups.
fn run_folder_of_its_own() -> Completion {
    if let Some(not_seen) = crate::needs_root() {
        return not_seen;
    }
    let (_group, cgroup) = own_group();
    let start = || {
        start_with_full(
            "/run/sandpiper",
            "true",
            "mode=755,size=1m",
            &[&cgroup],
        )
    };
    let first = start();
    first.wait_until_ready();
    let beside = Bystander::start(&first, "first", 1);
    let second = start();
    second.wait_until_ready();
    assert_serves(&second);
    assert_serves(&first);
    beside.goes_on();
    drop(first);
    assert_serves(&second);
    drop(second);
    Completion::Completed
}

/// The server cannot create its lock: programs do not run, everything else works.
fn run_folder_without_inodes() -> Completion {
    if let Some(not_seen) = crate::needs_root() {
        return not_seen;
    }
    let server =
        start_with_full("/run/sandpiper", NAMES, "mode=755,nr_inodes=5", &[]);
    eventually("the engine has looked", || {
        server.ask("GET", "/readyz").text().contains("broken")
    });
    let refused = server.compile(&python("print(1)"));
    refused.assert_failure_about(503, &["no safe sandbox", "doctor"]);
    for path in ["/products", "/embed?lang=python", "/healthz"] {
        assert_eq!(server.ask("GET", path).status, 200, "{path}");
    }
    let full = "No space left on device";
    assert!(server.begun.contains(full), "{}", server.begun);
    drop(server);
    // With an empty folder, the next server starts.
    assert_serves(&start(&[]));
    Completion::Completed
}

/// A server whose log cannot be written still serves: the reader of its standard
/// output ends, and its standard error is full.
fn log() -> Completion {
    let script = "exec \"$@\" > >(sed '/metrics on/q') 2>/dev/full";
    let starter = ["bash", "-c", script, "bash"];
    let server = start_under(&starter, &["--languages=python"], None);
    for _ in 0..3 {
        // This writes a line to the log.
        let (file, request) = sleeper("log");
        let mut run = send(&server, &request, 1);
        eventually("the program runs", || process(&server, &file).is_some());
        kill(parent(process(&server, &file).unwrap()));
        assert_reported(&Reply::read(&mut run), 500);
        assert_serves(&server);
    }
    Completion::Completed
}
