//! Measures every operation that is promised to be fast, in turns with another way
//! to do the same. Prints the rows of docs/performance.md.
//!
//! ```text
//! make bench     (or: cargo bench -p sandpiper --bench performance
//!                 [-- FILTER]; needs the images)
//! ```
//!
//! Each step is a process with a deadline. If one fails or hangs, its row says so,
//! and the others still run. Fails if a step did, or if a result is more than half
//! worse than its target, unless that is for quicker machines.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::print_stderr, reason = "and all that a failed step said")]
#![expect(clippy::unwrap_used, reason = "a failure is the step's row")]

use std::ffi::OsString;
use std::fs;
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::panic::catch_unwind;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::LazyLock;

use clap::Parser;
use rustix::process::geteuid;
use sandpiper_sandbox::{INIT_NAME, init_main};
use sandpiper_testkit::{Server, eventually, step};

mod boxes;
mod client;
mod fleet;
mod languages;
mod live;
mod products;
mod row;
mod sample;
mod stock;
mod throughput;

use client::Target;
use row::Row;
use sample::Sample;

/// The longest step takes two minutes on a quiet machine, and more if it must first
/// fetch packages from npm.
const DEADLINE: &str = "300s";

#[derive(Debug, Parser)]
struct Settings {
    /// Run only steps whose names contain this.
    filter: Option<String>,
    /// Measure this step in this process.
    #[arg(long, hide = true)]
    step: Option<String>,
    /// Folder that all steps share.
    #[arg(long, hide = true, default_value = "/")]
    folder: PathBuf,
    /// Addresses of the server that all steps share, and of its metrics.
    #[arg(long, hide = true, num_args = 2)]
    server: Vec<SocketAddr>,
    /// Passed by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

/// The context of a step.
struct Context {
    folder: PathBuf,
    /// If the step needs it.
    server: Option<Target>,
}

#[derive(Clone, Copy, PartialEq)]
enum Needs {
    Nothing,
    Server,
    /// A server, and a mount namespace of its own.
    ServerAndMounts,
}

type Measure = dyn Fn(&Context) -> Vec<Row>;

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
            let measure = |context: &_| boxes::measure(what, context);
            let name = format!("boxes: {what}");
            add(name, Needs::Nothing, Box::new(measure));
        }
        for sample in Sample::all() {
            // Cold boxes are made in this process, which drops root for that.
            let needs = match sample.cold_boxes {
                Some(_) => Needs::Server,
                None => Needs::ServerAndMounts,
            };
            let name = sample.name.clone();
            let measure =
                move |context: &_| languages::measure(&sample, context);
            add(name, needs, Box::new(measure));
        }
        add("live".to_owned(), Needs::Server, Box::new(live::measure));
        for work in &throughput::WORK {
            let measure = |context: &_| throughput::measure(work, context);
            let name = format!("throughput: {}", work.sample);
            add(name, Needs::ServerAndMounts, Box::new(measure));
        }
        let name = "throughput: clients".to_owned();
        add(name, Needs::Server, Box::new(throughput::many_clients));
        for (name, measure) in fleet::STEPS {
            add((*name).to_owned(), Needs::Nothing, Box::new(measure));
        }
        steps
    }
}

fn main() -> ExitCode {
    // Inside a box this program is init: nothing may run before this.
    if std::env::args_os().next().is_some_and(|name| name == INIT_NAME) {
        init_main();
    }
    let settings = Settings::parse();
    let all = Step::all();
    if let Some(name) = &settings.step {
        let step = all.iter().find(|step| step.name == *name).unwrap();
        let server = match settings.server[..] {
            [address, admin] => Some(Target { address, admin }),
            _ => None,
        };
        let rows = (step.measure)(&Context { folder: settings.folder, server });
        rows.iter().for_each(|row| println!("{row}"));
        return step::exit_code(rows.iter().any(Row::has_failed));
    }
    let folder = tempfile::tempdir().unwrap();
    let open = fs::Permissions::from_mode(0o755);
    fs::set_permissions(folder.path(), open).unwrap();
    // A failure of these two is a row for each step that needs them.
    let _ = catch_unwind(|| boxes::make_rootfs(folder.path()));
    let server = LazyLock::new(|| catch_unwind(start_server).ok());
    let mut has_failed = false;
    println!("{}", row::HEAD);
    for step in all {
        let filter = settings.filter.as_deref().unwrap_or_default();
        if step.name.contains(filter) {
            let server = match step.needs {
                Needs::Nothing => None,
                _ => server.as_ref(),
            };
            has_failed |= !run(&step, folder.path(), server);
        }
    }
    ExitCode::from(u8::from(has_failed))
}

/// Starts the server that steps share.
fn start_server() -> Server {
    let flags = [
        "--compile-rate-limit=0",
        "--output-size=64MiB",
        "--languages=all",
        "--trusted-proxy=127.0.0.1",
    ];
    let server = Server::spawn(&flags, None);
    // If a language is broken, its own steps fail.
    eventually("every language was looked at", || {
        !server.ask("GET", "/readyz").text().contains("\"building\"")
    });
    server
}

/// Runs the step and prints its rows. Returns whether it finished and about reached
/// its target.
fn run(step: &Step, folder: &Path, server: Option<&Server>) -> bool {
    let mut command = Vec::<OsString>::new();
    if step.needs == Needs::ServerAndMounts {
        command.extend(["unshare", "--mount"].map(Into::into));
        if !geteuid().is_root() {
            command.extend(["--user", "--map-root-user"].map(Into::into));
        }
    }
    command.push(std::env::current_exe().unwrap().into());
    command.extend(["--step", &step.name, "--folder"].map(Into::into));
    command.push(folder.into());
    if let Some(server) = server {
        command.push("--server".into());
        let addresses = [server.address, server.admin];
        command.extend(addresses.map(|at| at.to_string().into()));
    }
    let ended = step::run(DEADLINE, command);
    print!("{}", String::from_utf8_lossy(&ended.stdout));
    if let Some(why) = step::failure(&ended) {
        eprint!("{}", String::from_utf8_lossy(&ended.stderr));
        println!("| {} | | | | | **failed**: {why} |", step.name);
    }
    ended.status.success()
}
