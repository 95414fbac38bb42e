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
use crate::settings::NodeTag;

/// The name of a run in later requests: 128 bits that nobody can guess. A
/// client that knows it may stop the run and type into it, so no log has it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct RunId([u8; 16]);

/// The runs that can be named. Cheap to clone.
#[derive(Clone, Debug)]
pub(super) struct Sessions {
    node_tag: Option<NodeTag>,
    sessions: Arc<Mutex<OpenSessions>>,
}

#[derive(Debug, Default)]
struct OpenSessions {
    // The map hashes ids with a secret key, so the time of a look-up says
    // nothing about the ids in it.
    by_id: HashMap<RunId, Session>,
    /// The server stops: a live run ends at once.
    is_stopping: bool,
}

/// The ways into a run.
#[derive(Debug)]
pub(super) struct Session {
    stop: watch::Sender<bool>,
    is_interactive: bool,
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

/// The reason why a session did not do what a request asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SessionError {
    /// No run has this id, or the run takes no more input.
    NoSuchRun,
    /// The program has not read what was sent before.
    NotReading,
    /// The run has had all the input that it may have.
    TooMuch,
}

impl From<SessionError> for Answer {
    fn from(error: SessionError) -> Self {
        let (status, message) = match error {
            SessionError::NoSuchRun => (StatusCode::NOT_FOUND, "no such run"),
            SessionError::TooMuch => (
                StatusCode::TOO_MANY_REQUESTS,
                "the run has had all the input that it may have",
            ),
            SessionError::NotReading => {
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
        let is_interactive = input.is_some();
        Self { stop, is_interactive, input, inputs: 0, input_bytes: 0 }
    }

    fn stop(&self) {
        self.stop.send_replace(true);
    }

    fn take_input(
        &mut self,
        text: String,
        is_end: bool,
    ) -> Result<(), SessionError> {
        let input = self.input.as_ref().ok_or(SessionError::NoSuchRun)?;
        let bytes = self.input_bytes + text.len();
        if self.inputs == LIVE_INPUTS || bytes > LIVE_INPUT_BYTES {
            return Err(SessionError::TooMuch);
        }
        if !text.is_empty() {
            input.try_send(text.into_bytes()).map_err(|error| match error {
                InputError::Full => SessionError::NotReading,
                InputError::Ended => SessionError::NoSuchRun,
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
    /// Returns the runs of a server with this tag: none yet.
    pub(super) fn new(node_tag: Option<NodeTag>) -> Self {
        Self { node_tag, sessions: Arc::default() }
    }

    /// Reads the id in a path, which may have the tag of this server before it.
    pub(super) fn id(&self, text: &[u8]) -> Option<RunId> {
        let tag = self.node_tag.as_ref().map(|tag| tag.as_str().as_bytes());
        let id = tag
            .and_then(|tag| text.strip_prefix(tag)?.strip_prefix(b"-"))
            .unwrap_or(text);
        RunId::parse(id)
    }

    /// Returns the id as clients get it, with the tag of this server.
    pub(super) fn name(&self, id: RunId) -> String {
        match &self.node_tag {
            Some(tag) => format!("{}-{id}", tag.as_str()),
            None => id.to_string(),
        }
    }

    /// Ends all live runs, and from now on those that are added.
    pub(super) fn begin_stop(&self) {
        let mut sessions = self.lock();
        sessions.is_stopping = true;
        let live = sessions.by_id.values().filter(|run| run.is_interactive);
        live.for_each(Session::stop);
    }

    /// Returns whether the server stops.
    pub(super) fn is_stopping(&self) -> bool {
        self.lock().is_stopping
    }

    /// Adds a run. Returns `None` if the id is in use.
    pub(super) fn register(
        &self,
        id: RunId,
        session: Session,
    ) -> Option<Registration> {
        let mut sessions = self.lock();
        if sessions.is_stopping && session.is_interactive {
            session.stop();
        }
        match sessions.by_id.entry(id) {
            Entry::Vacant(entry) => entry.insert(session),
            Entry::Occupied(_) => return None,
        };
        Some(Registration { sessions: self.clone(), id })
    }

    /// Ends a run. Returns whether there is one.
    pub(super) fn stop(&self, id: RunId) -> bool {
        self.lock().by_id.get(&id).map(Session::stop).is_some()
    }

    /// Sends input to a run, and ends its input if `is_end`.
    pub(super) fn input(
        &self,
        id: RunId,
        text: String,
        is_end: bool,
    ) -> Result<(), SessionError> {
        let mut sessions = self.lock();
        let session = sessions.by_id.get_mut(&id);
        let session = session.ok_or(SessionError::NoSuchRun)?;
        session.take_input(text, is_end)
    }

    fn lock(&self) -> MutexGuard<'_, OpenSessions> {
        self.sessions.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Registration {
    fn drop(&mut self) {
        self.sessions.lock().by_id.remove(&self.id);
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
    fn a_tag_stands_before_the_ids_of_a_node() {
        let check = |tag: Option<&str>, prefix: &str, expected: bool| {
            let sessions = Sessions::new(tag.map(|tag| tag.parse().unwrap()));
            let id = RunId([0xa5; 16]);
            let found = sessions.id(format!("{prefix}{id}").as_bytes());
            assert_eq!(found, expected.then_some(id), "{tag:?} {prefix}");
            let name = sessions.name(id);
            assert_eq!(sessions.id(name.as_bytes()), Some(id), "{name}");
        };
        check(None, "", true);
        check(None, "n1-", false);
        check(Some("n1"), "n1-", true);
        // A client has chosen it.
        check(Some("n1"), "", true);
        for other in ["n2-", "n1", "-", "n1--", "n1-n1-"] {
            check(Some("n1"), other, false);
        }
    }

    #[test]
    fn a_stop_ends_interactive_runs_alone() {
        let sessions = Sessions::new(None);
        let begin = |input| {
            let (stop, stopped) = watch::channel(false);
            let run = Session::new(stop, input);
            (sessions.register(RunId::random(), run), stopped)
        };
        let early = [begin(Some(input_queue(1).0)), begin(None)];
        assert!(!sessions.is_stopping());
        sessions.begin_stop();
        assert!(sessions.is_stopping());
        let late = [begin(Some(input_queue(1).0)), begin(None)];
        for [live, other] in [early, late] {
            assert!(*live.1.borrow());
            assert!(!*other.1.borrow());
        }
    }

    #[test]
    fn a_run_is_known_until_its_end() {
        let sessions = Sessions::new(None);
        let id = RunId::random();
        let stop = || watch::Sender::new(false);
        let (sender, receiver) = input_queue(4);
        let first = Session::new(stop(), Some(sender));
        let registration = sessions.register(id, first).unwrap();
        assert!(sessions.register(id, Session::new(stop(), None)).is_none());
        let input =
            |text: &str, is_end| sessions.input(id, text.to_owned(), is_end);
        assert_eq!(input("abcd", false), Ok(()));
        assert_eq!(input("e", false), Err(SessionError::NotReading));
        assert_eq!(input("", true), Ok(()));
        assert_eq!(input("", true), Err(SessionError::NoSuchRun));
        assert!(sessions.stop(id));
        assert!(!sessions.stop(RunId::random()));
        drop((registration, receiver));
        assert!(!sessions.stop(id));
        assert_eq!(input("", false), Err(SessionError::NoSuchRun));
    }

    #[test]
    fn input_has_limits() {
        let (sender, _receiver) = input_queue(2 * LIVE_INPUT_BYTES);
        let stop = watch::Sender::new(false);
        let mut session = Session::new(stop, Some(sender));
        let all = "a".repeat(LIVE_INPUT_BYTES);
        assert_eq!(session.take_input(all, false), Ok(()));
        let more = session.take_input("a".to_owned(), false);
        assert_eq!(more, Err(SessionError::TooMuch));
        for _ in 1..LIVE_INPUTS {
            assert_eq!(session.take_input(String::new(), false), Ok(()));
        }
        let more = session.take_input(String::new(), false);
        assert_eq!(more, Err(SessionError::TooMuch));
    }
}
