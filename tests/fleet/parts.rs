//! Each part of a fleet dies while clients send programs, and while they write and
//! read products. Each answer is right, or is a failure that docs/scale.md lists.

use std::hash::{BuildHasher, RandomState};
use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::time::{Duration, Instant};

use sandpiper_testkit::{eventually, is_full};

use crate::Test;
use crate::balancer::Nginx;
use crate::catalogue::UNREACHABLE;
use crate::client::CUT_BODY;
use crate::clients::{Failure, Failures, Load};
use crate::fleet::{Fleet, Setup};
use crate::limits::UP;
use crate::random::Random;
use crate::writers::History;

pub(crate) const TESTS: &[(&str, Test)] = &[
    ("parts/killed-under-load", killed),
    ("parts/nodes-restart-under-load", nodes_restart),
];

/// The part of a service that dies.
#[derive(Clone, Copy, Debug)]
enum Part {
    Node(usize),
    HaProxy(usize),
    Nginx,
    Limits,
    Products,
}

const PARTS: [Part; 8] = [
    Part::Node(0),
    Part::Node(1),
    Part::Node(2),
    Part::HaProxy(0),
    Part::HaProxy(1),
    Part::Nginx,
    Part::Limits,
    Part::Products,
];

/// With `FULL=1` a part dies every 5 s for a minute.
const FULL_TIME: Duration = Duration::from_secs(60);
const INTERVAL: Duration = Duration::from_secs(5);

/// On a slow disk a change may take longer than a node waits for it. The test begins
/// again then.
const MAX_ATTEMPTS: usize = 3;
/// Changes that may be late at once: two of each client.
const MAX_LATE: usize = 16;

/// A part was dead.
#[derive(Debug)]
struct Death {
    part: Part,
    begun: Instant,
    ended: Instant,
}

struct NginxFleet {
    // Ends before the folder of the fleet, which has its log.
    nginx: Nginx,
    fleet: Fleet,
}

/// The requests that clients send at once.
struct Loads {
    programs: Load,
    products: History,
}

/// The parts die one after the other in an order by chance, each at least once.
/// `SEED` repeats an order. No request fails that no death explains, at least once
/// of some attempts.
fn killed() {
    let mut random = Random::with(seed());
    let mut unexplained = || {
        let failures = NginxFleet::start().killed(&mut random);
        println!("{} failures are not explained: {failures:?}", failures.len());
        let mut reasons = failures.iter().map(|it| &*it.reason);
        assert!(reasons.all(|it| it == UNREACHABLE), "{failures:?}");
        assert!(failures.len() <= MAX_LATE, "{failures:?}");
        failures
    };
    let are_all_explained = (0..MAX_ATTEMPTS).any(|_| unexplained().is_empty());
    assert!(are_all_explained, "products could not be reached each time");
}

/// Returns the seed of an order, which is printed.
#[expect(clippy::disallowed_methods, reason = "chosen by whoever runs tests")]
fn seed() -> u64 {
    let chosen = std::env::var("SEED").ok();
    let chosen = chosen.map(|seed| seed.parse().expect("SEED is a number"));
    let seed = chosen.unwrap_or_else(|| RandomState::new().hash_one(0));
    println!("parts die in the order of SEED={seed}");
    seed
}

fn shuffled(random: &mut Random) -> Vec<Part> {
    let mut rest = PARTS.to_vec();
    let mut order = Vec::new();
    while !rest.is_empty() {
        let number = random.below(rest.len() as u64);
        order.push(rest.swap_remove(usize::try_from(number).unwrap()));
    }
    order
}

/// An upgrade: each node is asked to end, and starts again. No request fails, at
/// least once of some attempts.
fn nodes_restart() {
    let failures = || {
        let failures = NginxFleet::start().nodes_restart();
        println!("{} requests failed: {failures:?}", failures.len());
        failures
    };
    let is_unnoticed = (0..MAX_ATTEMPTS).any(|_| failures().is_empty());
    assert!(is_unnoticed, "products could not be reached each time");
}

impl NginxFleet {
    fn start() -> Self {
        let fleet = Fleet::start(Setup {
            limits: true,
            products: Some(true),
            balancers: 2,
            // Every request is counted, and none is refused.
            flags: &["--compile-rate-limit=1000000"],
        });
        for node in &fleet.nodes {
            node.server().wait_until_ready();
        }
        let nginx = Nginx::start(fleet.folder.path().join("n"), &fleet.nodes);
        Self { fleet, nginx }
    }

