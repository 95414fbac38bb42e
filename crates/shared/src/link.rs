//! One connection to a Valkey, which is up or down for all callers at once.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use redis::Value;
use redis::aio::MultiplexedConnection;
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tracing::{info, warn};

use crate::error::{CallError, LinkError};
use crate::library::{Library, fcall};
use crate::timeouts::Timeouts;
use crate::url::ServerUrl;

/// The shortest time between two attempts to connect.
const RETRY_INTERVAL: Duration = Duration::from_millis(250);
/// The longest time that an attempt may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// The time after which a connection is checked, so that a Valkey that is gone
/// is noticed without a request.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);
/// Bounds the log: some words of a reason come from Valkey.
const MAX_REPORTED: usize = 16;

/// Called with the function and the time of each call that was answered.
pub type Observe = Arc<dyn Fn(&'static str, Duration) + Send + Sync>;

/// The state of the Valkeys of a part of the service, for metrics.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LinkState {
    /// The part, such as `limits`.
    pub part: &'static str,
    /// Whether all these Valkeys can be called.
    pub is_up: bool,
    /// Calls and attempts to connect that failed.
    pub failures: u64,
}

/// One connection to a Valkey for all callers. It connects again by itself,
/// until it is dropped.
pub struct Link {
    inner: Arc<Inner>,
    task: AbortHandle,
}

struct Inner {
    url: ServerUrl,
    library: Library,
    observe: Observe,
    /// `None` while the link is down.
    state: watch::Sender<Option<Connection>>,
    failures: AtomicU64,
    timeouts: Timeouts,
    /// The warnings since the link last went down. Each is logged once.
    reported: Mutex<Vec<String>>,
}

/// A connection that works, as far as anybody knows.
#[derive(Clone)]
struct Connection {
    commands: MultiplexedConnection,
    /// Tells it from the connections before and after it.
    generation: u64,
    epoch: Value,
    /// Since when Valkey has answered each call, and has had this epoch.
    since: Instant,
}

impl Link {
    /// Starts to connect, in a task of the present runtime.
    ///
    /// # Panics
    /// There is no runtime.
    pub fn start(url: ServerUrl, library: Library, observe: Observe) -> Self {
        let (state, _) = watch::channel(None);
        let (failures, timeouts, reported) = Default::default();
        let inner = Arc::new(Inner {
            url,
            library,
            observe,
            state,
            failures,
            timeouts,
            reported,
        });
        let task = tokio::spawn(Arc::clone(&inner).keep()).abort_handle();
        Self { inner, task }
    }

    /// Calls a function of the library, and returns its value.
    ///
    /// # Errors
    /// The link is or goes down, or Valkey did not answer within this time, or
    /// its answer was an error. The last two fail this call alone, but the third
    /// time-out in a row takes the link down for all callers.
    pub async fn call(
        &self,
        function: &'static str,
        keys: &[&str],
        args: &[&[u8]],
        within: Duration,
    ) -> Result<Value, CallError> {
        let answer = self.call_numbered(function, keys, args, within).await;
        answer.map(|(value, _)| value)
    }

    /// Like [`Self::call`]. Also returns the generation of the connection that
    /// was used, which is never 0.
    pub(crate) async fn call_numbered(
        &self,
        function: &'static str,
        keys: &[&str],
        args: &[&[u8]],
        within: Duration,
    ) -> Result<(Value, u64), CallError> {
        let begun = Instant::now();
        let mut state = self.inner.state.subscribe();
        let connection = state.borrow_and_update().clone();
        let Connection { commands, generation, .. } =
            connection.ok_or(CallError::Unreachable)?;
        let answer = tokio::select! {
            biased;
            answer = fcall(&commands, function, keys, args, within) => answer,
            () = gone(&mut state, generation) => return Err(CallError::Unreachable),
        };
        match answer {
            Ok(value) => {
                self.inner.answered(generation);
                (self.inner.observe)(function, begun.elapsed());
                Ok((value, generation))
            }
            Err(error) => {
                self.inner.fail(generation, begun, &error);
                Err(error.into())
            }
        }
    }

    /// Counts a call of this connection as failed: its value has another form than
    /// ours. Returns the error for the caller.
    pub(crate) fn refuse_value(&self, generation: u64) -> CallError {
        self.inner.fail(generation, Instant::now(), &LinkError::Form);
        LinkError::Form.into()
    }

    /// Returns whether Valkey can be called.
    #[must_use]
    pub fn is_up(&self) -> bool {
        self.inner.state.borrow().is_some()
    }

    /// Returns when the link is up.
    pub async fn until_up(&self) {
        let mut state = self.inner.state.subscribe();
        let _ = state.wait_for(Option::is_some).await;
    }

    /// Returns how long Valkey has answered each call, and not lost its state;
    /// `None` if the link is down.
    #[must_use]
    pub fn age(&self) -> Option<Duration> {
        self.inner.state.borrow().as_ref().map(|it| it.since.elapsed())
    }

    /// Returns the number of calls and of attempts to connect that failed.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.inner.failures.load(Relaxed)
    }

    /// Returns whether Valkey can be called, with the number of failures.
    #[must_use]
    pub fn state(&self) -> LinkState {
        let part = self.inner.library.part;
        LinkState { part, is_up: self.is_up(), failures: self.failures() }
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl fmt::Debug for Link {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter
            .debug_struct("Link")
            .field("url", &self.inner.url)
            .field("part", &self.inner.library.part)
            .field("is_up", &self.is_up())
            .finish_non_exhaustive()
    }
}

