//! Where the time of one run, and of one box that is not ready, goes: traces
//! of single ones on a machine that does nothing else.
//!
//! ```text
//! make profile     (or: cargo bench -p sandpiper --bench profile; needs
//!                   Debian's linux-perf, and root)
//! ```
//!
//! Writes what it finds into docs/performance.md.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::print_stderr, reason = "and says what it cannot measure")]
#![expect(clippy::unwrap_used, reason = "a failed step ends the benchmark")]

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::sync::Arc;
use std::thread::sleep;
use std::time::Duration;

use clap::Parser;

#[path = "performance/boxes.rs"]
#[allow(dead_code, reason = "shared with the other benchmark")]
mod boxes;
#[path = "performance/client.rs"]
#[allow(dead_code, reason = "shared with the other benchmark")]
mod client;
#[path = "profile/event.rs"]
mod event;
#[allow(dead_code, reason = "shared with other benchmarks")]
mod figures;
#[path = "performance/floor.rs"]
#[allow(dead_code, reason = "shared with the other benchmark")]
mod floor;
#[path = "../tests/image_folder.rs"]
mod image_folder;
#[path = "performance/nothing.rs"]
#[allow(dead_code, reason = "shared with the other benchmark")]
mod nothing;
#[path = "../tests/api/reply.rs"]
#[allow(dead_code, reason = "shared with the tests, which use more")]
mod reply;
#[path = "performance/row.rs"]
#[allow(dead_code, reason = "shared with the other benchmark")]
mod row;
#[path = "../tests/api/server.rs"]
#[allow(dead_code, reason = "shared with the tests, which use more")]
mod server;
#[path = "profile/spent.rs"]
mod spent;
#[path = "profile/steps.rs"]
mod steps;
#[path = "profile/table.rs"]
mod table;
#[path = "profile/trace.rs"]
mod trace;
#[path = "../tests/traces.rs"]
#[allow(dead_code, reason = "shared with the tests, which use more")]
mod traces;
#[path = "profile/window.rs"]
mod window;

use client::Asked;
use event::mark;
use table::median;
use window::Window;

/// How many are traced.
const ROUNDS: usize = 50;
/// Those before, which fill the host's caches.
const FIRST: usize = 5;
/// Until the machine does nothing else.
const REST: Duration = Duration::from_millis(50);

#[derive(Debug, Parser)]
struct Settings {
    /// Serves, as in the other benchmark.
    #[arg(long, hide = true)]
    serve_nothing: Option<PathBuf>,
    /// Sends requests to this server, and marks them.
    #[arg(long, hide = true, num_args = 2)]
    ask: Vec<SocketAddr>,
    /// Starts this program bare, and marks it as well.
    #[arg(long, hide = true, requires = "ask")]
    bare: Option<PathBuf>,
    /// Makes boxes of this root filesystem, and marks them.
    #[arg(long, hide = true)]
    rootfs: Option<PathBuf>,
    /// Given by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    let settings = Settings::parse();
    if let Some(rootfs) = &settings.serve_nothing {
        nothing::serve(rootfs);
        return ExitCode::SUCCESS;
    }
    if let [address, admin] = settings.ask[..] {
        ask(Asked { address, admin });
        settings.bare.iter().for_each(|program| start_bare(program));
        return ExitCode::SUCCESS;
    }
    if let Some(rootfs) = &settings.rootfs {
        make_boxes(rootfs);
        return ExitCode::SUCCESS;
    }
    if let Err(why) = trace::can_be_had() {
        eprintln!("{why}");
        return ExitCode::FAILURE;
    }
    let origin = figures::origin();
    let rootfs = boxes::make_rootfs();
    let text = format!(
        "{origin}. Medians of {ROUNDS}, a static program that does nothing; \
         tracing makes each slower.\n\n{}\n{}",
        of_requests(rootfs.path()),
        of_boxes(rootfs.path()),
    );
    println!("{text}");
    let document = figures::documents().join("performance.md");
    figures::replace(&document, "profile", &text).unwrap();
    ExitCode::SUCCESS
}

