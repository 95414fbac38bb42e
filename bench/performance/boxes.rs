//! The cost of a cold box: a static program that does nothing, started in a box and
//! in other ways.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use sandpiper_sandbox::{
    BoxSpec, Host, HostSettings, Sandbox, StepEnd, StepSpec,
};
use tokio::runtime::Runtime;

use crate::Context;
use crate::row::{Asked, Row, Series, since};

/// The other ways: without isolation, in Debian's bubblewrap, and in the namespaces
/// of a box but nothing more.
pub(crate) const OTHERS: [&str; 3] =
    ["fork and exec", "bubblewrap", "namespaces"];
const ROUNDS: usize = 200;

/// A host that makes boxes.
pub(crate) struct Boxes {
    host: Arc<Host>,
    runtime: Runtime,
    rootfs: PathBuf,
}

impl Boxes {
    /// Sets the host up. No thread may exist yet. Like a server, this drops root.
    pub(crate) fn new(rootfs: &Path) -> Self {
        let host = Host::set_up(&HostSettings {
            // The user that root becomes may not be able to reach the program by
            // its path, for example below a home of mode 0700.
            init: "/proc/self/exe".into(),
            data: std::env::temp_dir(),
            cgroup: None,
            boxes: 4,
            besides: 0,
            leave_terminal: true,
        });
        Self {
            host: Arc::new(host.unwrap()),
            runtime: Runtime::new().unwrap(),
            rootfs: rootfs.to_owned(),
        }
    }

    /// Makes a box, runs the program and removes the box. Returns the time in
    /// milliseconds.
    pub(crate) fn one(&self) -> f64 {
        let (host, rootfs) = (Arc::clone(&self.host), self.rootfs.clone());
        // On a thread of the runtime, like a request.
        let whole = self.runtime.spawn(async move {
            let begun = Instant::now();
            let mut sandbox =
                Sandbox::make(&host, &box_spec(rootfs)).await.unwrap();
            let outcome = sandbox.run(&step_spec()).await.unwrap();
            sandbox.destroy().await;
            let time = since(begun);
            assert_eq!(outcome.end, StepEnd::Exited(0));
            time
        });
        self.runtime.block_on(whole).unwrap()
    }
}

impl Drop for Boxes {
    fn drop(&mut self) {
        self.runtime.block_on(self.host.close());
    }
}

pub(crate) fn measure(what: &str, context: &Context) -> Vec<Row> {
    let boxes = Boxes::new(&context.folder);
    let mut other = other(what, &context.folder);
    let mut theirs = Vec::new();
    let mut ours = Vec::new();
    for _ in 0..ROUNDS {
        let begun = Instant::now();
        let output = other.output().unwrap();
        theirs.push(since(begun));
        assert!(output.status.success(), "{output:?}");
        ours.push(boxes.one());
    }
    vec![Row {
        name: "a program that does nothing, box not ready".to_owned(),
        unit: "ms",
        other: Series::new(what, &theirs),
        ours: Series::new("box of ours", &ours),
        asked: match what {
            "bubblewrap" => Asked::Times(0.8),
            "namespaces" => Asked::Times(1.5),
            _ => Asked::Nothing,
        },
    }]
}

/// Turns this folder into a root filesystem with the program and the folders that
/// boxes mount on.
pub(crate) fn make_rootfs(folder: &Path) {
    for name in ["bin", "dev", "proc", "tmp", "box", "artifacts"] {
        fs::create_dir(folder.join(name)).unwrap();
    }
    let source = folder.join("nothing.c");
    fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    let mut cc = Command::new("cc");
    cc.args(["-static", "-O1", "-o"]).arg(folder.join("bin/nothing"));
    assert!(cc.arg(&source).status().unwrap().success(), "cc cannot build");
}

/// Returns the command with its path, since a search in PATH would take time.
fn other(what: &str, rootfs: &Path) -> Command {
    let nothing = rootfs.join("bin/nothing");
    let mut command = match what {
        "bubblewrap" => Command::new("/usr/bin/bwrap"),
        "namespaces" => Command::new("/usr/bin/unshare"),
        _ => return Command::new(nothing),
    };
    if what == "namespaces" {
        command.args(["--user", "--map-root-user", "--mount", "--pid"]);
        command.args(["--fork", "--net", "--ipc", "--uts", "--cgroup"]);
        command.arg(nothing);
    } else {
        command
            .args(["--unshare-all", "--die-with-parent", "--new-session"])
            .args(["--clearenv", "--cap-drop", "ALL", "--ro-bind"])
            .arg(rootfs)
            .args(["/", "--proc", "/proc", "--dev", "/dev"])
            .args(["--tmpfs", "/tmp", "--tmpfs", "/box", "--chdir", "/box"])
            .arg("/bin/nothing");
    }
    command
}

fn box_spec(rootfs: PathBuf) -> BoxSpec {
    BoxSpec {
        rootfs,
        memory_bytes: 512 << 20,
        processes: 128,
        disk_bytes: 128 << 20,
        inodes: 16_384,
    }
}

fn step_spec() -> StepSpec {
    StepSpec {
        command: vec!["/bin/nothing".to_owned()],
        environment: Vec::new(),
        gate: None,
        stdin: Vec::new(),
        artifacts_writable: false,
        keep_compile_artifacts: None,
        keep_files: None,
        measure_memory: false,
        memory_bytes: None,
        wall_time: Duration::from_secs(10),
        cpu_time: Duration::from_secs(10),
        output_bytes: 1 << 20,
        file_bytes: 64 << 20,
        open_files: 1_024,
    }
}
