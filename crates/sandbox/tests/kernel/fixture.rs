//! The host that is set up, and the root filesystem that all kernel tests share.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::time::Duration;

use sandpiper_sandbox::{
    Attachment, BoxFile, BoxSpec, Host, HostSettings, Inputs, Sandbox,
    StepOutcome, StepSpec,
};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tokio::time::timeout;

pub(crate) const MIB: u64 = 1 << 20;
/// Longer than any step of these tests takes. Only a failure reaches it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Fixture {
    pub(crate) host: Arc<Host>,
    pub(crate) runtime: Runtime,
    pub(crate) rootfs: PathBuf,
}

/// The variable with the path of the root filesystem for the inner process.
pub(crate) const ROOTFS: &str = "SANDPIPER_TEST_ROOTFS";

/// Makes a root filesystem, runs this program again with it, and removes it. The
/// inner process could not remove it, because it is not root any more.
pub(crate) fn run_with_rootfs() -> ExitCode {
    let rootfs = make_rootfs();
    let status = Command::new("/proc/self/exe")
        .args(std::env::args().skip(1))
        .env(ROOTFS, rootfs.path())
        .status()
        .expect("this program runs");
    ExitCode::from(u8::try_from(status.code().unwrap_or(1)).unwrap_or(1))
}

impl Fixture {
    pub(crate) fn set_up(rootfs: PathBuf) -> Self {
        let settings = HostSettings {
            data: std::env::temp_dir(),
            init: PathBuf::from("/proc/self/exe"),
            cgroup: std::env::var_os("SANDPIPER_CGROUP").map(PathBuf::from),
            boxes: 4,
            besides: 0,
            leave_terminal: true,
        };
        let host = Host::set_up(&settings).expect("a host that can sandbox");
        let runtime = Runtime::new().expect("a runtime");
        Self { host: Arc::new(host), runtime, rootfs }
    }

    /// Describes the user and the limits with which the tests run.
    pub(crate) fn describe(&self) -> String {
        let has = self.host.controllers();
        format!(
            "kernel tests as uid {}, ids {:?}, {}: memory {}, processes {}, \
             cpu time {}",
            rustix::process::geteuid().as_raw(),
            self.host.identity(),
            self.host.describe_groups(),
            has.memory,
            has.processes,
            has.cpu_time,
        )
    }

    /// Prints that a test shows less here, and the reason.
    pub(crate) fn cannot(&self, what: &str) {
        println!("NOT SHOWN: without control groups nothing can {what} here");
        assert!(
            std::env::var_os("SANDPIPER_NEEDS_LIMITS").is_none(),
            "this run was promised control groups, and cannot {what}"
        );
    }

    /// Waits until every box is gone.
    pub(crate) fn close(&self) {
        let closed = async { timeout(PATIENCE, self.host.close()).await };
        self.runtime.block_on(closed).expect("no box is left");
    }

    pub(crate) fn box_spec(&self) -> BoxSpec {
        BoxSpec {
            rootfs: self.rootfs.clone(),
            memory_bytes: 128 * MIB,
            processes: 32,
            disk_bytes: 32 * MIB,
            inodes: 1_000,
        }
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> StepOutcome {
        self.run_step(self.box_spec(), step(arguments), Vec::new())
    }

    pub(crate) fn run_step(
        &self,
        spec: BoxSpec,
        step: StepSpec,
        files: Vec<BoxFile>,
    ) -> StepOutcome {
        self.runtime.block_on(async {
            let mut sandbox =
                Sandbox::make(&self.host, &spec).await.expect("a box");
            let inputs = Inputs { files: &files, compile_artifacts: &[] };
            let mut attachment = Attachment::default();
            let running = sandbox.run_with(&step, inputs, &mut attachment);
            // Perhaps the limit under test does not work.
            let ended = timeout(2 * PATIENCE, running).await;
            let outcome = ended.expect("an end").expect("an outcome");
            sandbox.destroy().await;
            outcome
        })
    }
}

pub(crate) fn step(arguments: &[&str]) -> StepSpec {
    let mut command = vec!["/bin/probe".to_owned()];
    command.extend(arguments.iter().map(|&a| a.to_owned()));
    StepSpec {
        command,
        environment: vec![("KEY".to_owned(), "value".to_owned())],
        stdin: Vec::new(),
        gate: None,
        artifacts_writable: false,
        keep_compile_artifacts: None,
        keep_files: None,
        measure_memory: false,
        memory_bytes: None,
        wall_time: PATIENCE,
        cpu_time: PATIENCE,
        output_bytes: MIB,
        file_bytes: 8 * MIB,
        open_files: 64,
    }
}

fn make_rootfs() -> TempDir {
    let rootfs = tempfile::tempdir().expect("a folder");
    let path = rootfs.path();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    for folder in ["bin", "dev", "proc", "tmp", "box", "artifacts"] {
        fs::create_dir(path.join(folder)).unwrap();
    }
    let sources = ["probe.c", "probe_limits.c", "probe_left.c"].map(|name| {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kernel").join(name)
    });
    let built = Command::new("cc")
        .args(["-static", "-O1", "-pthread", "-o"])
        .arg(path.join("bin/probe"))
        .args(sources)
        .status()
        .expect("cc");
    assert!(built.success(), "cc cannot build probe.c");
    rootfs
}
