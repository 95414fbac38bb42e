//! The client's socket under hyper: finds out that a client went away, ends
//! answers that nobody takes, and gives hyper's own failures a body.
//!
//! A client that closed its writing half and waits, and one that went away,
//! look alike: reading gives end of file. Only writing tells them apart, since
//! a host where nobody listens any more answers with a reset. So [`Link::gone`]
//! sends the first bytes of the answer, which are always the same, one by one
//! as time goes on, and [`Socket`] leaves them out of what hyper writes next.

use std::io::{self, IoSlice};
use std::net::Shutdown;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicBool, AtomicU16, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use bytes::{Buf, Bytes};
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf};
use tokio::net::TcpStream;
use tokio::task::yield_now;
use tokio::time::{Instant, Sleep, sleep, sleep_until, timeout};

use super::AnswerMemory;
use super::failure::with_body;
use super::heads::Heads;
use super::places::Patience;
use crate::limits::ANSWER_TIME;

/// What every answer begins with.
const PROBE: &[u8] = b"HTTP/1.";
/// Time between the first two bytes of [`PROBE`]; it doubles, so that the last
/// one comes after half a minute.
const PROBE_AGAIN: Duration = Duration::from_millis(500);
/// How soon to look again where the kernel cannot wake us: the client has
/// closed behind bytes that nobody reads yet, or an answer is being sent.
const LOOK_AGAIN: Duration = Duration::from_millis(250);
/// Bytes that a client takes in a second, at the least.
const SLOWEST_RATE: u64 = 64 * 1024;
/// Time for a large answer where the memory of answers is used up, besides
/// that for its bytes at [`CROWDED_RATE`].
const CROWDED_TIME: Duration = Duration::from_secs(2);
/// Bytes that a client takes in a second there.
const CROWDED_RATE: u64 = 4 << 20;
/// Answers up to this size are taken in their time, crowded or not.
const SMALL_ANSWER_BYTES: u64 = 64 * 1024;
/// How soon a deadline is looked at again, since it may have come nearer.
const DEADLINE_AGAIN: Duration = Duration::from_secs(1);
/// Bytes that are read of one client before it is the turn of others.
const TURN_BYTES: usize = 16 * 1024;
/// What is read after the last answer of a connection, so that closing does
/// not reset it under an answer that is still on its way.
const LINGER_BYTES: usize = 4 << 20;
const LINGER_TIME: Duration = Duration::from_secs(3);

/// The socket as requests and the connection share it.
#[derive(Debug)]
pub(crate) struct Link {
    stream: TcpStream,
    /// Whether the kernel has everything that hyper wanted written so far.
    flushed: AtomicBool,
    /// Bytes of [`PROBE`] that were sent ahead of hyper's answer.
    probed: AtomicUsize,
    /// The answer that is being written.
    answer: Mutex<Sending>,
    /// Whether a request waits for its answer.
    busy: AtomicBool,
    /// Whether anything was read since a request came.
    fresh: AtomicBool,
    /// Whether the bodies of all requests that were read are whole.
    whole: AtomicBool,
    /// The status of hyper's own failure; 0 where there was none.
    malformed: AtomicU16,
    patience: Arc<Patience>,
    memory: AnswerMemory,
}

/// How long an answer may take.
#[derive(Clone, Copy, Debug)]
struct Sending {
    /// When the client first did not take all that there was.
    begun: Option<Instant>,
    bytes: u64,
}

/// The socket as hyper sees it.
#[derive(Debug)]
pub(crate) struct Socket {
    link: Arc<Link>,
    heads: Heads,
    /// Bytes that were read in this turn.
    turn: usize,
    overdue: Option<Pin<Box<Sleep>>>,
    /// What is being sent in place of hyper's own failure.
    replacement: Bytes,
}

