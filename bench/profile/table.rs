//! What the windows of a trace come to, as tables.

use std::collections::BTreeMap;

use syscalls::Sysno;

use crate::row::Series;
use crate::spent::Spent;
use crate::window::Role;

/// How many system calls are named.
const CALLS: usize = 6;

/// Points of time in one window each, in microseconds: when it was, and how
/// long after the point before.
pub(crate) fn of_times(names: &[&str], windows: &[Vec<f64>]) -> String {
    let mut text = "| | µs since the first | µs since the one before |\n\
         |---|---|---|\n"
        .to_owned();
    for (number, name) in names.iter().enumerate() {
        let at = median(windows.iter().map(|times| times[number]));
        if number == 0 {
            text += &format!("| {name} | {at:.0} | |\n");
            continue;
        }
        let took =
            windows.iter().map(|times| times[number] - times[number - 1]);
        text += &format!("| {name} | {at:.0} | {:.0} |\n", median(took));
    }
    text
}

/// Medians of what each role spent in one window, in microseconds.
pub(crate) fn of_spent(windows: &[BTreeMap<Role, Spent>]) -> String {
    let mut roles: Vec<Role> =
        windows.iter().flat_map(|window| window.keys().copied()).collect();
    roles.sort_unstable();
    roles.dedup();
    let mut text = "| | runs, µs | waits for a CPU, µs | outside of system \
         calls, µs | in system calls, µs, and how many |\n|---|---|---|---|---|\n"
        .to_owned();
    for role in roles {
        let nothing = Spent::default();
        let of_role: Vec<&Spent> = windows
            .iter()
            .map(|window| window.get(&role).unwrap_or(&nothing))
            .collect();
        let middle = |of: fn(&Spent) -> u64| {
            median(of_role.iter().map(|one| micros(of(one))))
        };
        let in_calls = |one: &Spent| -> u64 {
            one.calls.values().map(|(_, time)| time).sum()
        };
        let outside = median(
            of_role
                .iter()
                .map(|one| micros(one.running.saturating_sub(in_calls(one)))),
        );
        text += &format!(
            "| {} | {:.0} | {:.0} | {outside:.0} | {} |\n",
            role.name(),
            middle(|one| one.running),
            middle(|one| one.waiting),
            dearest(&of_role),
        );
    }
    text
}

/// The system calls with the most CPU time.
fn dearest(windows: &[&Spent]) -> String {
    let mut calls: Vec<Sysno> =
        windows.iter().flat_map(|one| one.calls.keys().copied()).collect();
    calls.sort_unstable();
    calls.dedup();
    let of_call = |call: Sysno| {
        let found = || {
            windows.iter().map(move |one| {
                one.calls.get(&call).copied().unwrap_or_default()
            })
        };
        let time = median(found().map(|(_, time)| micros(time)));
        (call, time, median(found().map(|(count, _)| micros(count * 1_000))))
    };
    let mut found: Vec<_> = calls.into_iter().map(of_call).collect();
    found.sort_by(|one, other| other.1.total_cmp(&one.1));
    found.truncate(CALLS);
    // What takes less than half a microsecond would be shown as none.
    found.retain(|(_, time, _)| *time >= 0.5);
    let words = found.iter().map(|(call, time, count)| {
        format!("{} {time:.0} ({count:.0})", call.name())
    });
    words.collect::<Vec<_>>().join(", ")
}

pub(crate) fn median(figures: impl Iterator<Item = f64>) -> f64 {
    Series::new("", &figures.collect::<Vec<_>>()).p50
}

#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn micros(nanoseconds: u64) -> f64 {
    nanoseconds as f64 / 1e3
}
