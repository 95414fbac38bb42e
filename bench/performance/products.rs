//! The product catalogue: CPU time of the server for one request, beside a Go
//! program that does the same and beside hyper alone.

use std::fs;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::Duration;

use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::load::Load;
use crate::row::{Bound, Row, Series, Unit};
use crate::{bare_hyper, cpu};
use sandpiper_testkit::Server;

/// How often each server is measured, and for how long.
const ROUNDS: usize = 21;
const TIME: Duration = Duration::from_millis(200);
/// Products in the list.
const PRODUCTS: usize = 1_000;

/// A server that is asked.
struct Asked {
    process: i32,
    address: SocketAddr,
}

/// A program whose first line of output is its address; it is killed at the
/// end.
struct Program(Child);

pub(crate) fn measure() -> Vec<Row> {
    // The processors are chosen for a thread, and for what it starts.
    let measured = thread::spawn(|| {
        let all = sched_getaffinity(None).unwrap();
        let chosen = |cpu: &usize| all.is_set(*cpu);
        let mut cpus: Vec<_> = (0..CpuSet::MAX_CPU).filter(chosen).collect();
        let client = cpus.pop().filter(|_| !cpus.is_empty());
        stay_on(&cpus);
        measure_from(client)
    });
    measured.join().unwrap()
}

/// Keeps this thread, and what it starts from now on, on these processors;
/// anywhere where there are none.
fn stay_on(cpus: &[usize]) {
    if cpus.is_empty() {
        return;
    }
    let mut set = CpuSet::new();
    cpus.iter().for_each(|cpu| set.set(*cpu));
    sched_setaffinity(None, &set).unwrap();
}

/// The client has a processor of its own, where there are several: else it and
/// the servers take turns as chance has it.
fn measure_from(client: Option<usize>) -> Vec<Row> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let server = Server::with(&[]);
    let ours = Asked { process: server.pid(), address: server.address };
    let go = start_go(folder.path());
    let loads = loads();
    runtime.block_on(async {
        fill(&ours).await;
        if let Some((_, go)) = &go {
            fill(go).await;
        }
        for (name, load, ..) in &loads {
            let body = load.once(ours.address).await;
            fs::write(folder.path().join(name), body).unwrap();
        }
    });
    let itself = std::env::current_exe().unwrap();
    let mut bare = Command::new(itself);
    bare.arg("--bare-hyper").arg(folder.path());
    let bare = Program::start(&mut bare);
    stay_on(client.as_slice());
    let mut rows = Vec::new();
    for (_, load, name, of_go) in &loads {
        let mut figures = [const { Vec::new() }; 3];
        let go = go.as_ref().map(|(_, go)| go);
        for _ in 0..ROUNDS {
            let asked = [Some(&ours), go, Some(&bare.1)];
            for (asked, figures) in asked.into_iter().zip(&mut figures) {
                let Some(asked) = asked else { continue };
                figures.push(runtime.block_on(cost(load, asked)));
            }
        }
        rows.extend(compare(name, &figures, *of_go));
    }
    rows
}

/// The file of the answer, the request, what it is called, and how much of
/// Go's time it may take.
fn loads() -> [(&'static str, Load, &'static str, f64); 3] {
    [
        (bare_hyper::ONE, Load::get("/products/500"), "GET one", 0.67),
        (bare_hyper::LIST, Load::get("/products"), "GET 1,000", 0.4),
        (bare_hyper::CREATED, creation(0), "POST", 0.8),
    ]
}

/// The same products for everyone.
fn creation(number: usize) -> Load {
    let cents = number * 7 % 100;
    let body = format!(
        r#"{{"name":"product number {number}","price":{}.{cents:02}}}"#,
        number % 90 + 10
    );
    Load::post("/products", &body)
}

async fn fill(server: &Asked) {
    for number in 0..PRODUCTS {
        creation(number).once(server.address).await;
    }
}

/// CPU time of the server for one request, in microseconds.
async fn cost(load: &Load, server: &Asked) -> f64 {
    let before = cpu::used(server.process);
    let count = load.run(server.address, TIME).await;
    let used = cpu::used(server.process) - before;
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let count = count as f64;
    used.as_secs_f64() * 1e6 / count
}

fn compare(name: &str, figures: &[Vec<f64>; 3], of_go: f64) -> Vec<Row> {
    let [ours, go, bare] = figures;
    let row = |what: &str, other: &[f64], bound: f64| Row {
        name: format!("{name} / {what}"),
        unit: Unit::CpuMicroseconds,
        ours: Series::new("sandpiper", ours),
        other: Some(Series::new(what, other)),
        bound: Bound::Times(bound),
    };
    let mut rows = Vec::new();
    if !go.is_empty() {
        rows.push(row("Go", go, of_go));
    }
    rows.push(row("bare hyper", bare, 1.15));
    rows
}

/// Built by Debian's Go, where that is installed.
fn start_go(folder: &Path) -> Option<(Program, Asked)> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("../../bench/performance/products.go");
    let binary = folder.join("products-go");
    let mut build = Command::new("go");
    match build.args(["build", "-o"]).arg(&binary).arg(source).status() {
        Ok(status) => assert!(status.success(), "go cannot build"),
        Err(_) => {
            println!("go is not installed (golang-go): no figures for it");
            return None;
        }
    }
    Some(Program::start(&mut Command::new(binary)))
}

impl Program {
    fn start(command: &mut Command) -> (Self, Asked) {
        let mut child = command.stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        let output = child.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        let address = line.trim().parse().unwrap();
        let process = i32::try_from(child.id()).unwrap();
        (Self(child), Asked { process, address })
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
