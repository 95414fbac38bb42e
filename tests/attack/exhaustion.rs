//! Programs that want more than they may have: they end as promised, others
//! hardly notice, and nothing of them stays.

use std::fs;
use std::path::Path;
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use crate::bystander::Bystander;
use crate::program::Program;
use crate::suite::Suite;
use crate::traces::{Traces, descendants, groups_of, watched};

pub(crate) fn check(program: &Program, suite: &Suite) -> Result<(), String> {
    let server = suite.server(program).pid();
    let bystander = Bystander::now(suite.server(program))?;
    // The box of what ran before may still be going.
    eventually("the server has no box", || is_idle(server))?;
    let before = Traces::of(server);
    let mut results = (Ok(()), Ok(()));
    let groups = watched(server, || {
        results = scope(|scope| {
            let attack = scope.spawn(|| program.attack(suite));
            let beside = bystander
                .lives_beside(suite.server(program), || attack.is_finished());
            (attack.join().expect("it does not panic"), beside)
        });
    });
    results.0?;
    results.1?;
    if groups.is_empty() {
        return Err("no control group was seen".to_owned());
    }
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
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_so() {
        if Instant::now() > deadline {
            return Err(format!("never: {what}"));
        }
        sleep(Duration::from_millis(20));
    }
    Ok(())
}
