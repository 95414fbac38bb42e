//! Programs that want more than they may have: they end as promised, others
//! hardly notice, and nothing of them stays.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use crate::bystander::Bystander;
use crate::program::Program;
use crate::servers::Server;
use crate::suite::Suite;
use sandpiper_testkit::eventually;
use sandpiper_testkit::traces::{Traces, are_gone, boxes, outside, watched};

/// How long something may take that happens soon.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn check(program: &Program, suite: &Suite) -> Result<(), String> {
    let server = suite.server(program).pid();
    let bystander = Bystander::now(suite.server(program))?;
    let before = settled(suite.server(program))?;
    let groups = attacked(program, suite, &bystander)?;
    eventually("its processes and groups are gone", || {
        outside(server) == before.processes && are_gone(&groups, server)
    });
    let after = settled(suite.server(program))?;
    if after == before {
        Ok(())
    } else {
        Err(format!("{after:#?}\nis left, of\n{before:#?}"))
    }
}

/// Has the attack run beside the bystander, until its groups were seen: a
/// program that ends at once may end between two looks.
fn attacked(
    program: &Program,
    suite: &Suite,
    bystander: &Bystander,
) -> Result<BTreeSet<PathBuf>, String> {
    let server = suite.server(program);
    for _ in 0..20 {
        let mut results = (Ok(()), Ok(()));
        let groups = watched(server.pid(), || {
            results = scope(|scope| {
                let attack = scope.spawn(|| program.attack(suite));
                let beside =
                    bystander.lives_beside(server, || attack.is_finished());
                (attack.join().expect("it does not panic"), beside)
            });
        });
        results.0?;
        results.1?;
        if !groups.is_empty() {
            return Ok(groups);
        }
    }
    Err("no control group was seen".to_owned())
}

/// What there is while the server has no box but those that are ready for
/// somebody, not even one that is going or coming.
fn settled(server: &Server) -> Result<Traces, String> {
    let pid = server.pid();
    let deadline = Instant::now() + PATIENCE;
    loop {
        let first = (Traces::of(pid), boxes(pid));
        sleep(Duration::from_millis(100));
        let second = (Traces::of(pid), boxes(pid));
        let ready = server.metrics().all_ready();
        let stand = second.1.len();
        if first == second && stand == ready && are_whole(&second.0) {
            return Ok(second.0);
        }
        if Instant::now() > deadline {
            return Err(format!("{stand} boxes stay, and {ready} are ready"));
        }
    }
}

/// Whether none of these processes is dead and not gone: such a one is in no
/// box, and has no mounts to tell.
fn are_whole(traces: &Traces) -> bool {
    let mut all = traces.processes.iter();
    all.all(|pid| fs::read_to_string(format!("/proc/{pid}/mountinfo")).is_ok())
}
