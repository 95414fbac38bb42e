//! What the kernel's trace points told: lines of `perf script`.

use syscalls::Sysno;

/// The system call with which the process that is watched says where it is:
/// nothing else here calls it.
pub(crate) const MARK: Sysno = Sysno::getsid;

/// Says that one phase ends and another begins.
pub(crate) fn mark() {
    let _ = rustix::process::getsid(None);
}

/// One event.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Event {
    /// Nanoseconds since the machine started.
    pub(crate) at: u64,
    pub(crate) cpu: usize,
    /// Who ran then.
    pub(crate) process: i32,
    pub(crate) thread: i32,
    pub(crate) what: What,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum What {
    Enter(Sysno),
    Return(Sysno, i64),
    /// The thread makes way for `next`, though it could go on if `can_run`.
    Switch {
        can_run: bool,
        next: i32,
    },
    Wake(i32),
    Fork(i32),
    Exec,
    End,
}

/// The trace points, as perf names them.
pub(crate) const POINTS: [&str; 7] = [
    "sched:sched_switch",
    "sched:sched_waking",
    "sched:sched_process_fork",
    "sched:sched_process_exec",
    "sched:sched_process_exit",
    "raw_syscalls:sys_enter",
    "raw_syscalls:sys_exit",
];

/// What `perf script` is to print of each event.
pub(crate) const FIELDS: &str = "pid,tid,cpu,time,event,trace";

impl Event {
    /// Of a line such as `12/34 [001] 5.000000006: sched:sched_waking: …`;
    /// `None` where nothing here asks for what it tells.
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let (ids, rest) = line.trim_start().split_once(' ')?;
        let (process, thread) = ids.split_once('/')?;
        let (cpu, rest) = rest.trim_start().split_once(' ')?;
        let cpu = cpu.strip_prefix('[')?.strip_suffix(']')?;
        let (time, rest) = rest.trim_start().split_once(": ")?;
        let (seconds, fraction) = time.split_once('.')?;
        let seconds: u64 = seconds.parse().ok()?;
        let (point, told) = rest.trim_start().split_once(": ")?;
        Some(Self {
            at: seconds * 1_000_000_000 + fraction.parse::<u64>().ok()?,
            cpu: cpu.parse().ok()?,
            process: process.parse().ok()?,
            thread: thread.parse().ok()?,
            what: What::parse(point, told.trim_start())?,
        })
    }
}

impl What {
    fn parse(point: &str, told: &str) -> Option<Self> {
        let call = |number: &str| Sysno::new(number.parse().ok()?);
        Some(match point.rsplit(':').next()? {
            "sys_enter" => {
                let (number, _) = told.strip_prefix("NR ")?.split_once(' ')?;
                Self::Enter(call(number)?)
            }
            "sys_exit" => {
                let (number, result) =
                    told.strip_prefix("NR ")?.split_once(" = ")?;
                Self::Return(call(number)?, result.trim().parse().ok()?)
            }
            "sched_switch" => Self::Switch {
                can_run: value(told, " prev_state=")?.starts_with('R'),
                next: value(told, " next_pid=")?.parse().ok()?,
            },
            "sched_waking" => Self::Wake(value(told, " pid=")?.parse().ok()?),
            "sched_process_fork" => {
                Self::Fork(value(told, " child_pid=")?.parse().ok()?)
            }
            "sched_process_exec" => Self::Exec,
            "sched_process_exit" => Self::End,
            _ => return None,
        })
    }
}

/// The word behind `name`; a process's own name, which comes first, may hold
/// anything.
fn value<'a>(told: &'a str, name: &str) -> Option<&'a str> {
    let (_, rest) = told.rsplit_once(name)?;
    rest.split(' ').next()
}
