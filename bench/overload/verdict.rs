//! What is promised under overload, and whether it was kept.

use std::collections::BTreeSet;
use std::fmt;
use std::time::Duration;

use serde::Serialize;

use crate::Seen;
use crate::request::{Answer, Exchange};

/// Without the wait, a run takes at most so many times its unloaded time.
const SLOWER: f64 = 1.5;
/// Of those who waited as they were told, so many are admitted.
const ADMITTED: f64 = 0.95;
/// What a server under overload takes more than at rest.
const MEMORY_BYTES: u64 = 64 << 20;
const DESCRIPTORS: u64 = 1_024;
/// What may be kept when it is over: allocators keep some.
const KEPT_BYTES: u64 = 16 << 20;
/// Honest clients beside a hostile one get so much of what they get alone.
const SHARE: f64 = 0.5;

/// One promise, and what was measured.
#[derive(Debug, Serialize)]
pub(crate) struct Promise {
    pub(crate) what: String,
    pub(crate) measured: String,
    pub(crate) bound: String,
    pub(crate) is_kept: bool,
}

impl fmt::Display for Promise {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { what, measured, bound, is_kept } = self;
        let verdict = if *is_kept { "kept" } else { "MISSED" };
        write!(formatter, "{verdict}: {what}: {measured} ({bound})")
    }
}

/// All of them.
pub(crate) fn promises(seen: &Seen) -> Vec<Promise> {
    let mut promises = vec![right(seen), refused(seen)];
    promises.extend(languages(seen).into_iter().map(|l| speed(seen, l)));
    promises.push(honest_wait(seen));
    promises.extend(bounded(seen));
    promises.extend(fair(seen));
    promises
}

/// Every exchange of the overload.
pub(crate) fn all(seen: &Seen) -> impl Iterator<Item = &Exchange> {
    let patient = seen.overload.patient.iter();
    let patient = patient.flat_map(|patient| &patient.asked);
    seen.overload.crowd.iter().chain(patient)
}

pub(crate) fn languages(seen: &Seen) -> BTreeSet<&'static str> {
    seen.unloaded.iter().map(|exchange| exchange.language).collect()
}

/// The middle one of the times that a run took without its wait.
pub(crate) fn median<'a>(seen: impl Iterator<Item = &'a Exchange>) -> Duration {
    middle(seen.filter_map(Exchange::without_queue))
}

