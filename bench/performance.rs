//! Everything that is promised to be fast, beside another way to do the same:
//! both are measured in turns in one run.
//!
//! ```text
//! make bench     (or: cargo bench -p sandpiper --bench performance
//!                 [-- FILTER]; needs the images)
//! ```
//!
//! Fails where something is worse than what is asked by half. Writes
//! docs/performance.json, the plot and the figures of docs/performance.md,
//! unless a filter leaves something out.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::print_stderr, reason = "and says what it cannot measure")]
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failed step ends the benchmark"
)]

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};

use clap::Parser;

#[path = "performance/bare_hyper.rs"]
mod bare_hyper;
#[path = "performance/bars.rs"]
mod bars;
#[path = "performance/boxes.rs"]
mod boxes;
#[path = "performance/client.rs"]
#[allow(dead_code, reason = "shared with the other benchmark")]
mod client;
#[path = "performance/cpu.rs"]
mod cpu;
#[path = "performance/demand.rs"]
mod demand;
mod figures;
#[path = "performance/floor.rs"]
mod floor;
#[path = "performance/idle.rs"]
mod idle;
#[path = "performance/languages.rs"]
mod languages;
#[path = "performance/load.rs"]
mod load;
#[path = "performance/nothing.rs"]
mod nothing;
#[allow(dead_code, reason = "shared with benchmarks that draw lines")]
mod plot;
#[path = "performance/products.rs"]
mod products;
#[path = "performance/report.rs"]
mod report;
#[path = "performance/row.rs"]
mod row;
#[path = "performance/sample.rs"]
mod sample;
#[path = "performance/stock.rs"]
mod stock;
#[path = "performance/throughput.rs"]
mod throughput;
#[allow(dead_code, reason = "shared with benchmarks that watch all of it")]
mod usage;

use client::Asked;
use row::{Row, Series, Verdict};
use sample::Sample;
use sandpiper_testkit::Server;

/// Parts that are chosen as a whole; samples are chosen by their names.
const PRODUCTS: &str = "products";
const BOXES: &str = "boxes";
const THROUGHPUT: &str = "throughput";
const DEMAND: &str = "demand";
const IDLE: &str = "idle";

