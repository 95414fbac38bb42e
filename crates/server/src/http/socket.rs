//! The client's socket: hyper reads and writes it through [`Socket`], requests
//! see it as [`Connection`].

use std::io::{self, IoSlice};
use std::net::Shutdown;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::Bytes;
use http::request::Parts;
use http_body::Body as _;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::{Instant, Sleep, sleep, sleep_until, timeout};

use super::head::{AmbiguousHead, HeadRecorder, with_body};
use super::state::ConnectionState;
use super::{Answer, AnswerMemory};

/// Time between two looks for the end of what the client sends. The kernel
/// does not report it while bytes of a further request are unread.
const LOOK_AGAIN: Duration = Duration::from_millis(250);
/// Time between two looks at the deadline of an answer, which comes nearer when
/// the memory of answers goes over its limit.
const DEADLINE_AGAIN: Duration = Duration::from_secs(1);
/// Bytes and time that a client may go on sending after its last answer.
const DRAIN_BYTES: usize = 8 << 20;
const DRAIN_TIME: Duration = Duration::from_secs(10);

/// A connection, as its requests see it.
#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    state: Arc<ConnectionState>,
    heads: Mutex<HeadRecorder>,
}

/// The socket, as hyper sees it.
#[derive(Debug)]
pub(super) struct Socket {
    connection: Arc<Connection>,
    /// The next look at the deadline of an answer that the client does not take.
    deadline: Option<Pin<Box<Sleep>>>,
}

impl Connection {
    pub(super) fn new(stream: TcpStream, state: Arc<ConnectionState>) -> Self {
        Self { stream, state, heads: Mutex::default() }
    }

    pub(super) fn state(&self) -> Arc<ConnectionState> {
        Arc::clone(&self.state)
    }

    /// Begins a request whose head hyper has read; see [`HeadRecorder::take`].
    /// Returns whether all of its body was received.
    ///
    /// # Errors
    ///
    /// The head is ambiguous: the request must be refused.
    pub(super) fn begin_request(
        &self,
        head: &Parts,
        body_bytes: Option<u64>,
    ) -> Result<bool, AmbiguousHead> {
        self.state.begin_request();
        self.heads().take(head, body_bytes)
    }

    /// Returns whether a further request was received behind this one.
    pub(super) fn has_further_request(&self) -> bool {
        self.heads().has_more()
    }

    /// Begins to send an answer. `is_read` says whether all of the request's
    /// body was read. If the answer is large, it counts in `memory`.
    pub(super) fn begin_answer(
        &self,
        answer: &Answer,
        is_read: bool,
        memory: Option<&AnswerMemory>,
    ) {
        if answer.body().is_stream() {
            return self.state.begin_stream(is_read);
        }
        let bytes = answer.body().size_hint().lower();
        self.state.begin_answer(bytes, is_read, memory);
    }

    /// Returns the last piece of an answer that is a stream, counted in `memory`,
    /// and notes that there is no other.
    pub(crate) fn last_piece(
        &self,
        rest: Vec<u8>,
        memory: &AnswerMemory,
    ) -> Bytes {
        self.state.complete_stream(rest.len() as u64, memory);
        memory.count(rest)
    }

    /// Notes that an answer that is a stream has ended.
    pub(super) fn end_stream(&self) {
        self.state.end_stream();
    }

    /// Resolves when the client has closed the connection or its sending side.
    pub(crate) async fn closed_by_client(&self) {
        loop {
            match self.stream.peek(&mut [0]).await {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let ready = self.stream.ready(Interest::READABLE).await;
            if ready.is_ok_and(|ready| ready.is_read_closed()) {
                return;
            }
            sleep(LOOK_AGAIN).await;
        }
    }

    /// Sends `answer`, and drops what the client still sends until it closes,
    /// for a bounded time. Closing with unread bytes would reset the
    /// connection, and the client could lose an answer that is on its way.
    pub(super) async fn drain(&self, answer: &[u8]) {
        let drained = async {
            if !answer.is_empty() {
                self.stream.writable().await?;
                self.stream.try_write(answer)?;
            }
            // hyper has not done so if the client asked for an upgrade.
            SockRef::from(&self.stream).shutdown(Shutdown::Write)?;
            let mut left = DRAIN_BYTES;
            let mut buffer = vec![0; 16 * 1024];
            while left > 0 {
                self.stream.readable().await?;
                match self.stream.try_read(&mut buffer) {
                    Ok(0) => break,
                    Ok(count) => left = left.saturating_sub(count),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    }
                    Err(error) => return Err(error),
                }
            }
            Ok(())
        };
        // A client that is gone has nothing more to send.
        let _ = timeout(DRAIN_TIME, drained).await;
    }

    /// Reads once. If there was less than `buffer` has room for, the socket
    /// counts as not readable, which saves a read that would find nothing.
    fn receive(&self, buffer: &mut ReadBuf<'_>) -> io::Result<()> {
        let mut received = None;
        let readable = self.stream.try_io(Interest::READABLE, || {
            let room = buffer.remaining();
            let count = self.stream.try_read_buf(buffer)?;
            received = Some(());
            if (1..room).contains(&count) {
                return Err(io::ErrorKind::WouldBlock.into());
            }
            Ok(())
        });
        received.map_or(readable, Ok)
    }

    fn heads(&self) -> MutexGuard<'_, HeadRecorder> {
        self.heads.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Socket {
    pub(super) fn new(connection: Arc<Connection>) -> Self {
        Self { connection, deadline: None }
    }

    /// Resolves with an error when the client is too far behind with its answer.
    fn poll_deadline(&mut self, cx: &mut Context<'_>) -> Poll<io::Error> {
        loop {
            let Some(deadline) = self.connection.state.answer_deadline() else {
                return Poll::Pending;
            };
            let now = Instant::now();
            if deadline <= now {
                return Poll::Ready(io::ErrorKind::TimedOut.into());
            }
            let next = deadline.min(now + DEADLINE_AGAIN);
            let sleep = self
                .deadline
                .get_or_insert_with(|| Box::pin(sleep_until(next)));
            sleep.as_mut().reset(next);
            ready!(sleep.as_mut().poll(cx));
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let connection = &self.connection;
        let before = buffer.filled().len();
        loop {
            ready!(connection.stream.poll_read_ready(cx))?;
            match connection.receive(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => {
                    let received = &buffer.filled()[before..];
                    connection.heads().record(received);
                    return Poll::Ready(result);
                }
            }
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buffer)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let first = buffers.first().map_or(&[][..], |buffer| buffer);
        let connection = &self.connection;
        let better = || with_body(first, &connection.heads());
        if connection.state.refuse(better) {
            let bytes = buffers.iter().map(|buffer| buffer.len()).sum();
            return Poll::Ready(Ok(bytes));
        }
        loop {
            let stream = &self.connection.stream;
            if stream.poll_write_ready(cx)?.is_pending() {
                return self.poll_deadline(cx).map(Err);
            }
            match stream.try_write_vectored(buffers) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => {
                    // Clients that keep up have no deadline.
                    if let (Some(_), Ok(bytes)) = (&self.deadline, &result) {
                        self.connection.state.count_taken(*bytes);
                    }
                    return Poll::Ready(result);
                }
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// hyper calls this only when all that it had to write was written.
    fn poll_flush(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        self.connection.state.end_answer();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        if self.connection.state.is_malformed() {
            // The answer to that is sent when hyper has ended.
            return Poll::Ready(Ok(()));
        }
        let stream = SockRef::from(&self.connection.stream);
        Poll::Ready(stream.shutdown(Shutdown::Write))
    }
}
