//! All languages and all attacks, over and over: whether the server keeps what
//! it should have given back.
//!
//! ```text
//! make soak      (SOAK_MINUTES=30; needs the images)
//! ```
//!
//! From time to time the clients are held, and what a server without work has
//! is noted. What it has at the end is compared with what it had when every
//! program had been sent once. Fails if that has grown, if an answer is wrong, or if
//! the log has an error. Writes docs/soak.json, the plot and the figures.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::unwrap_used, reason = "a failed step ends the benchmark")]
#![expect(
    clippy::disallowed_methods,
    reason = "the inner process has a secret in its environment"
)]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use clap::Parser;
use sandpiper_engine::languages::SERVICE_LANGUAGES;
use serde_json::json;

#[allow(dead_code, reason = "shared with the attacks, which use more")]
#[path = "../tests/attack/canaries.rs"]
mod canaries;
#[path = "soak/clients.rs"]
mod clients;
mod figures;
mod plot;
#[path = "soak/programs.rs"]
mod programs;
#[path = "../tests/attack/text.rs"]
mod text;
mod usage;

use canaries::Canaries;
use clients::{Clients, Tally};
use plot::{Line, Panel};
use sandpiper_testkit::Server;
use usage::Usage;

#[derive(Clone, Copy, Debug, Parser)]
struct Settings {
    /// How long the clients send; the rests come to it.
    #[arg(long, default_value_t = 30)]
    minutes: u64,
    /// Clients that send one program after the other.
    #[arg(long, default_value_t = 2)]
    clients: u8,
    /// How long each waits between two, for a machine that others use.
    #[arg(long, default_value_t = 0)]
    pause_ms: u64,
    /// Given by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Parts of the time; the server is at rest after each.
const PARTS: u32 = 10;
/// How much memory may grow: what an allocator does with it is not exact.
const MEMORY_FACTOR: f64 = 1.05;
const MEMORY_BYTES: u64 = 4 << 20;

/// What the server had, and when.
struct Watched {
    /// In seconds from the start, the rests included, at work.
    busy: Vec<(f64, Usage)>,
    /// The same without work, one for each part.
    quiet: Vec<(f64, Usage)>,
    /// Of these, the first after every program had been sent: what programs
    /// need for the first time was taken before.
    first: Option<usize>,
}

/// The checkout, where shared parts look for their files.
fn checkout() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn main() -> ExitCode {
    let settings = Settings::parse();
    let Some(secret) = std::env::var_os(canaries::SECRET) else {
        return within();
    };
    let secret = secret.into_string().unwrap();
    let origin = figures::origin();
    let (watched, tally, log) = soak(settings, &secret);
    let mut faults = tally.faults.clone();
    faults.extend(grown(&watched));
    let errors = log.lines().filter(|line| line.contains(" ERROR "));
    faults.extend(errors.map(|line| format!("the log: {line}")));
    if tally.attacks == 0 || tally.starters == 0 || tally.left == 0 {
        faults.push("it was too short for every kind of client".to_owned());
    }
    write(settings, &origin, &watched, &tally, &faults);
    for fault in &faults {
        println!("FAILED: {fault}");
    }
    println!("{} faults", faults.len());
    ExitCode::from(u8::from(!faults.is_empty()))
}

/// Runs this program again: with a secret in the environment, which the
/// server then has too, and as root without the mounts that others make.
fn within() -> ExitCode {
    let this = std::env::current_exe().unwrap();
    let mut command = if rustix::process::geteuid().is_root() {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation=private"]).arg(this);
        command
    } else {
        Command::new(this)
    };
    let status = command
        .args(std::env::args_os().skip(1))
        .env(canaries::SECRET, canaries::random())
        .status();
    ExitCode::from(u8::from(!status.unwrap().success()))
}

fn soak(settings: Settings, secret: &str) -> (Watched, Tally, String) {
    // Short times: attacks that last are ended sooner, and more of them come.
    let server = Server::spawn(
        &[
            "--compile-rate-limit=0",
            "--trusted-proxy=127.0.0.1",
            "--run-wall-time=5s",
            "--run-cpu-time=5s",
        ],
        None,
    );
    server.wait_until_ready();
    let mut canaries = Canaries::place(secret);
    for (name, value) in [
        ("server", server.pid().to_string()),
        ("server_port", server.address.port().to_string()),
        ("admin_port", server.admin.port().to_string()),
    ] {
        canaries.values.insert(name.to_owned(), value);
    }
    let clients = Clients::new(
        &server,
        secret.to_owned(),
        programs::starters().unwrap(),
        programs::attacks(&canaries.values).unwrap(),
        Duration::from_millis(settings.pause_ms),
    );
    let watched =
        clients.beside(settings.clients, || watch(settings, &server, &clients));
    let tally = clients.into_tally();
    (watched, tally, server.into_log())
}

/// Notes what the server has until the time is over.
fn watch(
    settings: Settings,
    server: &Server,
    clients: &Clients<'_>,
) -> Watched {
    let part = Duration::from_secs(settings.minutes * 60) / PARTS;
    let started = Instant::now();
    let mut watched =
        Watched { busy: Vec::new(), quiet: Vec::new(), first: None };
    let now = || started.elapsed().as_secs_f64();
    for number in 1..=PARTS {
        // A part is time at work: how long the rests take is the server's.
        let end = Instant::now() + part;
        while Instant::now() < end {
            let left = end.saturating_duration_since(Instant::now());
            std::thread::sleep(left.min(Duration::from_secs(5)));
            watched.busy.push((now(), Usage::of(server.pid())));
        }
        let is_first = watched.first.is_none() && clients.has_sent_all();
        let usage = clients.held(|| {
            if is_first || number == PARTS {
                wait_for_one_of_each(server);
            }
            at_rest(server.pid())
        });
        if is_first {
            watched.first = Some(watched.quiet.len());
        }
        watched.quiet.push((now(), usage));
        println!(
            "{:>5.1} min  {}  rss {:.1} MiB, private {:.1} MiB, {}",
            now() / 60.0,
            clients.summary(),
            mebibytes(usage.rss_bytes),
            mebibytes(usage.private_bytes),
            usage
                .counts()
                .map(|(name, count)| format!("{count} {name}"))
                .join(", "),
        );
    }
    watched
}

/// Waits until what was asked for lately is forgotten, and one box is ready of
/// each kind: else how many there are depends on what came last.
fn wait_for_one_of_each(server: &Server) {
    let deadline = Instant::now() + Duration::from_secs(900);
    loop {
        let metrics = server.metrics();
        // C and C++ have theirs in common.
        if SERVICE_LANGUAGES.iter().all(|id| metrics.ready(id) == 1) {
            return;
        }
        assert!(Instant::now() < deadline, "not one box of each is ready");
        std::thread::sleep(Duration::from_secs(1));
    }
}

/// What a server has that has nothing to do: threads that wait for work end
/// after ten seconds, and boxes that were left are removed meanwhile.
fn at_rest(server: i32) -> Usage {
    std::thread::sleep(Duration::from_secs(12));
    let mut usage = Usage::of(server);
    for _ in 0..4 {
        std::thread::sleep(Duration::from_secs(1));
        usage = usage.least(Usage::of(server));
    }
    usage
}

impl Watched {
    /// What is compared: when every program had been sent, and the end.
    fn ends(&self) -> [&(f64, Usage); 2] {
        let first = self.first.unwrap_or(0);
        [&self.quiet[first], self.quiet.last().unwrap()]
    }
}

/// What was more at the end than when every program had been sent.
fn grown(watched: &Watched) -> Vec<String> {
    let [(_, first), (_, last)] = watched.ends();
    let mut faults = Vec::new();
    if watched.first.is_none_or(|first| first > PARTS as usize / 2) {
        let late = "it took half of the time to send every program: \
                    give it more minutes";
        faults.push(late.into());
    }
    for (name, before, after) in [
        ("memory", first.rss_bytes, last.rss_bytes),
        ("private memory", first.private_bytes, last.private_bytes),
    ] {
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let most = before as f64 * MEMORY_FACTOR + MEMORY_BYTES as f64;
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        if after as f64 > most {
            faults.push(format!("{name} grew from {before} to {after} bytes"));
        }
    }
    for ((name, before), (_, after)) in
        first.counts().into_iter().zip(last.counts())
    {
        if after > before {
            faults.push(format!("{name}: {before}, and {after} at the end"));
        }
    }
    faults
}

fn write(
    settings: Settings,
    origin: &str,
    watched: &Watched,
    tally: &Tally,
    faults: &[String],
) {
    let folder = figures::documents();
    let samples = |samples: &[(f64, Usage)], every: usize| -> Vec<_> {
        let sample = |(second, usage): &(f64, Usage)| json!({"second": second.round(), "usage": usage});
        samples.iter().step_by(every).map(sample).collect()
    };
    let result = json!({
        "origin": origin,
        "minutes": settings.minutes,
        "clients": settings.clients,
        "pause_ms": settings.pause_ms,
        "tally": tally,
        "faults": faults,
        "at_rest": samples(&watched.quiet, 1),
        "at_work": samples(&watched.busy, 12),
    });
    fs::write(folder.join("soak.json"), format!("{result:#}\n")).unwrap();
    plot(watched);
    let table = table(settings, origin, watched, tally, faults);
    figures::replace(&folder.join("soak.md"), "figures", &table).unwrap();
}

fn plot(watched: &Watched) {
    let line = |name, samples: &[(f64, Usage)], of: fn(&Usage) -> u64| {
        #[expect(clippy::cast_precision_loss, reason = "for the eye")]
        let point =
            |(second, usage): &(f64, Usage)| (second / 60.0, of(usage) as f64);
        Line { name, points: samples.iter().map(point).collect() }
    };
    let (busy, quiet) = (&watched.busy, &watched.quiet);
    let panels = [
        Panel {
            title: "Memory of the server, KiB",
            lines: vec![
                line("at work", busy, |usage| usage.rss_bytes >> 10),
                line("at rest", quiet, |usage| usage.rss_bytes >> 10),
                line("at rest, private", quiet, |usage| {
                    usage.private_bytes >> 10
                }),
            ],
        },
        Panel {
            title: "Descriptors and threads of the server",
            lines: vec![
                line("descriptors at work", busy, |usage| usage.descriptors),
                line("descriptors at rest", quiet, |usage| usage.descriptors),
                line("threads at work", busy, |usage| usage.threads),
                line("threads at rest", quiet, |usage| usage.threads),
            ],
        },
        Panel {
            title: "Processes and control groups, those of boxes too",
            lines: vec![
                line("processes at work", busy, |usage| usage.processes),
                line("processes at rest", quiet, |usage| usage.processes),
                line("groups at work", busy, |usage| usage.control_groups),
                line("groups at rest", quiet, |usage| usage.control_groups),
            ],
        },
    ];
    let path = figures::documents().join("soak.svg");
    plot::write(&path, "minutes", &panels).unwrap();
}

fn table(
    settings: Settings,
    origin: &str,
    watched: &Watched,
    tally: &Tally,
    faults: &[String],
) -> String {
    let [(begun, first), (_, last)] = watched.ends();
    let mut text = format!(
        "{origin}. {} minutes, clients: {}, {} ms between two programs of each; \
         {tally}.\n\n| at rest | after {:.0} min, every program sent | at \
         the end |\n|---|---|---|\n",
        settings.minutes,
        settings.clients,
        settings.pause_ms,
        begun / 60.0
    );
    for (name, of) in [
        ("memory (RSS)", [first.rss_bytes, last.rss_bytes]),
        ("private memory", [first.private_bytes, last.private_bytes]),
    ] {
        let [before, after] = of.map(mebibytes);
        text += &format!("| {name} | {before:.1} MiB | {after:.1} MiB |\n");
    }
    for ((name, before), (_, after)) in
        first.counts().into_iter().zip(last.counts())
    {
        text += &format!("| {name} | {before} | {after} |\n");
    }
    text += &match faults {
        [] => "\nNothing failed.\n".to_owned(),
        _ => format!("\nFailed:\n\n- {}\n", faults.join("\n- ")),
    };
    text
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn mebibytes(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 20)
}
