//! The promises under overload. Each function prints a row for each promise and
//! returns whether it was kept.

use std::collections::BTreeSet;
use std::time::Duration;

use sandpiper_testkit::Usage;

use crate::request::{Answer, TimedRequest};

/// The longest time from the start of an idle server until it listens.
const START_MS: u128 = 150;
/// Maximum memory of an idle server.
const IDLE_KIB: u64 = 38 << 10;
/// The longest time of a run without its wait, as a multiple of its time
/// without load.
const MAX_SLOWDOWN: f64 = 1.5;
/// Maximum memory under overload, beyond that at rest.
const MAX_MORE_KIB: u64 = 64 << 10;
/// Maximum number of descriptors under overload, beyond those at rest.
const MAX_MORE_DESCRIPTORS: u64 = 1_024;
/// Maximum memory after the overload, beyond that before: allocators keep
/// some.
const MAX_KEPT_KIB: u64 = 16 << 10;
/// The least throughput of honest clients beside a hostile one, in percent of
/// their throughput alone.
const MIN_PERCENT: f64 = 50.0;

/// Every answer is right or an honest refusal, and no run is slow.
pub(crate) fn of_answers(
    unloaded: &[TimedRequest],
    seen: &[TimedRequest],
) -> Vec<bool> {
    let count =
        |is: fn(&Answer) -> bool| seen.iter().filter(|e| is(&e.answer)).count();
    let admitted = count(|answer| matches!(answer, Answer::Ran { .. }));
    let refused = count(|answer| matches!(answer, Answer::Refused { .. }));
    let broken = count(|answer| matches!(answer, Answer::Broken));
    let right = right(seen);
    let mut kept = vec![
        promise(
            "admitted programs print their own word",
            &format!("{right} of {admitted}"),
            "all, and some",
            right == admitted && right > 0,
        ),
        promise(
            "the others get 503 and a Retry-After of 1 to 15 s",
            &format!("{refused}, and {broken} otherwise"),
            "0 otherwise, and some refused",
            broken == 0 && refused > 0,
        ),
    ];
    let languages: BTreeSet<_> = unloaded.iter().map(|e| e.language).collect();
    for language in languages {
        let of = |exchange: &&TimedRequest| exchange.language == language;
        let alone = median(unloaded.iter().filter(of));
        let loaded = median(seen.iter().filter(of));
        let times = loaded / alone;
        kept.push(promise(
            &format!("p50 of a {language} run less its wait"),
            &format!(
                "{loaded:.0} ms, {alone:.0} ms unloaded: {times:.2} times"
            ),
            &format!("{MAX_SLOWDOWN} times"),
            times > 0.0 && times <= MAX_SLOWDOWN,
        ));
    }
    kept
}

/// A server begins small, its queue is bounded, and nothing of it stays.
pub(crate) fn of_usage(
    start: Duration,
    before: &Usage,
    most: &Usage,
    after: &Usage,
) -> Vec<bool> {
    let memory = |what, before: u64, after: u64, more: u64| {
        let [was, is, bound] = [before, after, more].map(|kib| kib >> 10);
        let measured = format!("{is} MiB, {was} before");
        let bound = format!("at most {bound} MiB more");
        promise(what, &measured, &bound, after <= before + more)
    };
    let count = |what: &str, before: u64, after: u64, more: u64| {
        let measured = format!("{after}, {before} before");
        let bound = format!("at most {more} more");
        promise(what, &measured, &bound, after <= before + more)
    };
    let (descriptors, open) = (before.descriptors, most.descriptors);
    let ms = start.as_millis();
    let (measured, bound) = (format!("{ms} ms"), format!("{START_MS} ms"));
    let mut kept = vec![
        promise("p50 of start to listening", &measured, &bound, ms <= START_MS),
        memory("memory of an idle server", 0, before.memory_kib, IDLE_KIB),
        memory("most memory", before.memory_kib, most.memory_kib, MAX_MORE_KIB),
        count("most descriptors", descriptors, open, MAX_MORE_DESCRIPTORS),
        memory(
            "memory after it",
            before.memory_kib,
            after.memory_kib,
            MAX_KEPT_KIB,
        ),
    ];
    for ((name, before), (_, after)) in
        before.counts().into_iter().zip(after.counts())
    {
        kept.push(count(&format!("{name} after it"), before, after, 0));
    }
    kept
}

/// Nothing of a run is left on the host.
pub(crate) fn of_traces(are_same: bool) -> bool {
    let what = "processes, mounts and files after it";
    let measured = if are_same { "as before" } else { "others" };
    promise(what, measured, "as before", are_same)
}

/// A hostile client leaves the others their share.
pub(crate) fn of_share(
    alone: &[TimedRequest],
    beside: &[TimedRequest],
) -> Vec<bool> {
    // The two measurements do not last equally long.
    let a_second = |of: &[TimedRequest]| {
        let begun = of.iter().map(|e| e.begun).min();
        let ended = of.iter().map(|e| e.begun + e.total).max();
        let lasted = begun.zip(ended).map_or(Duration::ZERO, |(b, e)| e - b);
        let count = right(of) as f64;
        count / lasted.as_secs_f64()
    };
    let (sent, answered) = (beside.len(), right(beside));
    let percent = a_second(beside) / a_second(alone) * 1e2;
    vec![
        promise(
            "beside a hostile client, honest ones are answered",
            &format!("{answered} of {sent}"),
            "all",
            answered == sent && sent > 0,
        ),
        promise(
            "beside it, they get this part of what they get alone",
            &format!("{percent:.0} %"),
            &format!("at least {MIN_PERCENT} %"),
            percent >= MIN_PERCENT,
        ),
    ]
}

/// All clients of one address are answered in the end.
pub(crate) fn of_class(last: &[TimedRequest]) -> bool {
    let (sent, answered) = (last.len(), right(last));
    promise(
        "and a class behind one address finishes, retrying by itself",
        &format!("{answered} of {sent}"),
        "all",
        answered == sent && sent > 0,
    )
}

fn promise(what: &str, measured: &str, bound: &str, is_kept: bool) -> bool {
    let verdict = if is_kept { "kept" } else { "**missed**" };
    println!("| {what} | {measured} | {bound} | {verdict} |");
    is_kept
}

/// Counts the runs that were right.
pub(crate) fn right<'a>(
    exchanges: impl IntoIterator<Item = &'a TimedRequest>,
) -> usize {
    let exchanges = exchanges.into_iter();
    exchanges.filter(|e| e.without_queue().is_some()).count()
}

/// Returns the median time of runs without their wait, in milliseconds.
fn median<'a>(exchanges: impl Iterator<Item = &'a TimedRequest>) -> f64 {
    let mut times: Vec<Duration> =
        exchanges.filter_map(TimedRequest::without_queue).collect();
    times.sort_unstable();
    let middle = times.get(times.len() / 2);
    middle.map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
}
