//! Ten times what the machine can do, for a minute; and one client that wants
//! all of it: whether what is promised then holds.
//!
//! ```text
//! make bench     (or: cargo bench -p sandpiper --bench overload; needs the
//!                 images)
//! ```
//!
//! Every client has an address of its own on loopback, and there is no rate
//! limit, so that the queue alone decides. Fails if a promise is not kept.
//! Writes docs/overload.json, the plot and the figures of docs/overload.md.

#![expect(clippy::print_stdout, reason = "a benchmark prints its figures")]
#![expect(clippy::unwrap_used, reason = "a failed step ends the benchmark")]

use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use clap::Parser;

#[path = "overload/crowd.rs"]
mod crowd;
mod figures;
#[path = "overload/hostile.rs"]
mod hostile;
mod plot;
#[path = "overload/report.rs"]
mod report;
#[path = "overload/request.rs"]
mod request;
mod usage;
#[path = "overload/verdict.rs"]
mod verdict;

use crowd::Overload;
use request::Exchange;
use sandpiper_testkit::Server;
use usage::Usage;

#[derive(Clone, Copy, Debug, Parser)]
struct Settings {
    /// How long the overload lasts.
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// How many times more than the machine can do.
    #[arg(long, default_value_t = 10.0)]
    times: f64,
    /// Clients that the overload comes from.
    #[arg(long, default_value_t = 300)]
    clients: usize,
    /// Runs at once, one after the other, for the unloaded time of each
    /// language.
    #[arg(long, default_value_t = 20)]
    rounds: usize,
    /// Given by cargo.
    #[arg(long, hide = true)]
    bench: bool,
}

/// Clients that measure what the machine can do: more than boxes, so that
/// none is ever free.
const BUSY_CLIENTS: usize = 8;
const MEASURED: Duration = Duration::from_secs(10);

/// Everything that was seen.
struct Seen {
    unloaded: Vec<Exchange>,
    /// Runs a second.
    capacity: f64,
    /// Those runs: every box is taken, and nobody is refused.
    full: Vec<Exchange>,
    overload: Overload,
    /// From the overload's begin, each second.
    usage: Vec<(Duration, Usage)>,
    before: Usage,
    after: Usage,
    /// Of the honest clients without the hostile one.
    alone: Vec<Exchange>,
    beside: Vec<Exchange>,
    hostile_requests: usize,
}

fn main() -> ExitCode {
    let settings = Settings::parse();
    let origin = figures::origin();
    let server = start();
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_all().build();
    let seen = runtime.unwrap().block_on(measure(settings, &server));
    drop(server);
    let promises = verdict::promises(&seen);
    report::write(settings, &origin, &seen, &promises);
    let kept = promises.iter().all(|promise| promise.is_kept);
    for promise in &promises {
        println!("{promise}");
    }
    ExitCode::from(u8::from(!kept))
}

fn start() -> Server {
    // Under load boxes are made when their turn comes, and runs are compared
    // with those of a server without load: so they are made then, too.
    let flags =
        ["--compile-rate-limit=0", "--warm-memory=0", "--artifact-cache=0"];
    let server = Server::spawn(&flags, None);
    server.wait_until_ready();
    server
}

async fn measure(settings: Settings, server: &Server) -> Seen {
    let address = server.address;
    // The first of each language fills the host's caches.
    crowd::one_by_one(address, 3).await;
    let unloaded = crowd::one_by_one(address, settings.rounds).await;
    let (capacity, full) =
        crowd::capacity(address, BUSY_CLIENTS, MEASURED).await;
    let rate = capacity * settings.times;
    println!("{capacity:.1} runs a second; {rate:.0} requests a second now");
    let before = at_rest(server.pid()).await;
    let lasts = Duration::from_secs(settings.seconds);
    let (overload, usage) = watched(server.pid(), || {
        // On a thread of its own, so that nothing else delays it.
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap();
        runtime.block_on(crowd::overload(
            address,
            rate,
            settings.clients,
            lasts,
        ))
    });
    let after = at_rest(server.pid()).await;
    // One that has promised nothing to a crowd that is gone.
    let other = start();
    let alone = hostile::honest(other.address, MEASURED * 2).await;
    let (beside, hostile_requests) =
        hostile::beside_hostile(other.address, MEASURED * 3).await;
    Seen {
        unloaded,
        capacity,
        full,
        overload,
        usage,
        before,
        after,
        alone,
        beside,
        hostile_requests,
    }
}

/// Does `what`, and notes what the server has meanwhile.
fn watched<T: Send>(
    server: i32,
    what: impl FnOnce() -> T + Send,
) -> (T, Vec<(Duration, Usage)>) {
    let begun = Instant::now();
    let is_over = AtomicBool::new(false);
    scope(|scope| {
        let watching = scope.spawn(|| {
            let mut seen = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                seen.push((begun.elapsed(), Usage::of(server)));
                sleep(Duration::from_secs(1));
            }
            seen
        });
        // A panic there would let the scope wait for the watcher for ever.
        let result = scope.spawn(what).join();
        is_over.store(true, Ordering::Relaxed);
        (result.unwrap(), watching.join().unwrap())
    })
}

/// What a server has that has nothing to do: threads that wait for work end
/// after ten seconds.
async fn at_rest(server: i32) -> Usage {
    tokio::time::sleep(Duration::from_secs(12)).await;
    Usage::of(server).least(Usage::of(server))
}
