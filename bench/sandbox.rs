//! What a box costs: a static program that does nothing, started bare, in
//! Debian's bubblewrap, and in a box of ours, in turns in one run.
//!
//! ```text
//! make bench        (or: cargo bench -p sandpiper-sandbox --bench sandbox)
//! ```
//!
//! Prints medians in milliseconds and their ratios; asserts nothing. As root
//! our boxes are made by a server that left root, as in service.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::unwrap_used, reason = "a failed step ends the benchmark")]
#![expect(
    clippy::disallowed_methods,
    reason = "the inner process is told by a variable where the root is"
)]

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use sandpiper_sandbox::{BoxSpec, Host, HostSettings, Sandbox, StepSpec, Stop};
use tokio::runtime::Runtime;

const ROUNDS: usize = 300;
const ROOTFS: &str = "SANDPIPER_BENCH_ROOTFS";

fn main() {
    let name = std::env::args().next();
    if name.as_deref() == Some(sandpiper_sandbox::INIT_NAME) {
        sandpiper_sandbox::init_main();
    }
    let Some(rootfs) = std::env::var_os(ROOTFS) else {
        // The process that measures is not root any more and cannot clean up.
        let rootfs = make_rootfs();
        let inner =
            Command::new("/proc/self/exe").env(ROOTFS, rootfs.path()).status();
        assert!(inner.unwrap().success());
        return;
    };
    measure(Path::new(&rootfs));
}

fn measure(rootfs: &Path) {
    let host = Host::prepare(&HostSettings {
        init: PathBuf::from("/proc/self/exe"),
        cgroup: std::env::var_os("SANDPIPER_CGROUP").map(PathBuf::from),
        boxes: 4,
        ahead: 0,
    });
    let host = Arc::new(host.unwrap());
    println!("{}, ids {:?}", host.describe_groups(), host.identity());
    let runtime = Runtime::new().unwrap();
    let has_bubblewrap = Command::new("bwrap")
        .arg("--version")
        .stdout(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    let mut bare = Vec::new();
    let mut bubblewrap = Vec::new();
    let mut ours = Vec::new();
    let mut phases = Vec::new();
    for _ in 0..ROUNDS {
        bare.push(time(|| start_bare(rootfs)));
        if has_bubblewrap {
            bubblewrap.push(time(|| start_in_bubblewrap(rootfs)));
        }
        ours.push(time(|| {
            phases.push(runtime.block_on(start_in_box(&host, rootfs)));
        }));
    }
    let bare = report("bare fork and exec", &mut bare, None);
    let bubblewrap = if has_bubblewrap {
        Some(report("bubblewrap", &mut bubblewrap, Some(bare)))
    } else {
        println!("bubblewrap is not installed: no figure for it");
        None
    };
    let ours = report("a box of ours", &mut ours, Some(bare));
    let phase = |name, of: fn(&Phases) -> Duration| {
        report(name, &mut phases.iter().map(of).collect::<Vec<_>>(), None);
    };
    phase("  making it", |phases| phases.make);
    phase("  running in it", |phases| phases.run);
    phase("  removing it", |phases| phases.destroy);
    println!("a box costs {:.2} ms more than bare", ours - bare);
    if let Some(bubblewrap) = bubblewrap {
        println!("a box takes {:.2} of bubblewrap's time", ours / bubblewrap);
    }
    runtime.block_on(host.close());
}

fn time(what: impl FnOnce()) -> Duration {
    let started = Instant::now();
    what();
    started.elapsed()
}

/// Where the time of one box went.
struct Phases {
    make: Duration,
    run: Duration,
    destroy: Duration,
}

/// Prints the median and quartiles; the median in milliseconds.
fn report(name: &str, times: &mut [Duration], bare: Option<f64>) -> f64 {
    times.sort_unstable();
    let at = |part: usize| {
        times[(times.len() - 1) * part / 4].as_secs_f64() * 1_000.0
    };
    let ratio =
        bare.map_or(String::new(), |bare| format!("  {:.1} x", at(2) / bare));
    println!(
        "{name:<20} {:>7.3} ms  (quartiles {:.3} to {:.3}){ratio}",
        at(2),
        at(1),
        at(3)
    );
    at(2)
}

fn start_bare(rootfs: &Path) {
    let status = Command::new(rootfs.join("bin/nothing")).status();
    assert!(status.unwrap().success());
}

fn start_in_bubblewrap(rootfs: &Path) {
    let status = Command::new("bwrap")
        .args(["--unshare-all", "--die-with-parent", "--new-session"])
        .args(["--clearenv", "--cap-drop", "ALL", "--ro-bind"])
        .arg(rootfs)
        .args(["/", "--proc", "/proc", "--dev", "/dev"])
        .args(["--tmpfs", "/tmp", "--tmpfs", "/box", "--chdir", "/box"])
        .arg("/bin/nothing")
        .status();
    assert!(status.unwrap().success());
}

async fn start_in_box(host: &Arc<Host>, rootfs: &Path) -> Phases {
    let spec = BoxSpec {
        rootfs: rootfs.to_owned(),
        memory_bytes: 512 << 20,
        processes: 128,
        disk_bytes: 128 << 20,
        inodes: 16_384,
    };
    let step = StepSpec {
        command: vec!["/bin/nothing".to_owned()],
        environment: Vec::new(),
        stdin: Vec::new(),
        gate: None,
        artifacts_writable: false,
        wall_time: Duration::from_secs(10),
        cpu_time: Duration::from_secs(10),
        output_bytes: 1 << 20,
        file_bytes: 64 << 20,
        open_files: 1_024,
    };
    let started = Instant::now();
    let mut sandbox = Sandbox::make(host, &spec).await.unwrap();
    let made = started.elapsed();
    let outcome = sandbox.run(&step).await.unwrap();
    assert_eq!(outcome.stop, Stop::Exited(0));
    let ran = started.elapsed();
    // The whole life of a box, its removal included.
    sandbox.destroy().await;
    Phases { make: made, run: ran - made, destroy: started.elapsed() - ran }
}

fn make_rootfs() -> tempfile::TempDir {
    let rootfs = tempfile::tempdir().unwrap();
    let path = rootfs.path();
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).unwrap();
    for folder in ["bin", "dev", "proc", "tmp", "box", "artifacts"] {
        fs::create_dir(path.join(folder)).unwrap();
    }
    let source = path.join("nothing.c");
    fs::write(&source, "int main(void) { return 0; }\n").unwrap();
    let built = Command::new("cc")
        .args(["-static", "-O1", "-o"])
        .arg(path.join("bin/nothing"))
        .arg(&source)
        .status();
    assert!(built.unwrap().success(), "cc cannot build");
    rootfs
}
