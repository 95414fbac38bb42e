//! Whether the server is alive, and which languages it can run.

use http::StatusCode;
use sandpiper_engine::Readiness;
use schemars::JsonSchema;
use serde::Serialize;

use crate::http::{Answer, failure, json};

/// `/healthz`: whoever can read this is talking to a server that is alive.
pub(crate) fn alive() -> Answer {
    match serde_json::to_string(&Alive { status: "ok" }) {
        Ok(body) => json(StatusCode::OK, body),
        Err(_) => failure(StatusCode::INTERNAL_SERVER_ERROR, "internal error"),
    }
}

/// `/readyz`: each language's state. 503 where none can run.
pub(crate) fn readiness(languages: &[(String, Readiness)]) -> Answer {
    let any = languages.iter().any(|(_, state)| *state == Readiness::Ready);
    let report = Report {
        error: (!any).then_some("no language is ready"),
        languages: languages.iter().map(LanguageReport::of).collect(),
    };
    let status =
        if any { StatusCode::OK } else { StatusCode::SERVICE_UNAVAILABLE };
    match serde_json::to_string(&report) {
        Ok(body) => json(status, body),
        Err(_) => failure(StatusCode::INTERNAL_SERVER_ERROR, "internal error"),
    }
}

/// What `/healthz` says.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Alive {
    /// Always `ok`.
    status: &'static str,
}

/// What `/readyz` says.
#[derive(Serialize, JsonSchema)]
#[schemars(rename = "Readiness")]
pub(crate) struct Report<'a> {
    /// Where no language is ready.
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<&'a str>,
    languages: Vec<LanguageReport<'a>>,
}

#[derive(Serialize, JsonSchema)]
#[schemars(rename = "LanguageReadiness")]
struct LanguageReport<'a> {
    id: &'a str,
    /// `ready`, `building`, `missing` or `broken`.
    state: &'static str,
    /// How far, why, and what the operator can do.
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

impl<'a> LanguageReport<'a> {
    fn of((id, readiness): &'a (String, Readiness)) -> Self {
        let (state, reason) = match readiness {
            Readiness::Ready => ("ready", None),
            Readiness::Building(how_far) => ("building", Some(how_far)),
            Readiness::Missing(remedy) => ("missing", Some(remedy)),
            Readiness::Broken(why) => ("broken", Some(why)),
        };
        Self { id, state, reason: reason.map(String::as_str) }
    }
}
