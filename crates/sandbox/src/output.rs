//! What a program writes, taken as it comes and kept up to a cap.

use std::io;

use rustix::fs::Mode;
use rustix::pipe::{PipeFlags, pipe_with};
use std::os::fd::OwnedFd;
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;
use tokio::sync::watch;

use crate::error::{During, Result};

/// How much is read at once: a pipe's capacity.
const CHUNK: usize = 64 << 10;

/// A pipe whose far end goes to a program: what it writes.
pub(crate) fn outgoing() -> Result<(pipe::Receiver, OwnedFd)> {
    let (near, far) = pipe_with(PipeFlags::CLOEXEC).during("make pipe")?;
    prepare(&near)?;
    let near = pipe::Receiver::from_owned_fd(near).during("make pipe")?;
    Ok((near, far))
}

/// A pipe whose far end goes to a program: what it reads.
pub(crate) fn incoming() -> Result<(pipe::Sender, OwnedFd)> {
    let (far, near) = pipe_with(PipeFlags::CLOEXEC).during("make pipe")?;
    prepare(&near)?;
    let near = pipe::Sender::from_owned_fd(near).during("make pipe")?;
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
) -> Vec<u8> {
    let mut kept = Kept { bytes: Vec::new(), cap, over };
    let mut chunk = vec![0; CHUNK];
    loop {
        let read = tokio::select! {
            read = stream.read(&mut chunk) => read,
            // An error says that the one who tells is gone: nobody waits.
            _ = dead.wait_for(|&dead| dead) => break,
        };
        match read {
            Ok(0) => return kept.bytes,
            Ok(read) => kept.add(&chunk[..read]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            // A pipe has no other errors to read; it ends here.
            Err(_) => return kept.bytes,
        }
    }
    // The runtime may not have heard yet of what came last: ask the kernel.
    loop {
        match rustix::io::read(&stream, &mut chunk) {
            Ok(0) => return kept.bytes,
            Ok(read) => kept.add(&chunk[..read]),
            Err(rustix::io::Errno::INTR) => {}
            // Empty (EAGAIN).
            Err(_) => return kept.bytes,
        }
    }
}

/// The first bytes of a stream.
struct Kept {
    bytes: Vec<u8>,
    cap: u64,
    over: watch::Sender<bool>,
}

impl Kept {
    fn add(&mut self, read: &[u8]) {
        let cap = usize::try_from(self.cap).unwrap_or(usize::MAX);
        let room = cap - self.bytes.len();
        self.bytes.extend_from_slice(&read[..read.len().min(room)]);
        if read.len() > room {
            self.over.send_replace(true);
        }
    }
}

#[cfg(test)]
mod tests {
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
            let kept = capture.await.unwrap();
            let expected = written.min(usize::try_from(cap).unwrap());
            assert_eq!(kept, vec![7; expected], "{written} {cap}");
            drop(far);
        }
    }
}
