//! Reads the output of a program as it comes, and keeps it up to a limit.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::fs::Mode;
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::{mpsc, watch};
use tokio::time::timeout;

use crate::error::{During, Result};
use crate::streams::StreamSignals;
use crate::{Output, OutputChunk, OutputStream};

/// Bytes that are read at once: the capacity of a pipe.
const CHUNK: usize = 64 << 10;
/// A read of fewer bytes is small. Programs that buffer their output write
/// more at once.
const SMALL_READ: usize = 1 << 10;
/// The number of small reads after which the stream is left to fill.
const MAX_SMALL_READS: u32 = 4;
/// The time for which it is left to fill.
const FILL_TIME: Duration = Duration::from_millis(1);
/// The same if the output is passed on as it comes. The first write is passed
/// on at once.
const GATHER_TIME: Duration = Duration::from_millis(20);

/// Makes a pipe that a program writes to. Returns our end and its end.
pub(crate) fn outgoing() -> Result<(pipe::Receiver, OwnedFd)> {
    let (ours, theirs) = pipe_with(PipeFlags::CLOEXEC).during("make pipe")?;
    set_up(&ours)?;
    let ours =
        pipe::Receiver::from_owned_fd_unchecked(ours).during("make pipe")?;
    Ok((ours, theirs))
}

/// Makes a pipe that a program reads from. Returns our end and its end. The
/// runtime does not watch our end, because most programs get no input.
pub(crate) fn incoming() -> Result<(OwnedFd, OwnedFd)> {
    let (theirs, ours) = pipe_with(PipeFlags::CLOEXEC).during("make pipe")?;
    set_up(&ours)?;
    Ok((ours, theirs))
}

/// Sets mode and flags of a pipe, by our end of it.
fn set_up(ours: &OwnedFd) -> Result<()> {
    let step = "make pipe";
    // A pipe has an owner and a mode like a file, and belongs to the server.
    // The program may open it again, as /dev/stdin or /dev/stdout.
    rustix::fs::fchmod(ours, Mode::from_raw_mode(0o666)).during(step)?;
    // Only our end: programs expect that their own end blocks.
    rustix::io::ioctl_fionbio(ours, true).during(step)
}

/// Passes output on as it comes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sink<'a> {
    pub(crate) stream: OutputStream,
    pub(crate) output: &'a mpsc::Sender<OutputChunk>,
}

