//! Overloads a server: by ten times as many requests as the machine can run, for
//! a minute, and then by one client that wants all of it. Prints the figures of
//! docs/overload.md. Each step is a process with a deadline. If one fails or hangs,
//! a row says so, and the other still runs. Fails if a step did, or if a promise is
//! missed.
//!
//! ```text
//! make bench     (or: cargo bench -p sandpiper --bench overload; needs the
//!                 images)
//! make soak      (or: the same with `-- --step=soak`; see soak.rs)
//! ```
//!
//! Every client has an address of its own on loopback, and there is no rate
//! limit, so that the queue alone decides.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::print_stderr, reason = "and all that a failed step said")]
#![expect(clippy::unwrap_used, reason = "a failure is the step's row")]

use std::ffi::OsString;
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::thread::{sleep, spawn};
use std::time::{Duration, Instant};

use clap::Parser;
use sandpiper_testkit::traces::Traces;
use sandpiper_testkit::{Server, Usage, step};
use tokio::runtime::Builder;

mod load;
mod programs;
mod promises;
mod request;
mod soak;

#[derive(Debug, Parser)]
struct Settings {
    /// How long the overload lasts.
    #[arg(long, default_value_t = 60)]
    seconds: u32,
    /// Clients that the overload comes from.
    #[arg(long, default_value_t = 300)]
    clients: usize,
    /// How long the soak goes on after its first round.
    #[arg(long, default_value_t = 30.0)]
    minutes: f64,
    /// Measure this step in this process.
    #[arg(long, hide = true)]
    step: Option<String>,
    /// Cargo passes this flag.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Without these, runs without load would start in boxes that were made ahead,
/// and runs under load would not: the two could not be compared.
const FLAGS: [&str; 3] =
    ["--compile-rate-limit=0", "--warm-memory=0", "--compile-cache=0"];
/// The requests that are sent, as a multiple of what the machine can do.
const TIMES: f64 = 10.0;
/// How long clients keep all boxes busy, to measure what the machine can do.
const MEASURED: Duration = Duration::from_secs(10);
/// The seconds that a step may take, without the overload's. It takes two minutes on a
/// quiet machine.
const DEADLINE: u32 = 300;
const SECOND: Duration = Duration::from_secs(1);

type Measure = fn(&Settings) -> Vec<bool>;

const STEPS: [(&str, Measure); 2] =
    [("overload", overload), ("fairness", fairness)];
/// A step that is run only if it is named, and without a deadline.
const SOAK: (&str, Measure) = ("soak", soak::soak);

fn main() -> ExitCode {
    let settings = Settings::parse();
    if let Some(name) = &settings.step {
        let mut steps = STEPS.iter().chain([&SOAK]);
        let (_, measure) = steps.find(|(of, _)| of == name).unwrap();
        return step::exit_code(measure(&settings).contains(&false));
    }
    println!("\n| promise | measured | bound | |\n|---|---|---|---|");
    let has_failed = STEPS.iter().filter(|(name, _)| !run(name, &settings));
    ExitCode::from(u8::from(has_failed.count() > 0))
}

/// Runs the step and prints its rows. Returns whether it finished and missed no
/// promise.
fn run(name: &str, settings: &Settings) -> bool {
    let Settings { seconds, clients, .. } = settings;
    let command: [OsString; 4] = [
        std::env::current_exe().unwrap().into(),
        format!("--step={name}").into(),
        format!("--seconds={seconds}").into(),
        format!("--clients={clients}").into(),
    ];
    let ended = step::run(&format!("{}s", DEADLINE + seconds), command);
    print!("{}", String::from_utf8_lossy(&ended.stdout));
    if let Some(why) = step::failure(&ended) {
        eprint!("{}", String::from_utf8_lossy(&ended.stderr));
        println!("| {name} | {why} | | **failed** |");
    }
    ended.status.success()
}

fn overload(settings: &Settings) -> Vec<bool> {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let start = || {
        let begun = Instant::now();
        (Server::spawn(&FLAGS, None), begun.elapsed())
    };
    let mut starts = [(); 5].map(|()| start().1);
    starts.sort_unstable();
    let (server, _) = start();
    server.wait_until_ready();
    let (address, pid) = (server.address, server.pid());
    let clients = |count, lasts| {
        let clients = load::clients(address, count, lasts, Duration::ZERO);
        runtime.block_on(clients)
    };
    // The first of each language fills the host's caches.
    clients(1, SECOND);
    let unloaded = clients(1, MEASURED / 2);
    // More than boxes, so that none is ever free.
    let begun = Instant::now();
    let full = promises::right(&clients(8, MEASURED));
    let capacity = full as f64 / begun.elapsed().as_secs_f64();
    let rate = capacity * TIMES;
    let Settings { clients, seconds, .. } = *settings;
    println!(
        "| the load | {rate:.0} requests a second from {clients} clients for \
         {seconds} s | {TIMES} times the {capacity:.1} runs a second that it \
         can do | |"
    );
    let (before, traces) = at_rest(pid);
    let (doing, done) = channel::<()>();
    let watcher = spawn(move || {
        let mut most = before;
        while done.recv_timeout(SECOND) == Err(RecvTimeoutError::Timeout) {
            let now = Usage::of(pid);
            most.memory_kib = most.memory_kib.max(now.memory_kib);
            most.descriptors = most.descriptors.max(now.descriptors);
        }
        most
    });
    let overload = load::overload(address, rate, clients, SECOND * seconds);
    let seen = runtime.block_on(overload);
    drop(doing);
    let most = watcher.join().unwrap();
    let (after, left) = at_rest(pid);
    let mut kept = promises::of_answers(&unloaded, &seen);
    kept.extend(promises::of_usage(starts[2], &before, &most, &after));
    kept.push(promises::of_traces(traces == left));
    kept
}

/// Clients beside a hostile one, on another server.
fn fairness(_settings: &Settings) -> Vec<bool> {
    let runtime = Builder::new_current_thread().enable_all().build().unwrap();
    let server = Server::spawn(&FLAGS, None);
    server.wait_until_ready();
    let reading = |lasts| load::clients(server.address, 4, lasts, SECOND);
    let alone = runtime.block_on(reading(MEASURED * 2));
    let beside = reading(MEASURED * 3);
    let beside = load::beside_hostile(server.address, beside);
    let beside = runtime.block_on(beside);
    let mut kept = promises::of_share(&alone, &beside);
    let class = load::class(server.address);
    let class = load::beside_hostile(server.address, class);
    kept.push(promises::of_class(&runtime.block_on(class)));
    kept
}

/// Returns the usage of a server that is idle, and the traces of its runs.
fn at_rest(server: i32) -> (Usage, Traces) {
    // Threads that wait for work end after ten seconds.
    sleep(SECOND * 12);
    (Usage::of(server), Traces::of(server))
}
