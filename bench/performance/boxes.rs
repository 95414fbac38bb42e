//! What a box costs: a static program that does nothing, started bare, in
//! Debian's bubblewrap, by crun, by the same system calls alone, and in a box
//! of ours that is not ready.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sandpiper_sandbox::{BoxSpec, Host, HostSettings, Sandbox, StepSpec, Stop};
use tempfile::TempDir;
use tokio::runtime::Runtime;

use crate::floor::Floor;
use crate::row::{Bound, Row, Series, Unit};
use sandpiper_testkit::program;

const ROUNDS: usize = 200;
/// What the row of a whole box is called.
pub(crate) const COLD_BOX: &str = "a program that does nothing, box not ready";
/// What a box may cost on top of starting the program.
const BOX_MS: f64 = 2.0;
/// How much of bubblewrap's time it may take.
const OF_BUBBLEWRAP: f64 = 0.8;

/// A language's starter has to print something.
const NOTHING: &str = r#"#include <unistd.h>
int main(int count, char **words) {
    return count > 1 && words[1][0] == '1' && write(1, "1\n", 2) != 2;
}
"#;

/// The phases of one box.
pub(crate) struct Phases {
    make: Duration,
    run: Duration,
    remove: Duration,
}

/// A way to start the program that is not ours; `None` where it cannot be had.
struct Other {
    what: &'static str,
    start: Box<dyn Fn() -> Output>,
    times: Vec<Duration>,
}

/// To be called before there is any thread: as root, our boxes are made by a
/// server that left root, as in service.
pub(crate) fn measure(rootfs: &Path) -> Vec<Row> {
    // Before root is given up.
    let floor = Floor::start(rootfs);
    let host = host();
    let runtime = Runtime::new().unwrap();
    let state = tempfile::tempdir().unwrap();
    let mut others = others(rootfs, state.path(), floor);
    others.retain(Other::can_be_had);
    let mut phases = Vec::new();
    for _ in 0..ROUNDS {
        for other in &mut others {
            let begun = Instant::now();
            let output = (other.start)();
            other.times.push(begun.elapsed());
            assert!(output.status.success(), "{output:?}");
        }
        // On a thread of the runtime, as a request is served.
        let rootfs = rootfs.to_owned();
        let in_box = start_in_box(Arc::clone(&host), rootfs, || ());
        phases.push(runtime.block_on(runtime.spawn(in_box)).unwrap());
    }
    runtime.block_on(host.close());
    rows(&others, &phases)
}

fn rows(others: &[Other], phases: &[Phases]) -> Vec<Row> {
    let row = |name: &str, of: fn(&Phases) -> Duration| Row {
        name: name.to_owned(),
        unit: Unit::Milliseconds,
        ours: Series::of_times(
            "box of ours",
            &phases.iter().map(of).collect::<Vec<_>>(),
        ),
        other: None,
        bound: Bound::Nothing,
    };
    let whole =
        row(COLD_BOX, |phases| phases.make + phases.run + phases.remove);
    let beside = |other: &Other| Row {
        other: Some(Series::of_times(other.what, &other.times)),
        bound: match other.what {
            "fork and exec" => Bound::More(BOX_MS),
            "bubblewrap" => Bound::Times(OF_BUBBLEWRAP),
            _ => Bound::Nothing,
        },
        ..whole.clone()
    };
    let mut rows: Vec<Row> = others.iter().map(beside).collect();
    rows.push(row("of it, making the box", |phases| phases.make));
    rows.push(row("of it, running in it", |phases| phases.run));
    rows.push(row("of it, removing it", |phases| phases.remove));
    rows
}

fn others(rootfs: &Path, state: &Path, floor: Floor) -> Vec<Other> {
    let nothing = rootfs.join("bin/nothing");
    let bare = move || Command::new(&nothing).output().unwrap();
    // By their paths: looking for them would cost time.
    let mut bubblewrap = Command::new("/usr/bin/bwrap");
    bubblewrap
        .args(["--unshare-all", "--die-with-parent", "--new-session"])
        .args(["--clearenv", "--cap-drop", "ALL", "--ro-bind"])
        .arg(rootfs)
        .args(["/", "--proc", "/proc", "--dev", "/dev"])
        .args(["--tmpfs", "/tmp", "--tmpfs", "/box", "--chdir", "/box"])
        .arg("/bin/nothing");
    let mut crun = Command::new("/usr/bin/crun");
    write_bundle(rootfs, state);
    crun.arg("--root").arg(state).arg("--cgroup-manager=disabled");
    crun.args(["run", "--bundle"]).arg(state).arg("box");
    vec![
        Other::new("fork and exec", bare),
        Other::of_command("bubblewrap", bubblewrap),
        Other::of_command("crun", crun),
        Other::new("the calls alone, in C", move || floor.one_box()),
    ]
}

