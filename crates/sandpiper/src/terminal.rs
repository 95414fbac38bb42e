//! The terminal of `sandpiper run --interactive`: output as it comes, and input
//! while the program runs.

use std::io::{self, Read, Write};
use std::thread;
use std::time::Duration;

use sandpiper_engine::{
    InputError, InputSender, OutputChunk, OutputStream, RunAttachment,
    input_queue,
};
use tokio::sync::mpsc;

/// Bytes that are read at once, and that may wait for the program.
const INPUT_BYTES: usize = 64 << 10;
/// Time until input is offered again to a program that does not read.
const AGAIN: Duration = Duration::from_millis(10);

/// The output of a run as it comes.
#[derive(Debug)]
pub(crate) struct Terminal(mpsc::Receiver<OutputChunk>);

impl Terminal {
    /// Returns the two sides of a run that is attached to this process's
    /// standard streams.
    pub(crate) fn attach() -> (RunAttachment, Self) {
        let (output, chunks) = mpsc::channel(1);
        let (sender, input) = input_queue(INPUT_BYTES);
        // It waits for standard input until the process ends.
        thread::spawn(|| feed(sender));
        let (output, input) = (Some(output), Some(input));
        (
            RunAttachment { output, input, ..RunAttachment::default() },
            Self(chunks),
        )
    }

    /// Writes output until there is no more.
    pub(crate) async fn show(mut self) {
        while let Some(OutputChunk { stream, bytes }) = self.0.recv().await {
            // In `run | head` the reader goes first. That is no failure.
            let _ = match stream {
                OutputStream::Stdout => write(io::stdout(), &bytes),
                OutputStream::Stderr => write(io::stderr(), &bytes),
            };
        }
    }
}

fn write(mut stream: impl Write, bytes: &[u8]) -> io::Result<()> {
    stream.write_all(bytes)?;
    stream.flush()
}

/// Passes standard input on until it ends.
fn feed(sender: InputSender) {
    let mut buffer = vec![0; INPUT_BYTES];
    loop {
        let read = match io::stdin().read(&mut buffer) {
            Ok(0) => return,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {
                continue;
            }
            Err(_) => return,
        };
        loop {
            match sender.try_send(buffer[..read].to_vec()) {
                Ok(()) => break,
                Err(InputError::Full) => thread::sleep(AGAIN),
                Err(InputError::Ended) => return,
            }
        }
    }
}