/// Reads to the end of the stream, up to `cap` bytes. Returns those that `sink`
/// did not take, which are all if there is none. Further bytes are read and
/// dropped, and `over` becomes true.
///
/// `dead` becomes true when no process is left that could write. Then the pipe
/// holds the rest, even if the stream does not end. It may not end because a
/// program can leave its end in a message that nobody will ever receive. Such
/// an end stays open until the kernel collects these sockets.
pub(crate) async fn capture(
    mut stream: pipe::Receiver,
    cap: u64,
    sink: Option<Sink<'_>>,
    signals: &StreamSignals,
) -> io::Result<Output> {
    let mut dead = signals.dead.clone();
    let mut captured =
        Captured { bytes: Vec::new(), taken: 0, cap, is_over: false, signals };
    let mut little = 0;
    loop {
        let read = tokio::select! {
            read = stream.read_buf(captured.room()) => read,
            // An error says that the sender is gone, so nobody waits.
            _ = dead.wait_for(|&dead| dead) => break,
        };
        match read {
            Ok(0) => return Ok(captured.end()),
            Ok(read) => {
                captured.cut();
                signals.activity.send_replace(());
                let mut fill_time = FILL_TIME;
                if let Some(sink) = sink {
                    if !captured.pass_on(sink, &mut dead).await {
                        break;
                    }
                    // Each write that is passed on costs a client a packet.
                    little = MAX_SMALL_READS;
                    fill_time = GATHER_TIME;
                }
                little += u32::from(read < SMALL_READ);
                if read < SMALL_READ && little > MAX_SMALL_READS {
                    stream = let_it_fill(stream, fill_time, &mut dead).await?;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // Reading a pipe has no other errors. It ends here.
            Err(_) => return Ok(captured.end()),
        }
    }
    // The runtime may not know of the last bytes yet: ask the kernel.
    loop {
        let room = spare_capacity(captured.room());
        match rustix::io::read(&stream, room) {
            Ok(0) => return Ok(captured.end()),
            Ok(_) if captured.cut() => return Ok(captured.end()),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            // Empty (EAGAIN).
            Err(_) => return Ok(captured.end()),
        }
    }
}

/// Leaves a stream unwatched for a moment, or until its writers are `dead`.
/// Each write to a watched pipe wakes its reader. A program that writes line by
/// line would spend half its time on that, and the server as much on another
/// core. A client sees output at its end or, if it is passed on, at most this
/// time later.
async fn let_it_fill(
    stream: pipe::Receiver,
    time: Duration,
    dead: &mut watch::Receiver<bool>,
) -> io::Result<pipe::Receiver> {
    let unwatched = stream.into_nonblocking_fd()?;
    // A timeout is the usual end of this wait.
    let _ = timeout(time, dead.wait_for(|&dead| dead)).await;
    pipe::Receiver::from_owned_fd_unchecked(unwatched)
}

/// The first bytes of a stream, without those that were passed on.
struct Captured<'a> {
    bytes: Vec<u8>,
    /// The number of bytes that were passed on.
    taken: u64,
    /// Maximum bytes that may be captured, with those that were passed on.
    cap: u64,
    is_over: bool,
    signals: &'a StreamSignals,
}

impl Captured<'_> {
    /// Returns the buffer with room for the next read.
    fn room(&mut self) -> &mut Vec<u8> {
        self.bytes.reserve(CHUNK);
        &mut self.bytes
    }

    /// Drops bytes beyond the limit. Returns whether there were any.
    fn cut(&mut self) -> bool {
        let left = self.cap - self.taken;
        let cap = usize::try_from(left).unwrap_or(usize::MAX);
        let is_over = self.bytes.len() > cap;
        if is_over {
            self.bytes.truncate(cap);
            self.is_over = true;
            self.signals.over.send_replace(true);
        }
        is_over
    }

    fn end(self) -> Output {
        Output {
            bytes: self.bytes,
            bytes_taken: self.taken,
            is_truncated: self.is_over,
        }
    }

    /// Passes the bytes on. Returns `false` if the writers died meanwhile; the
    /// bytes stay then.
    async fn pass_on(
        &mut self,
        sink: Sink<'_>,
        dead: &mut watch::Receiver<bool>,
    ) -> bool {
        if self.bytes.is_empty() {
            return true;
        }
        let room = tokio::select! {
            biased;
            room = sink.output.reserve() => room,
            _ = dead.wait_for(|&dead| dead) => return false,
        };
        let bytes = std::mem::take(&mut self.bytes);
        self.taken += bytes.len() as u64;
        // Without a reader the output is of no use to anyone.
        if let Ok(room) = room {
            room.send(OutputChunk { stream: sink.stream, bytes });
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::OFlags;
    use tokio::time::Instant;

    use super::*;

    fn signals() -> (watch::Sender<bool>, StreamSignals) {
        let (report, dead) = watch::channel(false);
        let (over, activity) =
            (watch::Sender::new(false), watch::Sender::new(()));
        (report, StreamSignals { over, dead, activity })
    }

    #[tokio::test]
    async fn a_stream_ends_with_its_writers() {
        for (written, cap) in [(0, 10), (5, 10), (30_000, 60_000), (9, 4)] {
            let (ours, theirs) = outgoing().unwrap();
            let (tell, signals) = signals();
            let capture = tokio::spawn(async move {
                capture(ours, cap, None, &signals).await
            });
            assert_eq!(
                rustix::io::write(&theirs, &vec![7; written]),
                Ok(written)
            );
            tell.send_replace(true);
            // The program's end is still open.
            let kept = capture.await.unwrap().unwrap();
            let max = usize::try_from(cap).unwrap();
            assert_eq!(kept.is_truncated, written > max, "{written} {cap}");
            assert_eq!(
                kept.bytes,
                vec![7; written.min(max)],
                "{written} {cap}"
            );
            drop(theirs);
        }
    }

    #[test]
    fn what_never_ends_is_read_up_to_the_cap() {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        // This file never ends, like a stream of a process that nobody sees.
        let endless =
            rustix::fs::open("/dev/random", flags, Mode::empty()).unwrap();
        let (tell, kept) = std::sync::mpsc::channel();
        // On its own thread: without a limit the read would never return.
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let ours =
                    pipe::Receiver::from_owned_fd_unchecked(endless).unwrap();
                let (dead, signals) = signals();
                dead.send_replace(true);
                let kept = capture(ours, 10, None, &signals).await.unwrap();
                tell.send(kept.bytes.len()).unwrap();
            });
        });
        let longest = Duration::from_secs(20);
        assert_eq!(kept.recv_timeout(longest), Ok(10));
    }

    #[tokio::test]
    async fn many_little_writes_come_whole() {
        let (ours, theirs) = outgoing().unwrap();
        let (_dead, signals) = signals();
        let capture = tokio::spawn(async move {
            capture(ours, 1 << 20, None, &signals).await
        });
        let lines: Vec<String> =
            (0..20_000).map(|n| format!("{n}\n")).collect();
        let expected = lines.concat();
        let writer = tokio::task::spawn_blocking(move || {
            for line in &lines {
                rustix::io::write(&theirs, line.as_bytes()).unwrap();
            }
        });
        writer.await.unwrap();
        let kept = capture.await.unwrap().unwrap().bytes;
        assert!(kept == expected.as_bytes(), "{}", kept.len());
    }

    #[tokio::test(start_paused = true)]
    async fn quick_writes_are_gathered() {
        let (ours, theirs) = outgoing().unwrap();
        let (_dead, signals) = signals();
        let (output, mut chunks) = mpsc::channel(64);
        tokio::spawn(async move {
            let stream = OutputStream::Stdout;
            let sink = Sink { stream, output: &output };
            capture(ours, 1 << 20, Some(sink), &signals).await
        });
        let write = |text: &str| {
            rustix::io::write(&theirs, text.as_bytes()).unwrap();
        };
        let begun = Instant::now();
        write("first");
        assert_eq!(chunks.recv().await.unwrap().bytes, b"first");
        assert_eq!(begun.elapsed(), Duration::ZERO, "must come at once");
        let mut written = Vec::new();
        for number in 0..50 {
            let line = format!("{number}\n");
            write(&line);
            written.extend_from_slice(line.as_bytes());
            // Time stands still while this task is ready to go on.
            for _ in 0..20 {
                tokio::task::yield_now().await;
            }
        }
        let (mut read, mut count) = (Vec::new(), 0);
        while read.len() < written.len() {
            read.extend(chunks.recv().await.unwrap().bytes);
            count += 1;
        }
        assert_eq!(read, written);
        assert!(count <= 5, "{count} pieces of 50 writes");
    }

    #[tokio::test]
    async fn output_is_passed_on_as_it_comes() {
        let (ours, theirs) = outgoing().unwrap();
        let (dead, signals) = signals();
        let (output, mut chunks) = mpsc::channel(1);
        let capture = tokio::spawn(async move {
            let stream = OutputStream::Stdout;
            let sink = Sink { stream, output: &output };
            capture(ours, 7, Some(sink), &signals).await
        });
        let mut next = async |text: &str| {
            rustix::io::write(&theirs, text.as_bytes()).unwrap();
            chunks.recv().await.unwrap().bytes
        };
        // Before the writer ends.
        assert_eq!(next("ab").await, b"ab");
        assert_eq!(next("cd").await, b"cd");
        // Output that nobody takes is returned, up to the limit.
        rustix::io::write(&theirs, b"ef").unwrap();
        while chunks.is_empty() {
            tokio::task::yield_now().await;
        }
        rustix::io::write(&theirs, b"gh").unwrap();
        dead.send_replace(true);
        let left =
            Output { bytes: b"g".to_vec(), bytes_taken: 6, is_truncated: true };
        assert_eq!(capture.await.unwrap().unwrap(), left);
        assert_eq!(chunks.recv().await.unwrap().bytes, b"ef");
        assert_eq!(chunks.recv().await, None);
    }
}
