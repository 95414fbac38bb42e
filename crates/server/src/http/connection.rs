//! One connection, from its first byte to its last.

use std::iter::once;
use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use futures_util::stream::{FuturesUnordered, StreamExt};
use http::header::{CONNECTION, TRANSFER_ENCODING};
use http::request::Parts;
use http::{HeaderValue, Request, Response};
use http_body::Body as _;
use http_body_util::Either;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::watch;

use super::again::Again;
use super::compression::Encoded;
use super::socket::{Link, Socket};
use super::{
    Answer, AnswerMemory, BodyMemory, RequestBody, Seat, compressed,
    decoded_path,
};
use crate::limits::HEAD_BYTES;

/// What answers requests.
pub(crate) trait Routes: Send + Sync + 'static {
    /// The most bytes that the body of a request to `path` may have.
    fn body_limit(&self, path: &[u8]) -> u64;

    /// Whether answers of `path` are compressed where the client takes it.
    fn is_compressed(&self, path: &[u8]) -> bool;

    /// The memory that large answers count in.
    fn answer_memory(&self) -> &AnswerMemory;

    /// What came was no request, and was answered with this status.
    fn malformed(&self, status: u16);

    /// The answer to one request, failures included.
    fn answer(
        &self,
        request: Exchange<'_>,
    ) -> impl Future<Output = Result<Answer, ClientGone>> + Send;
}

/// A request as the routes see it.
#[derive(Debug)]
pub(crate) struct Exchange<'a> {
    pub(crate) head: &'a Parts,
    /// The percent-decoded path.
    pub(crate) path: &'a [u8],
    pub(crate) body: &'a mut RequestBody,
    /// The address that the connection comes from.
    pub(crate) peer: IpAddr,
    pub(crate) link: &'a Link,
}

/// The client went away before its answer was ready: there is none.
#[derive(Debug, thiserror::Error)]
#[error("the client went away")]
pub(crate) struct ClientGone;

/// Serves requests until the client or `stop` ends it, or its seat is needed.
pub(crate) async fn serve<R: Routes>(
    routes: Arc<R>,
    stream: TcpStream,
    peer: IpAddr,
    seat: &Seat,
    memory: BodyMemory,
    mut stop: watch::Receiver<bool>,
) {
    // Answers are written whole: waiting for more only delays them.
    let _ = stream.set_nodelay(true);
    let patience = seat.patience();
    let memory_of_answers = routes.answer_memory().clone();
    let link = Link::new(stream, Arc::clone(&patience), memory_of_answers);
    let link = Arc::new(link);
    let unread = AtomicBool::new(false);
    let service = service_fn(|request: Request<Incoming>| {
        respond(&*routes, &link, peer, &unread, memory.clone(), request)
    });
    let io = TokioIo::new(Socket::new(Arc::clone(&link)));
    let mut connection = pin!(
        http1::Builder::new()
            // hyper would make a timer for each head: Patience has one.
            .header_read_timeout(None)
            .max_header_size(HEAD_BYTES)
            .max_buf_size(HEAD_BYTES)
            // A client that closed its writing half still wants its answer;
            // one that went away is found by Link::gone.
            .half_close(true)
            .serve_connection(io, service)
    );
    let mut connection = Again::new(connection.as_mut());
    let stops = async {
        tokio::select! {
            biased;
            () = patience.ended() => false,
            () = stopped(&mut stop) => true,
        }
    };
    // Looked at when it was woken, not whenever the connection is.
    let mut stops: FuturesUnordered<_> = once(stops).collect();
    let ended = tokio::select! {
        // What comes first here is what is woken.
        biased;
        ended = &mut connection => ended,
        Some(has_time) = stops.next() => {
            if !has_time {
                return;
            }
            connection.inner().as_mut().graceful_shutdown();
            connection.await
        }
    };
    if let Some(status) = link.malformed() {
        routes.malformed(status);
    }
    // Closing over unread bytes resets the connection, and the client loses
    // the answer that it has not read yet.
    let unparsed = ended.is_err_and(|error| error.is_parse());
    if unparsed || unread.load(Ordering::Relaxed) {
        link.linger().await;
    }
}

/// Resolves when the connection is to end.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // A sender that is gone can tell nothing more: that is a stop too.
    let _ = stop.wait_for(|stop| *stop).await;
}

async fn respond<R: Routes>(
    routes: &R,
    link: &Link,
    peer: IpAddr,
    unread: &AtomicBool,
    memory: BodyMemory,
    request: Request<Incoming>,
) -> Result<Response<Encoded>, ClientGone> {
    let is_whole = link.begin_request().await;
    let (head, incoming) = request.into_parts();
    let path = decoded_path(head.uri.path());
    let limit = routes.body_limit(&path);
    // Behind a body in chunks no head is looked for: see `Heads`.
    let in_chunks = !is_whole
        && !incoming.is_end_stream()
        && head.headers.contains_key(TRANSFER_ENCODING);
    let headers = &head.headers;
    let mut body = RequestBody::new(incoming, memory, headers, limit, is_whole);
    let exchange =
        Exchange { head: &head, path: &path, body: &mut body, peer, link };
    let mut answer = routes.answer(exchange).await?;
    if !body.discard().await || in_chunks {
        let close = HeaderValue::from_static("close");
        answer.headers_mut().insert(CONNECTION, close);
        unread.store(true, Ordering::Relaxed);
    }
    link.begin_answer(answer.body().remaining());
    if routes.is_compressed(&path) {
        // Few answers are, and the others need not carry its state along.
        Ok(Box::pin(compressed(&head.headers, answer)).await)
    } else {
        Ok(answer.map(Either::Left))
    }
}