    /// Kills the parts under load. Returns the failures that no death explains.
    fn killed(&mut self, random: &mut Random) -> Vec<Failure> {
        let (deaths, mut failures) = self.under_loads(|service, loads| {
            let mut deaths = Vec::new();
            let begun = Instant::now();
            let mut order = Vec::new();
            while deaths.len() < PARTS.len()
                || is_full() && begun.elapsed() < FULL_TIME
            {
                if order.is_empty() {
                    order = shuffled(random);
                }
                deaths.push(service.dies(order.pop().unwrap(), loads));
                let count = u32::try_from(deaths.len()).unwrap();
                while is_full() && begun.elapsed() < INTERVAL * count {
                    loads.advance();
                }
            }
            deaths
        });
        let all = failures.len();
        failures.retain(|failure| {
            !deaths.iter().any(|death| self.explains(death, failure))
        });
        let explained = all - failures.len();
        println!("{explained} failures are explained by {deaths:?}");
        failures
    }

    /// Restarts each node under load. Returns the requests that failed because the
    /// products could not be reached; none fails for another reason.
    fn nodes_restart(&mut self) -> Vec<Failure> {
        let ((), failures) = self.under_loads(|service, loads| {
            for number in 0..service.fleet.nodes.len() {
                service.fleet.nodes[number].stop();
                loads.advance();
                service.restart(Part::Node(number));
            }
        });
        let mut reasons = failures.iter().map(|it| &*it.reason);
        assert!(reasons.all(|it| it == UNREACHABLE), "{failures:?}");
        failures
    }

    /// Does this while clients send programs and use products.
    fn under_loads<T>(
        &mut self,
        work: impl FnOnce(&mut Self, &Loads) -> T,
    ) -> (T, Vec<Failure>) {
        let haproxies = self.fleet.balancers.iter().map(|it| it.address);
        let haproxies: Vec<SocketAddr> = haproxies.collect();
        let all = [&haproxies[..], &[self.nginx.address]].concat();
        let failures = Failures::default();
        let clients = if is_full() { 8 } else { 4 };
        let programs = Load::of(clients);
        let loads = Loads { programs, products: History::default() };
        let done = std::thread::scope(|scope| {
            // A node that starts refuses programs with 425, of which nginx knows
            // nothing.
            loads.programs.start(scope, &haproxies, &failures);
            loads.products.start(scope, &all, &failures);
            // The clients would send for ever if this panicked.
            let done = catch_unwind(AssertUnwindSafe(|| {
                loads.advance();
                let done = work(self, &loads);
                loads.advance();
                done
            }));
            loads.programs.end();
            loads.products.end();
            done.unwrap_or_else(|it| resume_unwind(it))
        });
        loads.programs.check();
        loads.products.check(self.fleet.address());
        (done, failures.all())
    }

    /// Kills a part, and starts it again when clients have noticed.
    fn dies(&mut self, part: Part, loads: &Loads) -> Death {
        let begun = Instant::now();
        let Self { fleet, nginx } = self;
        match part {
            Part::Node(number) => fleet.nodes[number].kill(),
            Part::HaProxy(number) => fleet.balancers[number].kill(),
            Part::Nginx => nginx.kill(),
            Part::Limits => fleet.limits.as_mut().unwrap().kill(),
            Part::Products => fleet.products.as_mut().unwrap().kill(),
        }
        loads.programs.advances();
        if let Part::Products = part {
            loads.products.is_refused();
        } else {
            loads.products.advances();
        }
        self.restart(part);
        Death { part, begun, ended: Instant::now() }
    }

    /// Starts a part again, and waits until it does all that it did.
    fn restart(&mut self, part: Part) {
        let Self { fleet, nginx } = self;
        match part {
            Part::Node(number) => {
                fleet.nodes[number].restart();
                fleet.nodes[number].server().wait_until_ready();
                fleet.wait_until(number, true);
            }
            Part::HaProxy(number) => fleet.balancers[number].restart(),
            Part::Nginx => nginx.restart(),
            Part::Limits => fleet.limits.as_mut().unwrap().restart(),
            Part::Products => fleet.products.as_mut().unwrap().restart(),
        }
        for up in [UP, &UP.replace("limits", "products")] {
            eventually("all nodes reach the Valkeys", || {
                fleet.count(up) == fleet.nodes.len()
            });
        }
    }

    /// Returns whether a request failed for this reason: its balancer was dead, a
    /// node died while it sent the answer, or nobody could reach the products.
    fn explains(&self, death: &Death, failure: &Failure) -> bool {
        let is_then =
            failure.begun <= death.ended && death.begun <= failure.ended;
        // A dead balancer answers nothing.
        let is_unanswered = |balancer: SocketAddr| {
            balancer == failure.to && failure.reason != UNREACHABLE
        };
        let is_reason = match death.part {
            // When it is back, it may not yet have reached the products.
            Part::Node(_) => {
                [CUT_BODY, UNREACHABLE].contains(&&*failure.reason)
            }
            Part::HaProxy(number) => {
                is_unanswered(self.fleet.balancers[number].address)
            }
            Part::Nginx => is_unanswered(self.nginx.address),
            Part::Products => failure.reason == UNREACHABLE,
            Part::Limits => false,
        };
        is_then && is_reason
    }
}

impl Loads {
    /// Waits until all clients have further answers.
    fn advance(&self) {
        self.programs.advances();
        self.products.advances();
    }
}
