//! The streams of a command for a reader and a writer who are there while it
//! runs.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{OwnedSemaphorePermit, Semaphore, mpsc, watch};

/// Everything through which a caller takes part in a running command. By default
/// there is nothing: output is kept until the end.
#[derive(Debug, Default)]
pub struct Attachment {
    /// Takes the output as it comes. If it is full, the pipe is not read, and the
    /// program waits. The output that it has not taken at the end is in the
    /// outcome.
    pub output: Option<mpsc::Sender<OutputChunk>>,
    /// Gives more standard input, behind that of the step.
    pub input: Option<InputReceiver>,
    /// Becomes true when the command is to end.
    pub stop: Option<watch::Receiver<bool>>,
    /// Maximum time with neither output nor input. At the limit everything in
    /// the box is killed.
    pub idle_time: Option<Duration>,
}

/// A piece of output: at most the capacity of a pipe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputChunk {
    /// The stream that it was written to.
    pub stream: OutputStream,
    /// The bytes. They may begin and end within a character.
    pub bytes: Vec<u8>,
}

/// A stream that programs write to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputStream {
    /// Standard output.
    Stdout,
    /// Standard error.
    Stderr,
}

/// Sends standard input to a running command. Dropping the last clone ends the
/// input.
#[derive(Clone, Debug)]
pub struct InputSender {
    queue: mpsc::UnboundedSender<Input>,
    /// One permit for each byte that may wait.
    room: Arc<Semaphore>,
}

/// The other end of an [`InputSender`].
#[derive(Debug)]
pub struct InputReceiver(mpsc::UnboundedReceiver<Input>);

/// A piece of standard input. It counts as waiting until it is dropped.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) bytes: Vec<u8>,
    _room: OwnedSemaphorePermit,
}

/// Input that was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum InputError {
    /// The program has not read what was sent before.
    #[error("the program is not reading")]
    Full,
    /// The command has ended.
    #[error("the program has ended")]
    Ended,
}

/// Returns a queue for standard input in which at most `max_bytes` wait.
pub fn input_queue(max_bytes: usize) -> (InputSender, InputReceiver) {
    let (queue, receiver) = mpsc::unbounded_channel();
    let room = Arc::new(Semaphore::new(max_bytes));
    (InputSender { queue, room }, InputReceiver(receiver))
}

impl InputSender {
    /// Sends bytes, without waiting.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no room for all of them, or no program.
    pub fn try_send(&self, bytes: Vec<u8>) -> Result<(), InputError> {
        let count = u32::try_from(bytes.len()).map_err(|_| InputError::Full)?;
        let room = Arc::clone(&self.room).try_acquire_many_owned(count);
        let room = room.map_err(|_| InputError::Full)?;
        let input = Input { bytes, _room: room };
        self.queue.send(input).map_err(|_| InputError::Ended)
    }
}

impl InputReceiver {
    /// Waits for more input. Returns `None` at its end.
    pub(crate) async fn next(&mut self) -> Option<Input> {
        self.0.recv().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn input_waits_up_to_its_limit() {
        let (sender, mut receiver) = input_queue(4);
        assert_eq!(sender.try_send(b"abc".to_vec()), Ok(()));
        assert_eq!(sender.try_send(b"de".to_vec()), Err(InputError::Full));
        assert_eq!(sender.try_send(b"d".to_vec()), Ok(()));
        let first = receiver.next().await.unwrap();
        assert_eq!(first.bytes, b"abc");
        assert_eq!(sender.try_send(b"ef".to_vec()), Err(InputError::Full));
        drop(first);
        assert_eq!(sender.try_send(b"ef".to_vec()), Ok(()));
        drop(receiver);
        assert_eq!(sender.try_send(b"g".to_vec()), Err(InputError::Ended));
    }

    #[tokio::test]
    async fn input_ends_with_its_last_sender() {
        let (sender, mut receiver) = input_queue(4);
        let other = sender.clone();
        drop(sender);
        assert_eq!(other.try_send(b"a".to_vec()), Ok(()));
        drop(other);
        assert_eq!(receiver.next().await.unwrap().bytes, b"a");
        assert!(receiver.next().await.is_none());
    }
}
