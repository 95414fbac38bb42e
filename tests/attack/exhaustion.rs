//! Programs that want more than they may have: they end as promised, others
//! hardly notice, and nothing of them stays.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use crate::bystander::Bystander;
use crate::program::Program;
use crate::suite::Suite;
use crate::traces::{Traces, descendants, groups_of, watched};

/// How long something may take that happens soon.
const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) fn check(program: &Program, suite: &Suite) -> Result<(), String> {
    let server = suite.server(program).pid();
    let bystander = Bystander::now(suite.server(program))?;
    let before = settled(server)?;
    let groups = attacked(program, suite, &bystander)?;
    eventually("its processes and groups are gone", || {
        descendants(server) == before.processes
            && !groups.iter().any(|group| group.exists())
    })?;
    let after = Traces::of(server);
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

/// What there is while the server has no box, not even one that is going or
/// coming.
fn settled(server: i32) -> Result<Traces, String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let first = Traces::of(server);
        sleep(Duration::from_millis(100));
        let second = Traces::of(server);
        if is_idle(server) && first == second {
            return Ok(second);
        }
        if Instant::now() > deadline {
            return Err("never: the server has no box".to_owned());
        }
    }
}

/// Whether no process of the server is in a box, or dead and not gone, which
/// has no mounts to tell.
fn is_idle(server: i32) -> bool {
    let is_box = |group: &Path| {
        let name = group.file_name().unwrap_or_default();
        name.to_string_lossy().starts_with("box-")
    };
    descendants(server).into_iter().all(|pid| {
        fs::read_to_string(format!("/proc/{pid}/mountinfo")).is_ok()
            && !groups_of(pid).iter().any(|group| is_box(group))
    })
}

/// Waits for something that happens soon.
fn eventually(what: &str, is_so: impl Fn() -> bool) -> Result<(), String> {
    let deadline = Instant::now() + PATIENCE;
    while !is_so() {
        if Instant::now() > deadline {
            return Err(format!("never: {what}"));
        }
        sleep(Duration::from_millis(20));
    }
    Ok(())
}