impl Inner {
    /// Connects whenever the link is down.
    async fn keep(self: Arc<Self>) {
        let mut attempts = interval(RETRY_INTERVAL);
        attempts.set_missed_tick_behavior(MissedTickBehavior::Delay);
        for generation in 1.. {
            attempts.tick().await;
            let connected = timeout(CONNECT_TIMEOUT, self.connect(generation));
            let connected = connected
                .await
                .unwrap_or(Err(LinkError::Timeout(CONNECT_TIMEOUT)));
            match connected {
                Ok(connection) => {
                    info!("shared {}: {} answers", self.library.part, self.url);
                    self.timeouts.reset();
                    self.state.send_replace(Some(connection));
                    self.check(generation).await;
                }
                Err(error) => {
                    self.failures.fetch_add(1, Relaxed);
                    self.report_down(&error);
                }
            }
        }
    }

    async fn connect(&self, generation: u64) -> Result<Connection, LinkError> {
        let commands = self.url.connect().await?;
        self.library.load(&commands).await?;
        let epoch = self.library.open(&commands).await?;
        Ok(Connection { commands, generation, epoch, since: Instant::now() })
    }

    /// Checks this connection now and then, until it is down.
    async fn check(&self, generation: u64) {
        let mut state = self.state.subscribe();
        loop {
            let gone = gone(&mut state, generation);
            if timeout(CHECK_INTERVAL, gone).await.is_ok() {
                return;
            }
            let Some(before) = self.state.borrow().clone() else { return };
            let begun = Instant::now();
            match self.library.open(&before.commands).await {
                Ok(epoch) => {
                    self.answered(generation);
                    if epoch != before.epoch {
                        self.state_is_lost(epoch);
                    }
                }
                // The functions may be gone. Another connection has them.
                Err(error @ LinkError::Reply(_)) => {
                    self.failures.fetch_add(1, Relaxed);
                    self.take_down(generation, &error);
                }
                Err(error) => self.fail(generation, begun, &error),
            }
        }
    }

    fn state_is_lost(&self, epoch: Value) {
        let (name, url) = (self.library.part, &self.url);
        warn!("shared {name}: {url} has lost its state");
        self.state.send_modify(|now| {
            if let Some(now) = now {
                now.epoch = epoch;
                now.since = Instant::now();
            }
        });
    }

    /// There was an answer on this connection: if the link still is this one,
    /// Valkey is not gone.
    fn answered(&self, generation: u64) {
        // While this is borrowed there is no other connection.
        let now = self.state.borrow();
        if has_generation(&now, generation) {
            self.timeouts.reset();
        }
    }

    /// Counts a call that began then and failed on this connection. Takes the
    /// link down if the next one would fail as well.
    fn fail(&self, generation: u64, begun: Instant, error: &LinkError) {
        self.failures.fetch_add(1, Relaxed);
        if self.count_error(generation, begun, error) {
            self.take_down(generation, error);
        } else {
            self.lacks_a_call(generation, error);
        }
    }

    /// Counts an error of this connection, if the link still is this one. Returns
    /// whether the next call would fail as well.
    fn count_error(
        &self,
        generation: u64,
        begun: Instant,
        error: &LinkError,
    ) -> bool {
        // While this is borrowed there is no other connection.
        let now = self.state.borrow();
        has_generation(&now, generation)
            && match error {
                LinkError::Timeout(_) => self.timeouts.count(begun),
                LinkError::Reply(_) | LinkError::Form => {
                    self.timeouts.reset();
                    false
                }
                LinkError::Broken(_) => true,
            }
    }

    /// Valkey may lack a call of this connection, which goes on.
    fn lacks_a_call(&self, generation: u64, error: &LinkError) {
        let is_same = self.state.send_if_modified(|now| {
            let same = now.as_mut().filter(|it| it.generation == generation);
            same.map(|now| now.since = Instant::now()).is_some()
        });
        if is_same {
            self.report(format!("failed a call: {error}"));
        }
    }

    /// Takes the link down, if it still is this connection.
    fn take_down(&self, generation: u64, error: &LinkError) {
        let was_up = self.state.send_if_modified(|now| {
            now.take_if(|it| it.generation == generation).is_some()
        });
        if was_up {
            self.reported().clear();
            self.report_down(error);
        }
    }

    fn report_down(&self, error: &LinkError) {
        let without = self.library.without;
        self.report(format!("cannot be reached: {error}; {without}"));
    }

    fn report(&self, warning: String) {
        let mut reported = self.reported();
        if reported.len() < MAX_REPORTED && !reported.contains(&warning) {
            warn!("shared {}: {} {warning}", self.library.part, self.url);
            reported.push(warning);
        }
    }

    fn reported(&self) -> MutexGuard<'_, Vec<String>> {
        self.reported.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Returns when the link has another connection, or none.
async fn gone(
    state: &mut watch::Receiver<Option<Connection>>,
    generation: u64,
) {
    let is_gone = |now: &Option<Connection>| !has_generation(now, generation);
    let _ = state.wait_for(is_gone).await;
}

fn has_generation(state: &Option<Connection>, generation: u64) -> bool {
    state.as_ref().is_some_and(|it| it.generation == generation)
}