impl Link {
    pub(crate) fn new(
        stream: TcpStream,
        patience: Arc<Patience>,
        memory: AnswerMemory,
    ) -> Self {
        let answer = Sending { begun: None, bytes: 0 };
        Self {
            stream,
            flushed: AtomicBool::new(true),
            probed: AtomicUsize::new(0),
            answer: Mutex::new(answer),
            busy: AtomicBool::new(false),
            fresh: AtomicBool::new(false),
            whole: AtomicBool::new(true),
            malformed: AtomicU16::new(0),
            patience,
            memory,
        }
    }

    /// A request has come. Says whether all of its body has.
    pub(crate) async fn begin_request(&self) -> bool {
        self.busy.store(true, Ordering::Relaxed);
        self.patience.pause();
        // Of requests that come together, others have their turn after each.
        if !self.fresh.swap(false, Ordering::Relaxed) {
            yield_now().await;
        }
        self.whole.load(Ordering::Relaxed)
    }

    /// Resolves when the client has gone away. To be awaited only while a
    /// request of this connection waits for its answer.
    pub(crate) async fn gone(&self) {
        if self.half_closed().await.is_err() {
            return;
        }
        // An error of waiting is one of the runtime: as good as gone.
        let reset = self.stream.ready(Interest::ERROR);
        let mut reset = pin!(reset);
        let mut pause = PROBE_AGAIN;
        for byte in PROBE {
            while !self.probe(*byte) {
                sleep(LOOK_AGAIN).await;
            }
            if timeout(pause, reset.as_mut()).await.is_ok() {
                return;
            }
            pause *= 2;
        }
        let _ = reset.await;
    }

    /// An answer of this many bytes is about to be sent.
    pub(crate) fn begin_answer(&self, bytes: u64) {
        let mut answer =
            self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        *answer = Sending { begun: None, bytes };
        // Before anything of the answer can be flushed.
        self.flushed.store(false, Ordering::Relaxed);
        self.busy.store(false, Ordering::Relaxed);
    }

    /// The status of the answer to what was no request, where that came.
    pub(crate) fn malformed(&self) -> Option<u16> {
        let status = self.malformed.load(Ordering::Relaxed);
        (status > 0).then_some(status)
    }

    /// Takes what the client still sends, for a moment, until it closes.
    pub(crate) async fn linger(&self) {
        let drained = async {
            let mut left = LINGER_BYTES;
            let mut buffer = vec![0; 16 * 1024];
            while left > 0 && self.stream.readable().await.is_ok() {
                match self.stream.try_read(&mut buffer) {
                    Ok(0) => break,
                    Ok(count) => left = left.saturating_sub(count),
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    }
                    Err(_) => break,
                }
            }
        };
        let _ = timeout(LINGER_TIME, drained).await;
    }

    /// Resolves when the client has closed its writing half.
    async fn half_closed(&self) -> io::Result<()> {
        loop {
            if self.stream.peek(&mut [0]).await? == 0 {
                return Ok(());
            }
            // Bytes of a further request keep end of file from being read,
            // but not from being seen.
            let ready = self.stream.ready(Interest::READABLE).await?;
            if ready.is_read_closed() {
                return Ok(());
            }
            sleep(LOOK_AGAIN).await;
        }
    }

    /// Sends the next byte of the answer. `false` where it cannot go out now,
    /// since an earlier answer is still on its way.
    fn probe(&self, byte: u8) -> bool {
        if !self.flushed.load(Ordering::Relaxed) {
            return false;
        }
        match self.stream.try_write(&[byte]) {
            Ok(count) => {
                self.probed.fetch_add(count, Ordering::Relaxed);
                true
            }
            // A failure shows as an error of the socket.
            Err(error) => error.kind() != io::ErrorKind::WouldBlock,
        }
    }

    /// Reads once. Where there was less than there is room for, nothing more
    /// is there: the socket counts as not readable, so that nobody has to ask
    /// the kernel for that.
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

    /// When the answer must have been taken.
    fn deadline(&self) -> Instant {
        let mut answer =
            self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        let Sending { begun, bytes } = &mut *answer;
        let (begun, bytes) = (*begun.get_or_insert_with(Instant::now), *bytes);
        if bytes > SMALL_ANSWER_BYTES && self.memory.is_crowded() {
            let seconds = Duration::from_secs(bytes / CROWDED_RATE);
            return begun + CROWDED_TIME + seconds;
        }
        begun + ANSWER_TIME + Duration::from_secs(bytes / SLOWEST_RATE)
    }
}

