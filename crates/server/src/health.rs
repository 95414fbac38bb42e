//! Whether the server is alive, and which languages it can run.

use std::time::Instant;

use http::StatusCode;
use sandpiper_engine::{LanguageState, Readiness};
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::{Answer, failure, json};

/// Answers `/healthz`: a server that answers is alive.
pub(crate) fn alive() -> Answer {
    match serde_json::to_string(&Alive { status: "ok" }) {
        Ok(body) => json(StatusCode::OK, body),
        Err(_) => failure(StatusCode::INTERNAL_SERVER_ERROR, "internal error"),
    }
}

/// Answers `/readyz` with the state of each language: 503 if none can run, or
/// if the server stops.
pub(crate) fn readiness(
    languages: &[LanguageState],
    is_stopping: bool,
    now: Instant,
) -> Answer {
    let any = languages.iter().any(|state| state.readiness == Readiness::Ready);
    let error = if is_stopping {
        Some("stopping")
    } else {
        (!any).then_some("no language is ready")
    };
    let reports = languages.iter().map(|state| LanguageReport::of(state, now));
    let report = Report { error, languages: reports.collect() };
    let status = match error {
        None => StatusCode::OK,
        Some(_) => StatusCode::SERVICE_UNAVAILABLE,
    };
    match serde_json::to_string(&report) {
        Ok(body) => json(status, body),
        Err(_) => failure(StatusCode::INTERNAL_SERVER_ERROR, "internal error"),
    }
}

/// The answer of `/healthz`.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Alive {
    /// Always `ok`.
    status: &'static str,
}

/// The answer of `/readyz`.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Readiness")]
pub(crate) struct Report<'a> {
    /// Present if no language is ready, or if the server stops.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    languages: Vec<LanguageReport<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LanguageReadiness")]
struct LanguageReport<'a> {
    id: &'a str,
    /// `ready`, `building`, `missing` or `broken`. A language that is not
    /// ready is 503 for `/api/compile`, with the reason.
    state: &'static str,
    /// For how long it has been in this state.
    state_age_ms: u64,
    /// How long ago a program of it last ran correctly: its sample, which is run
    /// again and again, or one of a client. Missing if none ever did.
    #[serde(skip_serializing_if = "Option::is_none")]
    proof_age_ms: Option<u64>,
    /// How far, why, and what the operator can do.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

impl<'a> LanguageReport<'a> {
    fn of(language: &'a LanguageState, now: Instant) -> Self {
        let (state, reason) = match &language.readiness {
            Readiness::Ready => ("ready", None),
            Readiness::Building(how_far) => ("building", Some(how_far)),
            Readiness::Missing(remedy) => ("missing", Some(remedy)),
            Readiness::Broken(why) => ("broken", Some(why)),
        };
        Self {
            id: &language.id,
            state,
            state_age_ms: age_ms(language.since, now),
            proof_age_ms: language
                .last_success
                .map(|last_success| age_ms(last_success, now)),
            reason: reason.map(String::as_str),
        }
    }
}

fn age_ms(from: Instant, now: Instant) -> u64 {
    let age = now.saturating_duration_since(from).as_millis();
    u64::try_from(age).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use serde_json::{Value, json};

    use super::*;

    /// A language `x`, 9 s after the start; its times count from that.
    fn check(
        readiness: Readiness,
        since: u64,
        last_success: Option<u64>,
        expected: Value,
    ) {
        let start = Instant::now();
        let at = |seconds| start + Duration::from_secs(seconds);
        let language = LanguageState {
            id: "x".to_owned(),
            readiness,
            since: at(since),
            last_success: last_success.map(at),
        };
        let report = LanguageReport::of(&language, at(9));
        assert_eq!(serde_json::to_value(report).unwrap(), expected);
    }

    #[test]
    fn a_language_is_reported_with_its_ages() {
        let text = || "why".to_owned();
        check(
            Readiness::Ready,
            2,
            Some(8),
            json!({ "id": "x", "state": "ready", "state_age_ms": 7_000,
                    "proof_age_ms": 1_000 }),
        );
        check(
            Readiness::Broken(text()),
            9,
            Some(3),
            json!({ "id": "x", "state": "broken", "state_age_ms": 0,
                    "proof_age_ms": 6_000, "reason": "why" }),
        );
        check(
            Readiness::Missing(text()),
            0,
            None,
            json!({ "id": "x", "state": "missing", "state_age_ms": 9_000,
                    "reason": "why" }),
        );
        // A clock that is read before it is written to.
        check(
            Readiness::Building(text()),
            10,
            None,
            json!({ "id": "x", "state": "building", "state_age_ms": 0,
                    "reason": "why" }),
        );
    }
}