fn itself() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// The process that is traced: first requests for nothing, then runs.
fn ask(server: Asked) {
    for _ in 0..FIRST + ROUNDS {
        sleep(REST);
        server.get("/healthz", mark);
    }
    let request = nothing::request();
    for _ in 0..FIRST + ROUNDS {
        server.wait_for_box(nothing::NAME);
        let (stdout, _) = server.run(&request, mark);
        assert_eq!(stdout, "");
    }
}

/// The same process, after that.
fn start_bare(program: &Path) {
    for _ in 0..FIRST + ROUNDS {
        sleep(REST);
        mark();
        let output = Command::new(program).output();
        mark();
        assert!(output.unwrap().status.success());
    }
}

/// The process that is traced.
fn make_boxes(rootfs: &Path) {
    let host = boxes::host();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    for _ in 0..FIRST + ROUNDS {
        sleep(REST);
        let in_box =
            boxes::start_in_box(Arc::clone(&host), rootfs.to_owned(), mark);
        runtime.block_on(runtime.spawn(in_box)).unwrap();
    }
    runtime.block_on(host.close());
}

/// A run in a ready box, over HTTP.
fn of_requests(rootfs: &Path) -> String {
    let server = nothing::server(rootfs);
    let mut command = Command::new(itself());
    command.arg("--ask");
    command.args([server.address, server.admin].map(|at| at.to_string()));
    command.arg("--bare").arg(rootfs.join("bin/nothing"));
    let windows = trace::windows(&mut command, 2, Some(serving(server.pid())));
    let (health, rest) = windows.split_at(FIRST + ROUNDS);
    let (runs, bare) = rest.split_at(FIRST + ROUNDS);
    let whole = health[FIRST..].iter().map(length);
    let bare_whole = bare[FIRST..].iter().map(length);
    let bare_runs = bare[FIRST..].iter().filter_map(steps::run_time);
    let (times, spent): (Vec<_>, Vec<_>) = runs[FIRST..]
        .iter()
        .filter_map(|run| Some((steps::times(run)?, spent::of(run))))
        .unzip();
    // Else it goes another way by now than what is looked for.
    assert!(times.len() * 2 > ROUNDS, "{} of {ROUNDS} runs", times.len());
    format!(
        "*A run in a ready box*. From the same client, `/healthz` takes {:.0} \
         µs, and starting the program bare {:.0} µs, of which it runs \
         {:.0}.\n\n{}\n{}",
        median(whole),
        median(bare_whole),
        median(bare_runs),
        table::of_times(&steps::names(), &times),
        table::of_spent(&spent),
    )
}

/// A box that is not ready.
fn of_boxes(rootfs: &Path) -> String {
    let mut command = Command::new(itself());
    command.arg("--rootfs").arg(rootfs);
    let windows = trace::windows(&mut command, 4, None);
    let windows = &windows[FIRST..];
    let phases = |window: &Window| {
        window.marks.iter().map(|at| micros(*at)).collect::<Vec<_>>()
    };
    let times: Vec<_> = windows.iter().map(phases).collect();
    let spent: Vec<BTreeMap<_, _>> = windows.iter().map(spent::of).collect();
    let names = ["asked for a box", "it stands", "its program is over", "gone"];
    format!(
        "*A box that is not ready*\n\n{}\n{}",
        table::of_times(&names, &times),
        table::of_spent(&spent),
    )
}

fn length(window: &Window) -> f64 {
    window.marks.last().map_or(f64::NAN, |at| micros(*at))
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn micros(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e3
}

/// As root, a server is the child of the process that was started.
fn serving(started: i32) -> i32 {
    let threads = |process: &i32| {
        fs::read_dir(format!("/proc/{process}/task")).map_or(0, Iterator::count)
    };
    let mut all = traces::descendants(started).into_iter();
    all.find(|process| threads(process) > 1).unwrap_or(started)
}
