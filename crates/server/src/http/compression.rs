//! Compression of answers, where the client takes it.

use std::convert::Infallible;
use std::pin::Pin;

use http::header::ACCEPT_ENCODING;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body_util::Either;
use tower::{ServiceExt, service_fn};
use tower_http::compression::{Compression, CompressionBody};

use super::{Answer, Body};

/// A body, compressed or as it was. Boxed, since an answer is moved about.
pub(crate) type Encoded = Either<Body, Pin<Box<CompressionBody<Body>>>>;

/// The answer in the encoding that `headers` ask for, with `Vary`.
pub(crate) async fn compressed(
    headers: &HeaderMap,
    answer: Answer,
) -> Response<Encoded> {
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
    encoded.map(|body| Either::Right(Box::pin(body)))
}