pub(crate) fn middle(times: impl Iterator<Item = Duration>) -> Duration {
    let mut times: Vec<Duration> = times.collect();
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

fn right(seen: &Seen) -> Promise {
    let is_run =
        |exchange: &&Exchange| matches!(exchange.answer, Answer::Ran { .. });
    let admitted = all(seen).filter(is_run).count();
    let right = all(seen).filter(|e| e.without_queue().is_some()).count();
    Promise {
        what: "admitted programs print their own word".to_owned(),
        measured: format!("{right} of {admitted}"),
        bound: "all, and some".to_owned(),
        is_kept: right == admitted && right > 0,
    }
}

fn refused(seen: &Seen) -> Promise {
    let refused = all(seen).filter(|e| e.is_refused()).count();
    let is_broken =
        |exchange: &&Exchange| matches!(exchange.answer, Answer::Broken);
    let broken = all(seen).filter(is_broken).count();
    Promise {
        what: "the others are told 503 and when to come back".to_owned(),
        measured: format!("{refused}, and {broken} otherwise"),
        bound: "0 otherwise, and some refused".to_owned(),
        is_kept: broken == 0 && refused > 0,
    }
}

fn speed(seen: &Seen, language: &'static str) -> Promise {
    let of = |exchange: &&Exchange| exchange.language == language;
    let unloaded = median(seen.unloaded.iter().filter(of)).as_secs_f64();
    let full = median(seen.full.iter().filter(of)).as_secs_f64();
    let loaded = median(all(seen).filter(of)).as_secs_f64();
    let ratio = loaded / unloaded;
    Promise {
        what: format!("p50 of a {language} run less its wait"),
        measured: format!(
            "{:.0} ms, {:.0} ms unloaded: {ratio:.2} times ({:.0} ms with \
             all boxes taken and nobody refused)",
            loaded * 1e3,
            unloaded * 1e3,
            full * 1e3
        ),
        bound: format!("{SLOWER} times"),
        is_kept: unloaded > 0.0 && loaded > 0.0 && ratio <= SLOWER,
    }
}

/// Whether those who came back at the time that they were told, while the
/// overload went on, were admitted.
fn honest_wait(seen: &Seen) -> Promise {
    let returns = || {
        let patient = seen.overload.patient.iter();
        patient.flat_map(|patient| patient.asked.iter().skip(1))
    };
    let count = returns().count();
    let admitted = returns().filter(|e| !e.is_refused()).count();
    #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
    let share = admitted as f64 / count.max(1) as f64;
    Promise {
        what: "who waits as long as told is admitted then".to_owned(),
        measured: format!("{admitted} of {count}: {:.0} %", share * 1e2),
        bound: format!("{:.0} %, and some", ADMITTED * 1e2),
        is_kept: count > 0 && share >= ADMITTED,
    }
}

fn bounded(seen: &Seen) -> Vec<Promise> {
    let most = |of: fn(&crate::Usage) -> u64| {
        seen.usage.iter().map(|(_, usage)| of(usage)).max().unwrap_or(0)
    };
    let mut promises = Vec::new();
    let mut promise = |what: &str, unit, before: u64, after: u64, more| {
        let shift = if unit == " MiB" { 20 } else { 0 };
        promises.push(Promise {
            what: what.to_owned(),
            measured: format!(
                "{}{unit}, {} before",
                after >> shift,
                before >> shift
            ),
            bound: format!("at most {}{unit} more", more >> shift),
            is_kept: after <= before + more,
        });
    };
    let (before, after) = (&seen.before, &seen.after);
    let memory = most(|usage| usage.rss_bytes);
    promise("most memory", " MiB", before.rss_bytes, memory, MEMORY_BYTES);
    let open = most(|usage| usage.descriptors);
    promise("most descriptors", "", before.descriptors, open, DESCRIPTORS);
    promise(
        "memory after it",
        " MiB",
        before.rss_bytes,
        after.rss_bytes,
        KEPT_BYTES,
    );
    for ((name, before), (_, after)) in
        before.counts().into_iter().zip(after.counts())
    {
        promise(&format!("{name} after it"), "", before, after, 0);
    }
    promises
}

fn fair(seen: &Seen) -> Vec<Promise> {
    let right = |of: &[Exchange]| {
        of.iter().filter(|e| e.without_queue().is_some()).count()
    };
    let (sent, answered) = (seen.beside.len(), right(&seen.beside));
    // Alone they are watched for another time.
    let a_second = |of: &[Exchange]| {
        let begun = of.iter().map(|e| e.begun).min();
        let ended = of.iter().map(|e| e.begun + e.total).max();
        let lasted = begun.zip(ended).map_or(Duration::ZERO, |(b, e)| e - b);
        #[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
        let rate = right(of) as f64 / lasted.as_secs_f64().max(1e-9);
        rate
    };
    let share = a_second(&seen.beside) / a_second(&seen.alone).max(1e-9);
    vec![
        Promise {
            what: "beside a hostile client, honest ones are answered"
                .to_owned(),
            measured: format!("{answered} of {sent}"),
            bound: "all".to_owned(),
            is_kept: answered == sent && sent > 0,
        },
        Promise {
            what: "and get of what they get alone".to_owned(),
            measured: format!("{:.0} %", share * 1e2),
            bound: format!("at least {:.0} %", SHARE * 1e2),
            is_kept: share >= SHARE,
        },
    ]
}
