//! All that is promised to be fast, beside another way to do the same: both are
//! measured in turns. Prints the rows of docs/performance.md.
//!
//! ```text
//! make bench     (or: cargo bench -p sandpiper --bench performance
//!                 [-- FILTER]; needs the images)
//! ```
//!
//! Each step is a process of its own with a deadline: one that fails or hangs
//! is a row that says so, and the others go on. Fails if one did, or if a row
//! is worse than what is asked by half.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::print_stderr, reason = "and all that a failed step said")]
#![expect(clippy::unwrap_used, reason = "a failure is the step's row")]

use std::fs::{self, File};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::sync::LazyLock;

use clap::Parser;
use rustix::process::{Pid, Signal, geteuid, kill_process_group};
use sandpiper_sandbox::{INIT_NAME, init_main};
use sandpiper_testkit::{Server, eventually, image_folder};

mod bare_hyper;
mod boxes;
mod client;
mod languages;
mod products;
mod row;
mod sample;
mod stock;
mod throughput;

use client::Service;
use row::Row;
use sample::Sample;

/// The longest step takes two minutes, on a quiet machine, and fetches npm's
/// packages before if they are not there.
const DEADLINE: &str = "300s";
/// The exit code of a step that was done, and has a row that failed: no panic
/// and no command before it ends so.
const WORSE: u8 = 3;

#[derive(Debug, Parser)]
struct Settings {
    /// Only steps whose names hold this.
    filter: Option<String>,
    /// Serves what is in this folder.
    #[arg(long, hide = true)]
    bare_hyper: Option<PathBuf>,
    /// Measures this step in this process.
    #[arg(long, hide = true)]
    step: Option<String>,
    /// A folder that all steps share.
    #[arg(long, hide = true, default_value = "/")]
    folder: PathBuf,
    /// A server that all steps share, and its metrics.
    #[arg(long, hide = true, num_args = 2)]
    server: Vec<SocketAddr>,
    /// Given by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

/// The things that steps share.
struct Ground {
    folder: PathBuf,
    /// If the step needs it.
    server: Option<Service>,
}

#[derive(Clone, Copy, PartialEq)]
enum Needs {
    Nothing,
    Server,
    /// A server, and a mount namespace of its own.
    ServerAndMounts,
}

type Measure = dyn Fn(&Ground) -> Vec<Row>;

struct Step {
    name: String,
    needs: Needs,
    measure: Box<Measure>,
}

impl Step {
    fn all() -> Vec<Self> {
        let mut steps = Vec::new();
        let mut add = |name, needs, measure: Box<Measure>| {
            steps.push(Self { name, needs, measure });
        };
        let name = "products".to_owned();
        add(name, Needs::Nothing, Box::new(products::measure));
        for what in boxes::OTHERS {
            let measure = |ground: &_| boxes::measure(what, ground);
            let name = format!("boxes: {what}");
            add(name, Needs::Nothing, Box::new(measure));
        }
        for sample in Sample::all() {
            // Boxes that are not ready are made by one who leaves root.
            let needs = match sample.cold_boxes {
                Some(_) => Needs::Server,
                None => Needs::ServerAndMounts,
            };
            let name = sample.name.clone();
            let measure = move |ground: &_| languages::measure(&sample, ground);
            add(name, needs, Box::new(measure));
        }
        for work in &throughput::WORK {
            let measure = |ground: &_| throughput::measure(work, ground);
            let name = format!("throughput: {}", work.sample);
            add(name, Needs::ServerAndMounts, Box::new(measure));
        }
        let name = "throughput: clients".to_owned();
        add(name, Needs::Server, Box::new(throughput::crowds));
        steps
    }
}

fn main() -> ExitCode {
    // In a box this program is its init: nothing may come before.
    if std::env::args_os().next().is_some_and(|name| name == INIT_NAME) {
        init_main();
    }
    let settings = Settings::parse();
    if let Some(folder) = &settings.bare_hyper {
        bare_hyper::serve(folder);
    }
    let all = Step::all();
    if let Some(name) = &settings.step {
        let step = all.iter().find(|step| step.name == *name).unwrap();
        let server = match settings.server[..] {
            [address, admin] => Some(Service { address, admin }),
            _ => None,
        };
        let rows = (step.measure)(&Ground { folder: settings.folder, server });
        rows.iter().for_each(|row| println!("{row}"));
        let has_failed = rows.iter().any(Row::has_failed);
        return if has_failed { WORSE.into() } else { ExitCode::SUCCESS };
    }
    let folder = tempfile::tempdir().unwrap();
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(folder.path(), open).unwrap();
    boxes::make_rootfs(folder.path());
    let server = LazyLock::new(|| {
        let proxy = "--trusted-proxy=127.0.0.1";
        let flags = ["--compile-rate-limit=0", "--output-size=64MiB", proxy];
        let server = Server::spawn(&flags, None);
        // A language that is broken is the row of its own steps.
        eventually("every language was looked at", || {
            !server.ask("GET", "/readyz").text().contains("\"building\"")
        });
        server
    });
    let mut has_failed = false;
    println!("{}", row::HEAD);
    for step in all {
        let filter = settings.filter.as_deref().unwrap_or_default();
        if step.name.contains(filter) {
            let server = (step.needs != Needs::Nothing).then(|| &*server);
            has_failed |= !run(&step, folder.path(), server);
        }
    }
    ExitCode::from(u8::from(has_failed))
}

/// Runs the step to its end, or to its deadline; whether all of it was done and
/// is about as good as asked.
fn run(step: &Step, folder: &Path, server: Option<&Server>) -> bool {
    // No pipes: a process that a step leaves behind would hold them open.
    let [rows, words] = ["rows", "words"].map(|name| folder.join(name));
    let mut command = Command::new("setpriv");
    command.args(["--pdeathsig", "TERM"]);
    command.args(["timeout", "--verbose", "--kill-after=10s", DEADLINE]);
    if step.needs == Needs::ServerAndMounts {
        command.args(["unshare", "--mount"]);
        if !geteuid().is_root() {
            command.args(["--user", "--map-root-user"]);
        }
    }
    command.arg(std::env::current_exe().unwrap());
    command.args(["--step", &step.name, "--folder"]).arg(folder);
    if let Some(server) = server {
        let addresses = [server.address, server.admin];
        command.arg("--server").args(addresses.map(|at| at.to_string()));
    }
    command.stdin(Stdio::null());
    command.stdout(File::create(&rows).unwrap());
    command.stderr(File::create(&words).unwrap());
    // So that the message of a panic is the last that it says.
    command.env("RUST_BACKTRACE", "0");
    // A user who is root only in there would look elsewhere.
    let images = image_folder();
    command.env("SANDPIPER_DATA_DIR", images.parent().unwrap());
    let mut child = command.spawn().unwrap();
    let group = Pid::from_child(&child);
    let status = child.wait().unwrap();
    // timeout(1) leads a group of its own; whatever is left in it ends now.
    let _ = kill_process_group(group, Signal::KILL);
    print!("{}", fs::read_to_string(rows).unwrap());
    if !status.success() && status.code() != Some(WORSE.into()) {
        let words = fs::read_to_string(words).unwrap();
        eprint!("{words}");
        let why = match words.split_once(" panicked at ") {
            Some((_, rest)) => rest.to_owned(),
            None => format!("{status}, within {DEADLINE}: {words}"),
        };
        println!("{}", row::failed(&step.name, &why));
    }
    status.success()
}
