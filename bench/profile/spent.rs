//! Where the CPU time of a window went: for each who took part, how long it
//! ran, how long it could have run but had no CPU, and its system calls.

use std::collections::BTreeMap;

use syscalls::Sysno;

use crate::event::{Event, What};
use crate::window::{Role, Window};

/// Nanoseconds of one role.
#[derive(Debug, Default)]
pub(crate) struct Spent {
    pub(crate) running: u64,
    pub(crate) waiting: u64,
    /// How often each was called, and the CPU time in it.
    pub(crate) calls: BTreeMap<Sysno, (u64, u64)>,
}

#[derive(Default)]
struct Thread {
    process: Option<i32>,
    running_since: Option<u64>,
    can_run_since: Option<u64>,
    ran: u64,
    waited: u64,
    /// The call it is in, and what it had run when it began.
    call: Option<(Sysno, u64)>,
    calls: BTreeMap<Sysno, (u64, u64)>,
}

/// What each role spent.
pub(crate) fn of(window: &Window) -> BTreeMap<Role, Spent> {
    let Some((first, last)) = window.events.first().zip(window.events.last())
    else {
        return BTreeMap::new();
    };
    let mut threads: BTreeMap<i32, Thread> = BTreeMap::new();
    let mut known_cpus = Vec::new();
    for event in &window.events {
        // Who is seen first on a CPU was on it from the start.
        if !known_cpus.contains(&event.cpu) {
            known_cpus.push(event.cpu);
            let thread = threads.entry(event.thread).or_default();
            thread.running_since = Some(first.at);
        }
        follow(&mut threads, event);
    }
    let mut spent: BTreeMap<Role, Spent> = BTreeMap::new();
    for (number, mut thread) in threads {
        thread.stop(last.at);
        thread.leave_call();
        // The idle threads of the kernel.
        if number == 0 {
            continue;
        }
        let role = thread.process.map_or(Role::Rest, |one| window.role(one));
        let of_role = spent.entry(role).or_default();
        of_role.running += thread.ran;
        of_role.waiting += thread.waited;
        for (call, (count, time)) in thread.calls {
            let sum = of_role.calls.entry(call).or_default();
            *sum = (sum.0 + count, sum.1 + time);
        }
    }
    spent
}

fn follow(threads: &mut BTreeMap<i32, Thread>, event: &Event) {
    let at = event.at;
    let thread = threads.entry(event.thread).or_default();
    thread.process = Some(event.process);
    // It follows perf, whose own events are not there.
    thread.start(at);
    match event.what {
        What::Enter(call) => {
            thread.call = Some((call, thread.ran_until(at)));
            thread.calls.entry(call).or_default().0 += 1;
        }
        What::Return(..) => {
            // The time of a call that began before is not all in here.
            thread.ran = thread.ran_until(at);
            thread.running_since = Some(at);
            thread.leave_call();
        }
        What::Wake(other) => {
            let other = threads.entry(other).or_default();
            if other.running_since.is_none() {
                other.can_run_since.get_or_insert(at);
            }
        }
        What::Switch { can_run, next } => {
            thread.stop(at);
            thread.can_run_since = can_run.then_some(at);
            threads.entry(next).or_default().start(at);
        }
        What::Fork(_) | What::Exec | What::End => {}
    }
}

impl Thread {
    fn ran_until(&self, at: u64) -> u64 {
        self.ran
            + self.running_since.map_or(0, |since| at.saturating_sub(since))
    }

    /// Runs from then on, if it did not already.
    fn start(&mut self, at: u64) {
        if self.running_since.is_none() {
            self.running_since = Some(at);
            let since = self.can_run_since.take();
            self.waited += since.map_or(0, |since| at.saturating_sub(since));
        }
    }

    fn stop(&mut self, at: u64) {
        self.ran = self.ran_until(at);
        self.running_since = None;
    }

    fn leave_call(&mut self) {
        if let Some((call, before)) = self.call.take() {
            let time = self.ran.saturating_sub(before);
            self.calls.entry(call).or_default().1 += time;
        }
    }
}