impl Other {
    fn new(what: &'static str, start: impl Fn() -> Output + 'static) -> Self {
        Self { what, start: Box::new(start), times: Vec::new() }
    }

    fn of_command(what: &'static str, command: Command) -> Self {
        let command = std::cell::RefCell::new(command);
        Self::new(what, move || {
            command.borrow_mut().output().unwrap_or_else(|error| Output {
                status: std::os::unix::process::ExitStatusExt::from_raw(1 << 8),
                stdout: Vec::new(),
                stderr: error.to_string().into_bytes(),
            })
        })
    }

    fn can_be_had(&self) -> bool {
        let output = (self.start)();
        let is_there = output.status.success();
        if !is_there {
            let why = String::from_utf8_lossy(&output.stderr);
            eprintln!("no figures for {}: {}", self.what, why.trim());
        }
        is_there
    }
}

/// Where boxes are made. To be called before there is any thread.
pub(crate) fn host() -> Arc<Host> {
    let host = Host::prepare(&HostSettings {
        init: program(),
        cgroup: None,
        boxes: 4,
        besides: 0,
    });
    Arc::new(host.unwrap())
}

/// Calls `passed` before each phase, and after the last.
pub(crate) async fn start_in_box(
    host: Arc<Host>,
    rootfs: PathBuf,
    passed: fn(),
) -> Phases {
    let spec = BoxSpec {
        rootfs,
        memory_bytes: 512 << 20,
        processes: 128,
        disk_bytes: 128 << 20,
        inodes: 16_384,
    };
    let step = StepSpec {
        command: vec!["/bin/nothing".to_owned()],
        environment: Vec::new(),
        gate: None,
        stdin: Vec::new(),
        artifacts_writable: false,
        keep_artifacts: None,
        wall_time: Duration::from_secs(10),
        cpu_time: Duration::from_secs(10),
        output_bytes: 1 << 20,
        file_bytes: 64 << 20,
        open_files: 1_024,
    };
    passed();
    let begun = Instant::now();
    let mut sandbox = Sandbox::make(&host, &spec).await.unwrap();
    let make = begun.elapsed();
    passed();
    let outcome = sandbox.run(&step).await.unwrap();
    assert_eq!(outcome.stop, Stop::Exited(0));
    let run = begun.elapsed() - make;
    passed();
    // The whole life of a box, its removal included.
    sandbox.destroy().await;
    let remove = begun.elapsed() - make - run;
    passed();
    Phases { make, run, remove }
}

/// A root filesystem with a static program that does nothing, and the folders
/// that boxes mount on.
pub(crate) fn make_rootfs() -> TempDir {
    let rootfs = tempfile::tempdir().unwrap();
    let path = rootfs.path();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    for folder in ["bin", "dev", "proc", "tmp", "box", "artifacts"] {
        fs::create_dir(path.join(folder)).unwrap();
    }
    let source = path.join("nothing.c");
    fs::write(&source, NOTHING).unwrap();
    let built = Command::new("cc")
        .args(["-static", "-O1", "-o"])
        .arg(path.join("bin/nothing"))
        .arg(&source)
        .status();
    assert!(built.unwrap().success(), "cc cannot build");
    Floor::build(path);
    rootfs
}

/// What an OCI runtime reads: the same namespaces and mounts, as root of a
/// user namespace in which nobody else is.
fn write_bundle(rootfs: &Path, bundle: &Path) {
    let own = |id: u32| {
        let one =
            serde_json::json!({"containerID": 0, "hostID": id, "size": 1});
        [one]
    };
    let mount = |kind: &str, on: &str| {
        let source = kind;
        serde_json::json!({"destination": on, "type": kind, "source": source})
    };
    let namespaces = ["pid", "network", "ipc", "uts", "user", "mount"]
        .map(|kind| serde_json::json!({"type": kind}));
    let config = serde_json::json!({
        "ociVersion": "1.0.0",
        "process": {
            "user": {"uid": 0, "gid": 0},
            "args": ["/bin/nothing"],
            "cwd": "/box",
            "noNewPrivileges": true,
        },
        "root": {"path": rootfs, "readonly": true},
        "mounts": [
            mount("proc", "/proc"),
            mount("tmpfs", "/dev"),
            mount("tmpfs", "/tmp"),
            mount("tmpfs", "/box"),
        ],
        "linux": {
            "uidMappings": own(rustix::process::geteuid().as_raw()),
            "gidMappings": own(rustix::process::getegid().as_raw()),
            "namespaces": namespaces,
        },
    });
    fs::write(bundle.join("config.json"), config.to_string()).unwrap();
}
