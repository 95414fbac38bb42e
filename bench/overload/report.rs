//! The figures of an overload as JSON, as a table and as a plot.

use std::fs;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::plot::{self, Line, Panel};
use crate::request::{Answer, Exchange};
use crate::verdict::{Promise, all, middle};
use crate::{Seen, Settings, figures};

/// Writes all of it to docs/.
pub(crate) fn write(
    settings: Settings,
    origin: &str,
    seen: &Seen,
    promises: &[Promise],
) {
    let folder = figures::documents();
    let result = json!({
        "origin": origin,
        "runs_per_second": round(seen.capacity),
        "requests_per_second": round(seen.capacity * settings.times),
        "clients": settings.clients,
        "lasted_s": round(seen.overload.lasted.as_secs_f64()),
        "promises": promises,
        "retry_after": retry_after(seen),
        "patient": patient(seen),
        "hostile": {
            "requests": seen.hostile_requests,
            "alone": waits(&seen.alone),
            "beside": waits(&seen.beside),
        },
        "seconds": seconds(seen),
    });
    let text = format!("{result:#}\n");
    fs::write(folder.join("overload.json"), text).unwrap();
    plot(seen);
    let table = table(settings, origin, seen, promises);
    figures::replace(&folder.join("overload.md"), "figures", &table).unwrap();
}

fn table(
    settings: Settings,
    origin: &str,
    seen: &Seen,
    promises: &[Promise],
) -> String {
    let mut text = format!(
        "{origin}. It can do {:.1} runs a second; {:.0} requests a second \
         came from {} clients for {:.0} s.\n\n\
         | promise | measured | bound | |\n|---|---|---|---|\n",
        seen.capacity,
        seen.capacity * settings.times,
        settings.clients,
        seen.overload.lasted.as_secs_f64(),
    );
    for Promise { what, measured, bound, is_kept } in promises {
        let verdict = if *is_kept { "kept" } else { "**missed**" };
        text += &format!("| {what} | {measured} | {bound} | {verdict} |\n");
    }
    let told = retry_after(seen);
    let patient = patient(seen);
    text += &format!(
        "\nRefused requests were told to come back in {} s (p50), {} s at \
         most. A patient client had its answer {} s after its first request \
         (p50).\n\nAn honest client's request took {} ms (p50), {} ms (p95) \
         alone; beside the hostile client, which sent {} requests, {} ms and \
         {} ms.\n",
        told["p50_s"],
        told["max_s"],
        patient["answered_p50_s"],
        waits(&seen.alone)["p50_ms"],
        waits(&seen.alone)["p95_ms"],
        seen.hostile_requests,
        waits(&seen.beside)["p50_ms"],
        waits(&seen.beside)["p95_ms"],
    );
    text
}

/// What those who were refused were told.
fn retry_after(seen: &Seen) -> Value {
    let told = |exchange: &Exchange| match exchange.answer {
        Answer::Refused { retry_after } => Some(retry_after),
        _ => None,
    };
    let most = all(seen).filter_map(told).max().unwrap_or_default();
    json!({
        "p50_s": middle(all(seen).filter_map(told)).as_secs(),
        "max_s": most.as_secs(),
    })
}

fn patient(seen: &Seen) -> Value {
    let clients = &seen.overload.patient;
    let returns: usize =
        clients.iter().map(|patient| patient.asked.len() - 1).sum();
    let answered = clients.iter().filter_map(|patient| {
        let (first, last) = (patient.asked.first()?, patient.asked.last()?);
        let end = last.begun + last.total;
        last.without_queue().map(|_| end - first.begun)
    });
    json!({
        "clients": clients.len(),
        "returns": returns,
        "answered": answered.clone().count(),
        "answered_p50_s": round(middle(answered).as_secs_f64()),
    })
}

/// How long the clients waited for their answers.
fn waits(seen: &[Exchange]) -> Value {
    let mut times: Vec<Duration> =
        seen.iter().map(|exchange| exchange.total).collect();
    times.sort_unstable();
    let at = |percent: usize| {
        let time = times.get(times.len() * percent / 100);
        time.map_or(0, Duration::as_millis)
    };
    json!({
        "requests": seen.len(),
        "refused": seen.iter().filter(|e| e.is_refused()).count(),
        "p50_ms": at(50),
        "p95_ms": at(95),
    })
}

/// What each second of the overload was like.
fn seconds(seen: &Seen) -> Vec<Value> {
    let begun = seen.overload.begun;
    let count = seen.overload.lasted.as_secs();
    let second = |number: u64| {
        let began: Vec<&Exchange> =
            all(seen).filter(|e| second_of(begun, e.begun) == number).collect();
        let ended = all(seen).filter(|e| {
            e.without_queue().is_some()
                && second_of(begun, e.begun + e.total) == number
        });
        let times = began.iter().filter_map(|e| e.without_queue());
        let queue = began.iter().filter_map(|e| match e.answer {
            Answer::Ran { queue, .. } => Some(queue),
            _ => None,
        });
        let usage = seen.usage.iter().find(|(at, _)| at.as_secs() == number);
        json!({
            "second": number,
            "requests": began.len(),
            "refused": began.iter().filter(|e| e.is_refused()).count(),
            "answered": ended.count(),
            "without_queue_p50_ms": known(times),
            "queue_p50_ms": known(queue),
            "rss_kib": usage.map(|(_, usage)| usage.rss_bytes >> 10),
            "descriptors": usage.map(|(_, usage)| usage.descriptors),
        })
    };
    (0..count).map(second).collect()
}

/// The middle one in milliseconds; nothing where there is none.
fn known(times: impl Iterator<Item = Duration>) -> Option<u128> {
    let mut times = times.peekable();
    times.peek().is_some().then(|| middle(times).as_millis())
}

fn second_of(begun: Instant, moment: Instant) -> u64 {
    moment.saturating_duration_since(begun).as_secs()
}

fn plot(seen: &Seen) {
    let seconds = seconds(seen);
    let line = |name: &'static str, field: &str| {
        let point = |second: &Value| {
            Some((second["second"].as_f64()?, second[field].as_f64()?))
        };
        Line { name, points: seconds.iter().filter_map(point).collect() }
    };
    let panels = [
        Panel {
            title: "Requests a second",
            lines: vec![
                line("refused", "refused"),
                line("answered", "answered"),
            ],
        },
        Panel {
            title: "An admitted request, p50 in ms",
            lines: vec![
                line("in the queue", "queue_p50_ms"),
                line("all else", "without_queue_p50_ms"),
            ],
        },
        Panel {
            title: "Memory of the server, KiB",
            lines: vec![line("RSS", "rss_kib")],
        },
        Panel {
            title: "Open descriptors of the server",
            lines: vec![line("descriptors", "descriptors")],
        },
    ];
    let path = figures::documents().join("overload.svg");
    plot::write(&path, "seconds of the overload", &panels).unwrap();
}

fn round(number: f64) -> f64 {
    (number * 10.0).round() / 10.0
}
