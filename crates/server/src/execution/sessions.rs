//! The runs that other requests may stop, or send input to.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use http::StatusCode;
use sandpiper_engine::{InputError, InputSender};
use tokio::sync::watch;

use super::answer::come_back;
use crate::http::{Answer, failure};
use crate::limits::{LIVE_INPUT_BYTES, LIVE_INPUTS};

/// The name of a run in later requests: 128 bits that nobody can guess. Who
/// knows it may stop the run and type into it, so no log has it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct RunId([u8; 16]);

/// The runs that can be named. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub(super) struct Sessions {
    // The map hashes ids with a secret key, so the time of a look-up says
    // nothing about the ids in it.
    by_id: Arc<Mutex<HashMap<RunId, Session>>>,
}

/// The ways into a run.
#[derive(Debug)]
pub(super) struct Session {
    stop: watch::Sender<bool>,
    /// `None` if the run takes no more input.
    input: Option<InputSender>,
    inputs: u32,
    input_bytes: usize,
}

/// A run that can be named until this is dropped.
#[derive(Debug)]
pub(super) struct Registration {
    sessions: Sessions,
    id: RunId,
}

/// Why input was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum InputRefused {
    /// No interactive run has this id.
    NoSuchRun,
    /// The program has not read what was sent before.
    NotReading,
    /// The run has had all the input that it may have.
    TooMuch,
}

impl From<InputRefused> for Answer {
    fn from(refused: InputRefused) -> Self {
        let (status, message) = match refused {
            InputRefused::NoSuchRun => (StatusCode::NOT_FOUND, "no such run"),
            InputRefused::TooMuch => (
                StatusCode::TOO_MANY_REQUESTS,
                "the run has had all the input that it may have",
            ),
            InputRefused::NotReading => {
                let status = StatusCode::SERVICE_UNAVAILABLE;
                let answer = failure(status, "the program is not reading");
                return come_back(answer, Some(Duration::from_secs(1)));
            }
        };
        failure(status, message)
    }
}

impl RunId {
    pub(super) fn random() -> Self {
        Self(rand::random())
    }

    /// Reads 32 lower case hexadecimal digits.
    pub(super) fn parse(text: &[u8]) -> Option<Self> {
        let digits: &[u8; 32] = text.try_into().ok()?;
        let value = |digit: u8| match digit {
            b'0'..=b'9' => Some(digit - b'0'),
            b'a'..=b'f' => Some(digit - b'a' + 10),
            _ => None,
        };
        let mut bytes = [0; 16];
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = value(pair[0])? << 4 | value(pair[1])?;
        }
        Some(Self(bytes))
    }
}

impl fmt::Display for RunId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(formatter, "{byte:02x}"))
    }
}

impl fmt::Debug for RunId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("RunId")
    }
}

impl Session {
    pub(super) fn new(
        stop: watch::Sender<bool>,
        input: Option<InputSender>,
    ) -> Self {
        Self { stop, input, inputs: 0, input_bytes: 0 }
    }

    fn take_input(
        &mut self,
        text: String,
        is_end: bool,
    ) -> Result<(), InputRefused> {
        let input = self.input.as_ref().ok_or(InputRefused::NoSuchRun)?;
        let bytes = self.input_bytes + text.len();
        if self.inputs == LIVE_INPUTS || bytes > LIVE_INPUT_BYTES {
            return Err(InputRefused::TooMuch);
        }
        if !text.is_empty() {
            input.try_send(text.into_bytes()).map_err(|error| match error {
                InputError::Full => InputRefused::NotReading,
                InputError::Ended => InputRefused::NoSuchRun,
            })?;
        }
        self.inputs += 1;
        self.input_bytes = bytes;
        if is_end {
            self.input = None;
        }
        Ok(())
    }
}

impl Sessions {
    /// Adds a run. Returns `None` if the id is in use.
    pub(super) fn register(
        &self,
        id: RunId,
        session: Session,
    ) -> Option<Registration> {
        match self.lock().entry(id) {
            Entry::Vacant(entry) => entry.insert(session),
            Entry::Occupied(_) => return None,
        };
        Some(Registration { sessions: self.clone(), id })
    }

    /// Ends a run. Returns whether there is one.
    pub(super) fn stop(&self, id: RunId) -> bool {
        let sessions = self.lock();
        let found = sessions.get(&id);
        found.map(|session| session.stop.send_replace(true)).is_some()
    }

    /// Sends input to a run, and ends its input if `is_end`.
    pub(super) fn input(
        &self,
        id: RunId,
        text: String,
        is_end: bool,
    ) -> Result<(), InputRefused> {
        let mut sessions = self.lock();
        let session = sessions.get_mut(&id).ok_or(InputRefused::NoSuchRun)?;
        session.take_input(text, is_end)
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<RunId, Session>> {
        self.by_id.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.sessions.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use sandpiper_engine::input_queue;

    use super::*;

    #[test]
    fn ids_are_read_as_they_are_written() {
        let id = RunId::random();
        assert_eq!(RunId::parse(id.to_string().as_bytes()), Some(id));
        let check = |text: &str| {
            assert_eq!(RunId::parse(text.as_bytes()), None, "{text}");
        };
        check("");
        check(&"a".repeat(31));
        check(&"a".repeat(33));
        check(&"A".repeat(32));
        check(&"g".repeat(32));
        check(&format!(" {}", "a".repeat(31)));
    }

    #[test]
    fn a_run_is_known_until_its_end() {
        let sessions = Sessions::default();
        let id = RunId::random();
        let stop = || watch::Sender::new(false);
        let (sender, receiver) = input_queue(4);
        let first = Session::new(stop(), Some(sender));
        let registration = sessions.register(id, first).unwrap();
        assert!(sessions.register(id, Session::new(stop(), None)).is_none());
        let input =
            |text: &str, is_end| sessions.input(id, text.to_owned(), is_end);
        assert_eq!(input("abcd", false), Ok(()));
        assert_eq!(input("e", false), Err(InputRefused::NotReading));
        assert_eq!(input("", true), Ok(()));
        assert_eq!(input("", true), Err(InputRefused::NoSuchRun));
        assert!(sessions.stop(id));
        assert!(!sessions.stop(RunId::random()));
        drop((registration, receiver));
        assert!(!sessions.stop(id));
        assert_eq!(input("", false), Err(InputRefused::NoSuchRun));
    }

    #[test]
    fn input_has_limits() {
        let (sender, _receiver) = input_queue(2 * LIVE_INPUT_BYTES);
        let stop = watch::Sender::new(false);
        let mut session = Session::new(stop, Some(sender));
        let all = "a".repeat(LIVE_INPUT_BYTES);
        assert_eq!(session.take_input(all, false), Ok(()));
        let more = session.take_input("a".to_owned(), false);
        assert_eq!(more, Err(InputRefused::TooMuch));
        for _ in 1..LIVE_INPUTS {
            assert_eq!(session.take_input(String::new(), false), Ok(()));
        }
        let more = session.take_input(String::new(), false);
        assert_eq!(more, Err(InputRefused::TooMuch));
    }
}
