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
    Answer, AnswerMemory, ConnectionPermit, RequestBody, compressed,
    decoded_path,
};
use crate::limits::{HEAD_BYTES, HEADERS};
use crate::metrics::Metrics;
use crate::routes::Route;

/// Answers the requests of a listener.
pub(crate) trait Service: Send + Sync + 'static {
    /// Returns the route of a path, which is percent-decoded.
    fn route(&self, path: &[u8]) -> &'static Route;

    /// Returns the memory that large answers of a route count in.
    fn answer_memory(&self, route: &Route) -> &AnswerMemory;

    /// Returns the metrics that count connections, if any do.
    fn metrics(&self) -> Option<&Metrics>;

    /// Called once, when the server begins to stop.
    fn begin_stop(&self) {}

    /// Answers one request, with a failure if need be.
    fn answer(
        &self,
        request: RequestContext<'_>,
    ) -> impl Future<Output = Result<Answer, ClientGone>> + Send;
}

/// A request, and what belongs to it.
#[derive(Debug)]
pub(crate) struct RequestContext<'a> {
    pub(crate) head: &'a Parts,
    pub(crate) route: &'static Route,
    /// The percent-decoded path.
    pub(crate) path: &'a [u8],
    pub(crate) body: &'a mut RequestBody,
    /// The address that the connection comes from.
    pub(crate) peer: IpAddr,
    pub(crate) connection: &'a Arc<Connection>,
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
pub(crate) async fn serve<S: Service>(
    service: Arc<S>,
    stream: TcpStream,
    peer: IpAddr,
    permit: &ConnectionPermit,
    mut stop: watch::Receiver<bool>,
) {
    // Answers are written whole: waiting for more only delays them.
    let _ = stream.set_nodelay(true);
    let state = permit.state();
    let connection = Arc::new(Connection::new(stream, Arc::clone(state)));
    let handler = service_fn(|request: Request<Incoming>| {
        // Before hyper reads anything that comes behind this head.
        let received = receive(&connection, request);
        respond(&*service, &connection, peer, received)
    });
    let io = TokioIo::new(Socket::new(Arc::clone(&connection)));
    let mut http = pin!(
        http1::Builder::new()
            // ConnectionState has a timer for all heads of a connection.
            .header_read_timeout(None)
            .max_headers(HEADERS)
            .max_header_size(HEAD_BYTES)
            .max_buf_size(HEAD_BYTES)
            // Quick requests are answered even if the client has closed its
            // sending side; runs watch for that themselves.
            .half_close(true)
            .serve_connection(io, handler)
    );
    let ended = async {
        tokio::select! {
            biased;
            _ = http.as_mut() => {}
            () = stopped(&mut stop) => {
                http.as_mut().graceful_shutdown();
                let _ = http.await;
            }
        }
        // The state knows more of the end than an error of hyper does.
        match state.ending() {
            Ending::Close => {}
            Ending::Drain => connection.drain(&[]).await,
            Ending::Answer(status, answer) => {
                count_malformed(&*service, status);
                connection.drain(&answer).await;
            }
        }
    };
    tokio::select! {
        biased;
        () = ended => {}
        () = state.expired() => {}
    }
}

/// Resolves when the server is to stop.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // An error means that the sender is gone, which is a stop as well.
    let _ = stop.wait_for(|stop| *stop).await;
}

fn count_malformed(service: &impl Service, status: u16) {
    if let Some(metrics) = service.metrics() {
        metrics.malformed(status);
    }
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

async fn respond<S: Service>(
    service: &S,
    connection: &Arc<Connection>,
    peer: IpAddr,
    received: Result<Received, AmbiguousHead>,
) -> Result<Answer, ClientGone> {
    let (mut answer, is_read, answers) = match received {
        Ok(received) => answer(service, connection, peer, received).await?,
        Err(ambiguous) => {
            count_malformed(service, 400);
            (ambiguous.into(), false, None)
        }
    };
    if !is_read {
        let close = HeaderValue::from_static("close");
        answer.headers_mut().insert(CONNECTION, close);
    }
    connection.begin_answer(&answer, is_read, answers);
    Ok(answer)
}

/// Returns the answer to a request, whether all that belongs to the request was
/// read, and the memory that the answer counts in if it is large.
async fn answer<'a, S: Service>(
    service: &'a S,
    connection: &Arc<Connection>,
    peer: IpAddr,
    received: Received,
) -> Result<(Answer, bool, Option<&'a AnswerMemory>), ClientGone> {
    let Received { head, incoming, is_whole } = received;
    if connection.has_further_request() {
        // The runtime looks for other clients only between polls of a task, so
        // many requests that come at once would keep them waiting.
        yield_now().await;
    }
    let path = decoded_path(head.uri.path());
    let route = service.route(&path);
    let is_in_chunks = incoming.size_hint().exact().is_none();
    let mut body = RequestBody::new(
        incoming,
        connection.state(),
        &head.headers,
        route.body_limit,
        is_whole,
    );
    let request = RequestContext {
        head: &head,
        route,
        path: &path,
        body: &mut body,
        peer,
        connection,
    };
    let answer = service.answer(request).await?;
    let answers = service.answer_memory(route);
    let answer = if route.is_compressed && !answer.body().is_stream() {
        // Boxed, since most answers need not carry its state along.
        Box::pin(compressed(&head.headers, answer, answers)).await
    } else {
        answer
    };
    // The end of a body in chunks is found by hyper alone, so that no head
    // behind it could be checked.
    let is_read = body.discard().await && !is_in_chunks;
    Ok((answer, is_read, Some(answers)))
}
