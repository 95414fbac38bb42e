//! One connection, from its first byte to its last.

use std::net::IpAddr;
use std::pin::pin;
use std::sync::Arc;

use http::header::CONNECTION;
use http::request::Parts;
use http::{HeaderValue, Request};
use http_body::Body as _;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::TokioIo;
use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::yield_now;

use super::head::AmbiguousHead;
use super::socket::{Connection, Socket};
use super::state::Ending;
use super::{
    Answer, AnswerMemory, BodyMemory, ConnectionPermit, RequestBody,
    compressed, decoded_path,
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
    pub(crate) connection: &'a Connection,
}

/// The client went away before its answer was ready: there is none.
#[derive(Debug, thiserror::Error)]
#[error("the client went away")]
pub(crate) struct ClientGone;

/// A request whose head was read.
struct Received {
    head: Parts,
    incoming: Incoming,
    /// Whether all of the body was received, too.
    is_whole: bool,
}

/// Serves requests until the client or `stop` ends the connection, or it is
/// idle for too long.
pub(crate) async fn serve<R: Routes>(
    routes: Arc<R>,
    stream: TcpStream,
    peer: IpAddr,
    permit: &ConnectionPermit,
    memory: BodyMemory,
    mut stop: watch::Receiver<bool>,
) {
    // Answers are written whole: waiting for more only delays them.
    let _ = stream.set_nodelay(true);
    let state = permit.state();
    let answers = routes.answer_memory().clone();
    let connection =
        Arc::new(Connection::new(stream, Arc::clone(state), answers));
    let service = service_fn(|request: Request<Incoming>| {
        // Before hyper reads anything that comes behind this head.
        let received = receive(&connection, request);
        respond(&*routes, &connection, peer, memory.clone(), received)
    });
    let io = TokioIo::new(Socket::new(Arc::clone(&connection)));
    let mut http = pin!(
        http1::Builder::new()
            // ConnectionState has a timer for all heads of a connection.
            .header_read_timeout(None)
            .max_header_size(HEAD_BYTES)
            .max_buf_size(HEAD_BYTES)
            // What is quick is answered even if the client has closed its
            // sending side; runs look for that themselves.
            .half_close(true)
            .serve_connection(io, service)
    );
    // The state knows more of the end than an error of hyper does.
    tokio::select! {
        biased;
        _ = http.as_mut() => {}
        () = state.expired() => return,
        () = stopped(&mut stop) => {
            http.as_mut().graceful_shutdown();
            let _ = http.await;
        }
    }
    match state.ending() {
        Ending::Close => {}
        Ending::Drain => connection.drain(&[]).await,
        Ending::Answer(status, answer) => {
            routes.malformed(status);
            connection.drain(&answer).await;
        }
    }
}

/// Resolves when the server is to stop.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error means that the sender is gone, which is a stop as well.
    let _ = stop.wait_for(|stop| *stop).await;
}

fn receive(
    connection: &Connection,
    request: Request<Incoming>,
) -> Result<Received, AmbiguousHead> {
    let (head, incoming) = request.into_parts();
    let body_bytes = incoming.size_hint().exact();
    let is_whole = connection.begin_request(&head, body_bytes)?;
    Ok(Received { head, incoming, is_whole })
}

async fn respond<R: Routes>(
    routes: &R,
    connection: &Connection,
    peer: IpAddr,
    memory: BodyMemory,
    received: Result<Received, AmbiguousHead>,
) -> Result<Answer, ClientGone> {
    let (mut answer, is_read) = match received {
        Ok(received) => {
            answer(routes, connection, peer, memory, received).await?
        }
        Err(ambiguous) => {
            routes.malformed(400);
            (ambiguous.into(), false)
        }
    };
    if !is_read {
        let close = HeaderValue::from_static("close");
        answer.headers_mut().insert(CONNECTION, close);
    }
    connection.begin_answer(&answer, is_read);
    Ok(answer)
}

/// Returns the answer to a request, and whether all that belongs to the request
/// was read.
async fn answer<R: Routes>(
    routes: &R,
    connection: &Connection,
    peer: IpAddr,
    memory: BodyMemory,
    received: Received,
) -> Result<(Answer, bool), ClientGone> {
    let Received { head, incoming, is_whole } = received;
    if connection.has_further_request() {
        // The runtime looks for other clients only between polls of a task, so
        // many requests that come at once would keep them waiting.
        yield_now().await;
    }
    let path = decoded_path(head.uri.path());
    let limit = routes.body_limit(&path);
    let is_in_chunks = incoming.size_hint().exact().is_none();
    let mut body =
        RequestBody::new(incoming, memory, &head.headers, limit, is_whole);
    let exchange = Exchange {
        head: &head,
        path: &path,
        body: &mut body,
        peer,
        connection,
    };
    let answer = routes.answer(exchange).await?;
    let answer = if routes.is_compressed(&path) {
        // Boxed, since most answers need not carry its state along.
        let memory = routes.answer_memory();
        Box::pin(compressed(&head.headers, answer, memory)).await
    } else {
        answer
    };
    // The end of a body in chunks is found by hyper alone, so that no head
    // behind it could be checked.
    let is_read = body.discard().await && !is_in_chunks;
    Ok((answer, is_read))
}