#[derive(Clone, Debug, Parser)]
struct Settings {
    /// Only parts (products, boxes, throughput, demand, idle) and samples
    /// whose names hold this
    filter: Option<String>,
    /// Serves what is in this folder.
    #[arg(long, hide = true)]
    bare_hyper: Option<PathBuf>,
    /// Measures boxes of this root filesystem.
    #[arg(long, hide = true)]
    rootfs: Option<PathBuf>,
    /// Serves a language whose programs are the one that does nothing, in
    /// this root filesystem.
    #[arg(long, hide = true)]
    serve_nothing: Option<PathBuf>,
    /// Measures this server, in a mount namespace of its own.
    #[arg(long, hide = true, num_args = 2)]
    server: Vec<SocketAddr>,
    /// The series of a box that is not ready, as JSON.
    #[arg(long, hide = true)]
    cold_box: Option<String>,
    /// Draws the plot of the figures that docs/ has, and measures nothing.
    #[arg(long)]
    draw: bool,
    /// Given by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

fn main() -> ExitCode {
    let settings = Settings::parse();
    if let Some(folder) = &settings.bare_hyper {
        bare_hyper::serve(folder);
    }
    if let Some(rootfs) = &settings.rootfs {
        boxes::measure(rootfs).iter().for_each(tell);
        return ExitCode::SUCCESS;
    }
    if let Some(rootfs) = &settings.serve_nothing {
        nothing::serve(rootfs);
        return ExitCode::SUCCESS;
    }
    if let [address, admin] = settings.server[..] {
        measure_server(&settings, Asked { address, admin });
        return ExitCode::SUCCESS;
    }
    if settings.draw {
        report::draw(&report::read());
        return ExitCode::SUCCESS;
    }
    let origin = figures::origin();
    let rows = measure(&settings);
    if settings.filter.is_none() {
        report::write(&origin, &rows);
    }
    let names = |verdict: Verdict| {
        let found = rows.iter().filter(|row| row.verdict() == verdict);
        found.map(|row| row.name.as_str()).collect::<Vec<_>>()
    };
    println!("fell short: {}", names(Verdict::Short).join("; "));
    println!("worse than asked by half: {}", names(Verdict::Failed).join("; "));
    ExitCode::from(u8::from(!names(Verdict::Failed).is_empty()))
}

impl Settings {
    fn has(&self, name: &str) -> bool {
        self.filter.as_ref().is_none_or(|part| name.contains(part.as_str()))
    }
}

fn measure(settings: &Settings) -> Vec<Row> {
    let mut rows = Vec::new();
    let mut add = |more: Vec<Row>| {
        more.iter().for_each(report::print);
        rows.extend(more);
    };
    if settings.has(PRODUCTS) {
        add(products::measure());
    }
    if settings.has(IDLE) {
        add(idle::measure());
    }
    let samples = Sample::all();
    let chosen = |sample: &Sample| settings.has(&sample.name);
    let needs_box = |sample: &Sample| sample.cold_boxes.is_some();
    let mut cold_box = None;
    if settings.has(BOXES) || samples.iter().any(|s| chosen(s) && needs_box(s))
    {
        let rootfs = boxes::make_rootfs();
        let mut command = Command::new(itself());
        command.arg("--rootfs").arg(rootfs.path());
        // The process that measures is not root any more and cannot clean up.
        told(&mut command, |row| {
            if row.name == boxes::COLD_BOX {
                cold_box = Some(row.ours.clone());
            }
            if settings.has(BOXES) {
                add(vec![row]);
            }
        });
        if settings.has(BOXES) {
            add(nothing::measure(rootfs.path()).into());
        }
    }
    if settings.has(BOXES)
        || settings.has(THROUGHPUT)
        || settings.has(DEMAND)
        || samples.iter().any(chosen)
    {
        let flags = ["--compile-rate-limit=0", "--output-size=64MiB"];
        let server = Server::spawn(&flags, None);
        server.wait_until_ready();
        let mut command = in_own_mounts(settings, &server, cold_box.as_ref());
        told(&mut command, |row| add(vec![row]));
        if settings.has(DEMAND) {
            add(demand::measure(Asked::of(&server)));
        }
    }
    rows
}

/// The same program, where the stock commands get a /tmp inside an image.
fn in_own_mounts(
    settings: &Settings,
    server: &Server,
    cold_box: Option<&Series>,
) -> Command {
    let is_root = rustix::process::geteuid().is_root();
    let user: &[&str] =
        if is_root { &[] } else { &["--user", "--map-root-user"] };
    let mut command = Command::new("unshare");
    command.args(user).arg("--mount").arg(itself()).arg("--server");
    command.args([server.address, server.admin].map(|at| at.to_string()));
    if let Some(cold_box) = cold_box {
        let cold_box = serde_json::to_string(cold_box).unwrap();
        command.arg("--cold-box").arg(cold_box);
    }
    if let Some(filter) = &settings.filter {
        command.arg("--").arg(filter);
    }
    command
}

fn measure_server(settings: &Settings, server: Asked) {
    let cold_box = settings.cold_box.as_ref();
    let cold_box: Option<Series> =
        cold_box.map(|text| serde_json::from_str(text).unwrap());
    if settings.has(BOXES) {
        tell(&languages::nothing(server));
    }
    for sample in Sample::all() {
        if settings.has(&sample.name) {
            let rows = languages::measure(&sample, server, cold_box.as_ref());
            rows.iter().for_each(tell);
        }
    }
    if settings.has(THROUGHPUT) {
        throughput::measure(server).iter().for_each(tell);
    }
}

fn itself() -> PathBuf {
    std::env::current_exe().unwrap()
}

/// Hands a row to the process that started this one.
fn tell(row: &Row) {
    println!("{}", serde_json::to_string(row).unwrap());
}

/// Takes the rows that another process hands over, as they come.
fn told(command: &mut Command, mut take: impl FnMut(Row)) {
    let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
    let output = BufReader::new(child.stdout.take().unwrap());
    for line in output.lines() {
        let line = line.unwrap();
        take(serde_json::from_str(&line).unwrap_or_else(|error| {
            panic!("{error}: {line}");
        }));
    }
    assert!(child.wait().unwrap().success(), "{command:?} failed");
}
