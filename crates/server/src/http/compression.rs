//! Compression of answers, if the client accepts it.

use std::convert::Infallible;

use http::header::{ACCEPT_ENCODING, CONTENT_ENCODING};
use http::{HeaderMap, HeaderValue, Request, StatusCode};
use http_body_util::BodyExt;
use tokio::task::coop::consume_budget;
use tower::{ServiceExt, service_fn};
use tower_http::compression::Compression;

use super::{Answer, AnswerMemory, failure};

/// Returns the answer in the encoding that `headers` ask for, with `Vary`.
pub(crate) async fn compressed(
    headers: &HeaderMap,
    answer: Answer,
    memory: &AnswerMemory,
) -> Answer {
    let mut request = Request::new(());
    for value in headers.get_all(ACCEPT_ENCODING) {
        let value: HeaderValue = value.clone();
        request.headers_mut().append(ACCEPT_ENCODING, value);
    }
    let mut answer = Some(answer);
    let inner = service_fn(move |_: Request<()>| {
        let answer = answer.take().unwrap_or_default();
        async move { Ok::<_, Infallible>(answer) }
    });
    let Ok(encoded) = Compression::new(inner).oneshot(request).await;
    let (head, mut body) = encoded.into_parts();
    let is_encoded = head.headers.contains_key(CONTENT_ENCODING);
    let mut bytes = Vec::new();
    while let Some(frame) = body.frame().await {
        let Some(data) = frame.ok().and_then(|frame| frame.into_data().ok())
        else {
            let status = StatusCode::INTERNAL_SERVER_ERROR;
            return failure(status, "internal error");
        };
        if !is_encoded {
            // All of it, as it was.
            return Answer::from_parts(head, data.into());
        }
        bytes.extend_from_slice(&data);
        // Compressing a large answer takes long.
        consume_budget().await;
    }
    Answer::from_parts(head, memory.count(bytes).into())
}