impl Socket {
    pub(crate) fn new(link: Arc<Link>) -> Self {
        let heads = Heads::new();
        let replacement = Bytes::new();
        Self { link, heads, turn: 0, overdue: None, replacement }
    }

    fn poll_send(
        &mut self,
        cx: &mut Context<'_>,
        buffers: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        loop {
            if self.link.stream.poll_write_ready(cx)?.is_pending() {
                return self.poll_overdue(cx);
            }
            match self.link.stream.try_write_vectored(buffers) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => return Poll::Ready(result),
            }
        }
    }

    /// Fails when the answer should have been taken by now.
    fn poll_overdue(
        &mut self,
        cx: &mut Context<'_>,
    ) -> Poll<io::Result<usize>> {
        loop {
            let now = Instant::now();
            let deadline = self.link.deadline();
            if deadline <= now {
                return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
            }
            let next = deadline.min(now + DEADLINE_AGAIN);
            let overdue =
                self.overdue.get_or_insert_with(|| Box::pin(sleep_until(next)));
            overdue.as_mut().reset(next);
            ready!(overdue.as_mut().poll(cx));
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let this = self.get_mut();
        let behind = this.heads.behind();
        if behind.len() <= buffer.remaining() && !behind.is_empty() {
            buffer.put_slice(behind);
            return Poll::Ready(Ok(()));
        }
        if this.turn >= TURN_BYTES {
            this.turn = 0;
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let before = buffer.filled().len();
        loop {
            if this.link.stream.poll_read_ready(cx)?.is_pending() {
                this.turn = 0;
                return Poll::Pending;
            }
            match this.link.receive(buffer) {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                result => {
                    result?;
                    let received = &mut buffer.filled_mut()[before..];
                    this.turn += received.len();
                    this.heads.read(received);
                    let is_whole = this.heads.is_body_whole();
                    this.link.whole.store(is_whole, Ordering::Relaxed);
                    this.link.fresh.store(true, Ordering::Relaxed);
                    return Poll::Ready(Ok(()));
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
        let this = &mut *self;
        this.link.flushed.store(false, Ordering::Relaxed);
        this.link.patience.pause();
        let first = buffers.iter().find(|buffer| !buffer.is_empty());
        let Some(first) = first else { return Poll::Ready(Ok(0)) };

        let probed = this.link.probed.load(Ordering::Relaxed);
        if probed > 0 {
            let skipped = probed.min(first.len());
            this.link.probed.store(probed - skipped, Ordering::Relaxed);
            return Poll::Ready(Ok(skipped));
        }
        if this.replacement.is_empty() {
            match with_body(first) {
                Some((status, answer)) => {
                    this.link.malformed.store(status, Ordering::Relaxed);
                    this.replacement = answer;
                }
                None => return this.poll_send(cx, buffers),
            }
        }
        while !this.replacement.is_empty() {
            let rest = this.replacement.clone();
            let sent = ready!(this.poll_send(cx, &[IoSlice::new(&rest)]))?;
            this.replacement.advance(sent);
        }
        Poll::Ready(Ok(first.len()))
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    /// hyper calls this only when its own buffer is empty.
    fn poll_flush(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        self.link.flushed.store(true, Ordering::Relaxed);
        if !self.link.busy.load(Ordering::Relaxed) {
            self.link.patience.begin();
        }
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<io::Result<()>> {
        Poll::Ready(SockRef::from(&self.link.stream).shutdown(Shutdown::Write))
    }
}
