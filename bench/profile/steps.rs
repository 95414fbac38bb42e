//! Where the time of one request went: from one thing that has to happen to
//! the next.

use syscalls::Sysno;

use crate::event::What;
use crate::window::{Role, Window};

/// A thing that happens in every run, and when one event is it.
struct Step {
    name: &'static str,
    role: Role,
    is: fn(&What) -> bool,
}

const SENDS: [Sysno; 3] = [Sysno::sendto, Sysno::sendmsg, Sysno::writev];
const READS: [Sysno; 4] =
    [Sysno::recvfrom, Sysno::recvmsg, Sysno::read, Sysno::readv];

fn sends(what: &What) -> bool {
    matches!(what, What::Enter(call) if SENDS.contains(call))
}

fn has_read(what: &What) -> bool {
    matches!(what, What::Return(call, 1..) if READS.contains(call))
}

fn has_received(what: &What) -> bool {
    matches!(what, What::Return(Sysno::recvmsg, 1..))
}

/// In the order in which they happen. The messages of a box are sent with
/// sendmsg, for they carry descriptors.
const STEPS: [Step; 10] = [
    Step { name: "the client sends", role: Role::Client, is: sends },
    Step { name: "the server has read it", role: Role::Server, is: has_read },
    Step { name: "the server asks the box", role: Role::Server, is: sends },
    Step {
        name: "the program's process has read it",
        role: Role::Program,
        is: has_received,
    },
    Step {
        name: "it calls execve",
        role: Role::Program,
        is: |what| *what == What::Enter(Sysno::execve),
    },
    Step {
        name: "the program runs",
        role: Role::Program,
        is: |what| *what == What::Exec,
    },
    Step {
        name: "it ends",
        role: Role::Program,
        is: |what| *what == What::Enter(Sysno::exit_group),
    },
    Step { name: "init reports it", role: Role::Init, is: sends },
    Step {
        name: "the server has read that",
        role: Role::Server,
        is: has_received,
    },
    Step { name: "the server answers", role: Role::Server, is: sends },
];

/// The answer has arrived.
const LAST: &str = "the client has the answer";

/// The names of all of them.
pub(crate) fn names() -> Vec<&'static str> {
    STEPS.iter().map(|step| step.name).chain([LAST]).collect()
}

/// When each was, in microseconds since the first; `None` where one is
/// missing, as of a run that did not go that way.
pub(crate) fn times(window: &Window) -> Option<Vec<f64>> {
    let mut events = window.events.iter();
    let mut times = Vec::new();
    for step in &STEPS {
        let found = events.find(|event| {
            window.role(event.process) == step.role && (step.is)(&event.what)
        });
        times.push(found?.at);
    }
    // The client reads more than once where the answer comes in parts.
    let read = window.events.iter().rev().find(|event| {
        window.role(event.process) == Role::Client && has_read(&event.what)
    });
    times.push(read?.at);
    let first = times[0];
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let since = |at: u64| at.saturating_sub(first) as f64 / 1e3;
    Some(times.into_iter().map(since).collect())
}

/// How long the program ran, in microseconds: from the end of execve until it
/// asks to end.
pub(crate) fn run_time(window: &Window) -> Option<f64> {
    let mut events = window.events.iter();
    let begun = events.find(|event| event.what == What::Exec)?;
    let ended = events.find(|event| {
        event.process == begun.process
            && event.what == What::Enter(Sysno::exit_group)
    })?;
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let time = ended.at.saturating_sub(begun.at) as f64;
    Some(time / 1e3)
}
