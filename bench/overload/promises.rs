//! What is promised under overload: a row for each is printed, and whether it
//! was kept is given back.

use std::collections::BTreeSet;
use std::time::Duration;

use sandpiper_testkit::Usage;

use crate::crowd::Overload;
use crate::request::{Answer, Exchange};

/// Before any load: until it listens, and the memory that it then has.
const START_MS: u128 = 150;
const IDLE_KIB: u64 = 38 << 10;
/// Without the wait, a run takes at most so many times its unloaded time.
const SLOWER: f64 = 1.5;
/// Of those who waited as they were told, so many percent are admitted.
const ADMITTED: usize = 95;
/// What a server under overload takes more than at rest.
const MEMORY_KIB: u64 = 64 << 10;
const DESCRIPTORS: u64 = 1_024;
/// What may be kept when it is over: allocators keep some.
const KEPT_KIB: u64 = 16 << 10;
/// Honest clients beside a hostile one get so many percent of what they get
/// alone.
const SHARE: f64 = 50.0;

/// Nobody has a wrong answer, none, or a slow one; and who waited has one.
pub(crate) fn of_answers(unloaded: &[Exchange], seen: &Overload) -> Vec<bool> {
    let all = || seen.crowd.iter().chain(seen.patient.iter().flatten());
    let count =
        |is: fn(&Answer) -> bool| all().filter(|e| is(&e.answer)).count();
    let admitted = count(|answer| matches!(answer, Answer::Ran { .. }));
    let refused = count(|answer| matches!(answer, Answer::Refused { .. }));
    let broken = count(|answer| matches!(answer, Answer::Broken));
    let right = right(all());
    let mut kept = vec![
        promise(
            "admitted programs print their own word",
            &format!("{right} of {admitted}"),
            "all, and some",
            right == admitted && right > 0,
        ),
        promise(
            "the others are told 503 and when to come back",
            &format!("{refused}, and {broken} otherwise"),
            "0 otherwise, and some refused",
            broken == 0 && refused > 0,
        ),
    ];
    let languages: BTreeSet<_> = unloaded.iter().map(|e| e.language).collect();
    for language in languages {
        let of = |exchange: &&Exchange| exchange.language == language;
        let alone = median(unloaded.iter().filter(of));
        let loaded = median(all().filter(of));
        let times = loaded / alone;
        kept.push(promise(
            &format!("p50 of a {language} run less its wait"),
            &format!(
                "{loaded:.0} ms, {alone:.0} ms unloaded: {times:.2} times"
            ),
            &format!("{SLOWER} times"),
            times > 0.0 && times <= SLOWER,
        ));
    }
    // Those who came back when they were told, while the overload went on.
    let returns = || seen.patient.iter().flat_map(|asked| &asked[1..]);
    let count = returns().count();
    let admitted = returns().filter(|e| e.retry_after().is_none()).count();
    let percent = admitted * 100 / count.max(1);
    kept.push(promise(
        "who waits as long as told is admitted then",
        &format!("{admitted} of {count}: {percent} %"),
        &format!("{ADMITTED} %, and some"),
        percent >= ADMITTED,
    ));
    kept
}

/// A server begins small; what waits is bounded, and nothing of it stays.
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
        memory("most memory", before.memory_kib, most.memory_kib, MEMORY_KIB),
        count("most descriptors", descriptors, open, DESCRIPTORS),
        memory(
            "memory after it",
            before.memory_kib,
            after.memory_kib,
            KEPT_KIB,
        ),
    ];
    for ((name, before), (_, after)) in
        before.counts().into_iter().zip(after.counts())
    {
        kept.push(count(&format!("{name} after it"), before, after, 0));
    }
    kept
}

pub(crate) fn of_traces(are_same: bool) -> bool {
    let what = "processes, mounts and files after it";
    let measured = if are_same { "as before" } else { "others" };
    promise(what, measured, "as before", are_same)
}

/// What the hostile client leaves to honest ones.
pub(crate) fn of_share(alone: &[Exchange], beside: &[Exchange]) -> Vec<bool> {
    // Alone they are watched for another time.
    let a_second = |of: &[Exchange]| {
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
            "and get of what they get alone",
            &format!("{percent:.0} %"),
            &format!("at least {SHARE} %"),
            percent >= SHARE,
        ),
    ]
}

fn promise(what: &str, measured: &str, bound: &str, is_kept: bool) -> bool {
    let verdict = if is_kept { "kept" } else { "**missed**" };
    println!("| {what} | {measured} | {bound} | {verdict} |");
    is_kept
}

pub(crate) fn right<'a>(
    exchanges: impl IntoIterator<Item = &'a Exchange>,
) -> usize {
    let exchanges = exchanges.into_iter();
    exchanges.filter(|e| e.without_queue().is_some()).count()
}

/// The middle one of the times that runs took without their wait, in
/// milliseconds.
fn median<'a>(exchanges: impl Iterator<Item = &'a Exchange>) -> f64 {
    let mut times: Vec<Duration> =
        exchanges.filter_map(Exchange::without_queue).collect();
    times.sort_unstable();
    let middle = times.get(times.len() / 2);
    middle.map_or(f64::NAN, |time| time.as_secs_f64() * 1e3)
}
