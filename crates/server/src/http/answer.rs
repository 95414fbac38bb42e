//! Answers, and the shapes that all routes share.

use bytes::Bytes;
use http::header::{ALLOW, CACHE_CONTROL, CONTENT_TYPE, RETRY_AFTER};
use http::{HeaderName, HeaderValue, Response, StatusCode};

use super::AnswerBody;

/// An answer to a request.
pub(crate) type Answer = Response<AnswerBody>;

/// The parts in which pages for browsers differ.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) status: StatusCode,
    pub(crate) content_type: &'static str,
    pub(crate) text: Bytes,
}

/// Returns `{"error": message}` with `status`.
pub(crate) fn failure(status: StatusCode, message: &str) -> Answer {
    let body = serde_json::json!({ "error": message });
    json(status, body.to_string())
}

/// The memory of answers that clients have not read is used up.
pub(crate) const ANSWERS_OVER_LIMIT: &str =
    "too many responses are still being sent";

/// Returns 503 with [`ANSWERS_OVER_LIMIT`].
pub(crate) fn answer_memory_full() -> Answer {
    const AGAIN: u64 = 2;
    let status = StatusCode::SERVICE_UNAVAILABLE;
    let mut answer = failure(status, ANSWERS_OVER_LIMIT);
    answer.headers_mut().insert(RETRY_AFTER, AGAIN.into());
    answer
}

/// Returns a JSON text with `status`.
pub(crate) fn json(status: StatusCode, body: impl Into<AnswerBody>) -> Answer {
    let mut answer = Response::new(body.into());
    *answer.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    answer.headers_mut().insert(CONTENT_TYPE, json);
    answer
}

/// Returns 405 with the methods that there are.
pub(crate) fn method_not_allowed(path: &str, allow: &'static str) -> Answer {
    let message = format!("method not allowed on {path}");
    let mut answer = failure(StatusCode::METHOD_NOT_ALLOWED, &message);
    answer.headers_mut().insert(ALLOW, HeaderValue::from_static(allow));
    answer
}

/// Returns 204, which has neither body nor type.
pub(crate) fn no_content() -> Answer {
    let mut answer = Answer::default();
    *answer.status_mut() = StatusCode::NO_CONTENT;
    answer
}

/// Returns a page or one of its assets.
pub(crate) fn page(page: Page) -> Answer {
    let mut answer = Response::new(page.text.into());
    *answer.status_mut() = page.status;
    let headers = answer.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(page.content_type));
    // Small, and another after the next start.
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    headers.insert(
        HeaderName::from_static("x-content-type-options"),
        HeaderValue::from_static("nosniff"),
    );
    answer
}
