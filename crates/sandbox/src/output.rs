//! What a program writes, taken as it comes and kept up to a cap.

use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

use rustix::buffer::spare_capacity;
use rustix::fs::Mode;
use rustix::pipe::{PipeFlags, pipe_with};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::watch;
use tokio::time::timeout;

use crate::error::{During, Result};

/// How much is read at once: a pipe's capacity.
const CHUNK: usize = 64 << 10;
/// Fewer bytes than this are little; programs with a buffer write more.
const LITTLE: usize = 1 << 10;
/// How often little may come before a stream is let fill each time.
const MOST_LITTLE: u32 = 4;
/// For how long it is.
const MOMENT: Duration = Duration::from_millis(1);

/// A pipe whose far end goes to a program: what it writes.
pub(crate) fn outgoing() -> Result<(pipe::Receiver, OwnedFd)> {
    let (near, far) = pipe_with(PipeFlags::CLOEXEC).during("make pipe")?;
    prepare(&near)?;
    let near =
        pipe::Receiver::from_owned_fd_unchecked(near).during("make pipe")?;
    Ok((near, far))
}

/// A pipe whose far end goes to a program: what it reads. Most programs get
/// nothing: the runtime need not watch it.
pub(crate) fn incoming() -> Result<(OwnedFd, OwnedFd)> {
    let (far, near) = pipe_with(PipeFlags::CLOEXEC).during("make pipe")?;
    prepare(&near)?;
    Ok((near, far))
}

/// Makes a pipe ready for a program, by our end of it.
fn prepare(near: &OwnedFd) -> Result<()> {
    let step = "make pipe";
    // A pipe has an owner and a mode like a file, and belongs to the server:
    // the program may open it anew too, as /dev/stdin or /dev/stdout.
    rustix::fs::fchmod(near, Mode::from_raw_mode(0o666)).during(step)?;
    // Only our end: the flag belongs to an open end, and a program's own end
    // must block as programs expect.
    rustix::io::ioctl_fionbio(near, true).during(step)
}

/// Reads to the end of the stream. Keeps the first `cap` bytes; what comes
/// after is read and dropped, and `over` is told.
///
/// `dead` tells that no process is left that could write: then what the pipe
/// holds is all, whether or not it ends. A program can leave its own end in
/// a message that nobody will ever receive, where it stays open until the
/// kernel happens to collect such sockets.
pub(crate) async fn capture(
    mut stream: pipe::Receiver,
    cap: u64,
    over: watch::Sender<bool>,
    mut dead: watch::Receiver<bool>,
) -> io::Result<Vec<u8>> {
    let mut kept = Kept { bytes: Vec::new(), cap, over };
    let mut little = 0;
    loop {
        let read = tokio::select! {
            read = stream.read_buf(kept.room()) => read,
            // An error says that the one who tells is gone: nobody waits.
            _ = dead.wait_for(|&dead| dead) => break,
        };
        match read {
            Ok(0) => return Ok(kept.bytes),
            Ok(read) => {
                kept.cut();
                little += u32::from(read < LITTLE);
                if read < LITTLE && little > MOST_LITTLE {
                    stream = let_it_fill(stream, &mut dead).await?;
                }
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // A pipe has no other errors to read; it ends here.
            Err(_) => return Ok(kept.bytes),
        }
    }
    // The runtime may not have heard yet of what came last: ask the kernel.
    loop {
        let room = spare_capacity(kept.room());
        match rustix::io::read(&stream, room) {
            Ok(0) => return Ok(kept.bytes),
            Ok(_) if kept.cut() => return Ok(kept.bytes),
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            // Empty (EAGAIN).
            Err(_) => return Ok(kept.bytes),
        }
    }
}

/// Leaves a stream alone for a moment, or until its writers are `dead`. A
/// watched pipe wakes whoever watches it at every write: a program that writes
/// line by line would spend half its time on that, and the server as much on
/// another core. Nobody sees output before the end, so nobody waits for it.
async fn let_it_fill(
    stream: pipe::Receiver,
    dead: &mut watch::Receiver<bool>,
) -> io::Result<pipe::Receiver> {
    let unwatched = stream.into_nonblocking_fd()?;
    // Its time being up is what is waited for.
    let _ = timeout(MOMENT, dead.wait_for(|&dead| dead)).await;
    pipe::Receiver::from_owned_fd_unchecked(unwatched)
}

/// The first bytes of a stream.
struct Kept {
    bytes: Vec<u8>,
    cap: u64,
    over: watch::Sender<bool>,
}

impl Kept {
    /// Where to put what is read next, with room for it.
    fn room(&mut self) -> &mut Vec<u8> {
        self.bytes.reserve(CHUNK);
        &mut self.bytes
    }

    /// Drops what is beyond the cap; whether there was any.
    fn cut(&mut self) -> bool {
        let cap = usize::try_from(self.cap).unwrap_or(usize::MAX);
        let is_over = self.bytes.len() > cap;
        if is_over {
            self.bytes.truncate(cap);
            self.over.send_replace(true);
        }
        is_over
    }
}

#[cfg(test)]
mod tests {
    use rustix::fs::OFlags;

    use super::*;

    #[tokio::test]
    async fn a_stream_ends_with_its_writers() {
        for (written, cap) in [(0, 10), (5, 10), (30_000, 60_000), (9, 4)] {
            let (near, far) = outgoing().unwrap();
            let (over, _overflow) = watch::channel(false);
            let (tell, dead) = watch::channel(false);
            let capture = tokio::spawn(capture(near, cap, over, dead));
            assert_eq!(rustix::io::write(&far, &vec![7; written]), Ok(written));
            tell.send_replace(true);
            // The far end is still open.
            let kept = capture.await.unwrap().unwrap();
            let expected = written.min(usize::try_from(cap).unwrap());
            assert_eq!(kept, vec![7; expected], "{written} {cap}");
            drop(far);
        }
    }

    #[test]
    fn what_never_ends_is_read_up_to_the_cap() {
        let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
        // As from a process that nobody sees: there is always more.
        let endless =
            rustix::fs::open("/dev/random", flags, Mode::empty()).unwrap();
        let (tell, kept) = std::sync::mpsc::channel();
        // A thread of its own: without a bound it would never come back.
        std::thread::spawn(move || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build()
                .unwrap();
            runtime.block_on(async {
                let near =
                    pipe::Receiver::from_owned_fd_unchecked(endless).unwrap();
                let (over, _overflow) = watch::channel(false);
                let (_tell, dead) = watch::channel(true);
                let kept = capture(near, 10, over, dead).await.unwrap();
                tell.send(kept.len()).unwrap();
            });
        });
        let longest = Duration::from_secs(20);
        assert_eq!(kept.recv_timeout(longest), Ok(10));
    }

    #[tokio::test]
    async fn many_little_writes_come_whole() {
        let (near, far) = outgoing().unwrap();
        let (over, _overflow) = watch::channel(false);
        let (_tell, dead) = watch::channel(false);
        let capture = tokio::spawn(capture(near, 1 << 20, over, dead));
        let lines: Vec<String> =
            (0..20_000).map(|n| format!("{n}\n")).collect();
        let expected = lines.concat();
        let writer = tokio::task::spawn_blocking(move || {
            for line in &lines {
                rustix::io::write(&far, line.as_bytes()).unwrap();
            }
        });
        writer.await.unwrap();
        let kept = capture.await.unwrap().unwrap();
        assert!(kept == expected.as_bytes(), "{}", kept.len());
    }
}
