//! Area B: `POST /api/compile`.

mod answer;
mod request;
pub(crate) mod runner;

use std::net::IpAddr;
use std::sync::Arc;
use std::time::Instant;

use http::header::CONTENT_TYPE;
use http::{HeaderMap, Method};

use crate::http::{
    Answer, AnswerMemory, ClientAddresses, ClientGone, Exchange, Link,
    RequestBody, json_text, method_not_allowed,
};
use crate::metrics::Metrics;
use crate::rate_limit::{RateLimiter, Verdict};

pub(crate) use answer::CompileResponse;
use answer::Failure;
pub(crate) use request::CompileRequest;
pub(crate) use runner::Runner;

/// The route `/api/compile`.
#[derive(Debug)]
pub(crate) struct Compile<R> {
    runner: Arc<R>,
    limiter: RateLimiter,
    addresses: ClientAddresses,
    metrics: Arc<Metrics>,
    memory: AnswerMemory,
}

impl<R: Runner> Compile<R> {
    pub(crate) fn new(
        runner: Arc<R>,
        limiter: RateLimiter,
        addresses: ClientAddresses,
        metrics: Arc<Metrics>,
        memory: AnswerMemory,
    ) -> Self {
        Self { runner, limiter, addresses, metrics, memory }
    }

    /// The answer to any request of the route.
    pub(crate) async fn answer(
        &self,
        exchange: Exchange<'_>,
    ) -> Result<Answer, ClientGone> {
        let Exchange { head, body, peer, link, .. } = exchange;
        let client = self.addresses.client(peer, &head.headers);
        let now = Instant::now();
        let (mut answer, quota) = match head.method {
            Method::OPTIONS => return Ok(answer::preflight()),
            Method::POST => {
                let verdict = self.limiter.admit(client, now);
                let quota = verdict.map(Verdict::quota);
                let answered = match verdict {
                    Some(Verdict::Refused(quota, turn)) => {
                        Err(Failure::RateLimited(quota, turn))
                    }
                    _ => self.run(&head.headers, body, client, link).await,
                };
                let answer = match answered {
                    Ok(answer) => answer,
                    Err(Failure::ClientGone) => return Err(ClientGone),
                    Err(failure) => failure.into(),
                };
                (answer, quota)
            }
            _ => (
                method_not_allowed("/api/compile", "POST, OPTIONS"),
                self.limiter.quota(client, now),
            ),
        };
        answer::add_headers(answer.headers_mut(), quota);
        Ok(answer)
    }

    /// Checks an admitted request, in the order in which failures are told,
    /// and runs it.
    async fn run(
        &self,
        headers: &HeaderMap,
        body: &mut RequestBody,
        client: IpAddr,
        link: &Link,
    ) -> Result<Answer, Failure> {
        if !is_json(headers) {
            return Err(Failure::NotJsonType);
        }
        let request = {
            // The raw body goes before the run takes its time.
            let body = body.read().await?;
            let text = json_text(&body).ok_or(Failure::NotJson)?;
            CompileRequest::parse(&text)?
        };
        if self.memory.is_crowded() {
            return Err(Failure::Crowded);
        }
        let finished = tokio::select! {
            // A run that has ended is answered, whoever is still there.
            biased;
            finished = self.runner.run(request, client) => finished?,
            () = link.gone() => {
                self.metrics.client_gone();
                return Err(Failure::ClientGone);
            }
        };
        self.metrics.run(&finished.language, &finished.outcome);
        Ok(answer::of(&finished.outcome, &self.memory))
    }
}

/// Whether the Content-Type is `application/json` or `…+json`.
fn is_json(headers: &HeaderMap) -> bool {
    let Some(Ok(value)) = headers.get(CONTENT_TYPE).map(|value| value.to_str())
    else {
        return false;
    };
    let media_type = value.split(';').next().unwrap_or_default().trim();
    let media_type = media_type.to_ascii_lowercase();
    media_type == "application/json"
        || media_type
            .split_once('/')
            .and_then(|(_, subtype)| subtype.strip_suffix("+json"))
            .is_some_and(|name| !name.is_empty())
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn json_types_are_told_from_others() {
        let check = |value: &str, expected: bool| {
            let mut headers = HeaderMap::new();
            let header = HeaderValue::from_str(value).unwrap();
            headers.insert(CONTENT_TYPE, header);
            assert_eq!(is_json(&headers), expected, "{value}");
        };
        check("application/json", true);
        check("Application/JSON", true);
        check("application/json; charset=utf-8", true);
        check("application/json ;charset=latin1", true);
        check("application/vnd.api+json", true);
        check("application/problem+JSON;q=1", true);
        check("text/json+json", true);
        check("", false);
        check("text/plain", false);
        check("application/jsonp", false);
        check("application/+json", false);
        check("text/json", false);
        check("application/x-www-form-urlencoded", false);
        check("text/plain; a=application/json", false);
        assert!(!is_json(&HeaderMap::new()));
    }
}
