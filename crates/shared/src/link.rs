//! One connection to a Valkey, which is up or down for all callers at once.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{AsyncConnectionConfig, ErrorKind, RedisError, Value};
use tokio::sync::watch;
use tokio::task::AbortHandle;
use tokio::time::{Instant, MissedTickBehavior, interval, timeout};
use tracing::{info, warn};

use crate::url::ServerUrl;

/// The shortest time between two attempts to connect.
const RETRY_INTERVAL: Duration = Duration::from_millis(250);
/// The longest time that an attempt may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// The time after which a connection is checked, so that a Valkey that is gone
/// is noticed without a request.
const CHECK_INTERVAL: Duration = Duration::from_secs(1);

/// The part of the service that a Valkey serves.
#[derive(Clone, Copy, Debug)]
pub struct Part {
    /// Its name in the log and in metrics, such as `limits`.
    pub name: &'static str,
    /// The text of its functions, in Lua.
    pub library: &'static str,
    /// The function that returns Valkey's epoch. It is given one key, and
    /// a word to use if Valkey has no epoch yet.
    pub open: &'static str,
    /// The key that it is given.
    pub epoch_key: &'static str,
    /// The longest time that `open` may take. A Valkey that is slower than
    /// that is not connected.
    pub within: Duration,
    /// The effect of a Valkey that is gone, for the log.
    pub without: &'static str,
}

/// Called with the function and the time of each call that was answered.
pub type Observe = Arc<dyn Fn(&'static str, Duration) + Send + Sync>;

/// Valkey did not answer in time, or not as it should. The log has the
/// reason.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("Valkey cannot be reached")]
pub struct Unreachable;

/// One connection to a Valkey for all callers. It connects again by itself,
/// until it is dropped.
pub struct Link {
    inner: Arc<Inner>,
    task: AbortHandle,
}

struct Inner {
    url: ServerUrl,
    part: Part,
    observe: Observe,
    state: watch::Sender<Option<Up>>,
    failures: AtomicU64,
}

/// A connection that works, as far as anybody knows.
#[derive(Clone)]
struct Up {
    connection: MultiplexedConnection,
    /// Tells it from the connections before and after it.
    number: u64,
    epoch: Value,
    /// Since when Valkey has been seen to have this epoch.
    since: Instant,
}

impl Link {
    /// Starts to connect, in a task of the present runtime.
    ///
    /// # Panics
    /// There is no runtime.
    pub fn start(url: ServerUrl, part: Part, observe: Observe) -> Self {
        let (state, _) = watch::channel(None);
        let failures = AtomicU64::new(0);
        let inner = Arc::new(Inner { url, part, observe, state, failures });
        let task = tokio::spawn(Arc::clone(&inner).keep()).abort_handle();
        Self { inner, task }
    }

    /// Calls a function of the library, and returns its value.
    ///
    /// # Errors
    /// The link is down, or Valkey did not answer within this time, or its
    /// answer was an error. The call may have been done all the same. The link
    /// is then down for all callers, also for those that wait for an answer.
    pub async fn call(
        &self,
        function: &'static str,
        keys: &[&str],
        args: &[&[u8]],
        within: Duration,
    ) -> Result<Value, Unreachable> {
        let begun = Instant::now();
        let mut state = self.inner.state.subscribe();
        let up = state.borrow_and_update().clone().ok_or(Unreachable)?;
        let goes_down = async {
            let is_gone = |now: &Option<Up>| !is_number(now, up.number);
            let _ = state.wait_for(is_gone).await;
        };
        let called = fcall(&up.connection, function, keys, args, within);
        let answer = tokio::select! {
            biased;
            answer = called => answer,
            () = goes_down => return Err(Unreachable),
        };
        match answer {
            Ok(value) => {
                (self.inner.observe)(function, begun.elapsed());
                Ok(value)
            }
            Err(reason) => {
                self.inner.fail(up.number, &reason);
                Err(Unreachable)
            }
        }
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

    /// Returns how long the link has been up without a Valkey that had lost
    /// its state; `None` if it is down.
    #[must_use]
    pub fn age(&self) -> Option<Duration> {
        self.inner.state.borrow().as_ref().map(|up| up.since.elapsed())
    }

    /// Returns the number of calls and of attempts to connect that failed.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.inner.failures.load(Relaxed)
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
            .field("part", &self.inner.part.name)
            .field("is_up", &self.is_up())
            .finish_non_exhaustive()
    }
}

impl Inner {
    /// Connects whenever the link is down.
    async fn keep(self: Arc<Self>) {
        let mut attempts = interval(RETRY_INTERVAL);
        attempts.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut is_reported = false;
        for number in 0.. {
            attempts.tick().await;
            let connected = timeout(CONNECT_TIMEOUT, self.connect(number));
            let connected =
                connected.await.unwrap_or_else(|_| Err(late(CONNECT_TIMEOUT)));
            match connected {
                Ok(up) => {
                    info!("shared {}: {} answers", self.part.name, self.url);
                    self.state.send_replace(Some(up));
                    self.check(number).await;
                }
                Err(reason) => {
                    self.failures.fetch_add(1, Relaxed);
                    if !is_reported {
                        self.warn(&reason);
                    }
                }
            }
            // An end of the connection was reported as well.
            is_reported = true;
        }
    }

    async fn connect(&self, number: u64) -> Result<Up, String> {
        let client = self.url.client().map_err(|error| reason(&error))?;
        let config = AsyncConnectionConfig::new()
            .set_connection_timeout(None)
            .set_response_timeout(None);
        let connection = client
            .get_multiplexed_async_connection_with_config(&config)
            .await
            .map_err(|error| reason(&error))?;
        let mut load = redis::cmd("FUNCTION");
        load.arg("LOAD").arg("REPLACE").arg(self.part.library);
        load.query_async::<()>(&mut connection.clone())
            .await
            .map_err(|error| reason(&error))?;
        let epoch = self.open(&connection).await?;
        Ok(Up { connection, number, epoch, since: Instant::now() })
    }

    /// Returns Valkey's epoch. It is another after Valkey lost its
    /// state.
    async fn open(
        &self,
        connection: &MultiplexedConnection,
    ) -> Result<Value, String> {
        let Part { open, epoch_key, within, .. } = self.part;
        let new = format!("{:016x}", rand::random::<u64>());
        fcall(connection, open, &[epoch_key], &[new.as_bytes()], within).await
    }

    /// Checks this connection now and then, until it is down.
    async fn check(&self, number: u64) {
        let mut state = self.state.subscribe();
        loop {
            let goes_down = async {
                let is_gone = |now: &Option<Up>| !is_number(now, number);
                let _ = state.wait_for(is_gone).await;
            };
            if timeout(CHECK_INTERVAL, goes_down).await.is_ok() {
                return;
            }
            let Some(up) = self.state.borrow().clone() else { return };
            match self.open(&up.connection).await {
                Ok(epoch) if epoch == up.epoch => {}
                Ok(epoch) => {
                    let (name, url) = (self.part.name, &self.url);
                    warn!("shared {name}: {url} has lost its state");
                    self.state.send_modify(|now| {
                        if let Some(now) = now {
                            now.epoch = epoch;
                            now.since = Instant::now();
                        }
                    });
                }
                Err(reason) => return self.fail(number, &reason),
            }
        }
    }

    /// Takes the link down, if it still is this connection.
    fn fail(&self, number: u64, reason: &str) {
        self.failures.fetch_add(1, Relaxed);
        let was_up = self.state.send_if_modified(|now| {
            let is_it = is_number(now, number);
            if is_it {
                *now = None;
            }
            is_it
        });
        if was_up {
            self.warn(reason);
        }
    }

    fn warn(&self, reason: &str) {
        let Part { name, without, .. } = self.part;
        let url = &self.url;
        warn!("shared {name}: {url} cannot be reached: {reason}; {without}");
    }
}

fn is_number(state: &Option<Up>, number: u64) -> bool {
    state.as_ref().is_some_and(|up| up.number == number)
}

/// Calls a function, and returns its value or the reason why there is none.
async fn fcall(
    connection: &MultiplexedConnection,
    function: &str,
    keys: &[&str],
    args: &[&[u8]],
    within: Duration,
) -> Result<Value, String> {
    let mut command = redis::cmd("FCALL");
    command.arg(function).arg(keys.len()).arg(keys).arg(args);
    let mut connection = connection.clone();
    let answer = command.query_async::<Value>(&mut connection);
    match timeout(within, answer).await {
        Ok(answer) => answer.map_err(|error| reason(&error)),
        Err(_) => Err(late(within)),
    }
}

pub(crate) fn late(within: Duration) -> String {
    format!("no answer within {} ms", within.as_millis())
}

/// Returns the reason for the log. The words of a Valkey are left out, for they
/// can repeat those that it was sent: passwords, addresses and products.
pub(crate) fn reason(error: &RedisError) -> String {
    match (error.kind(), error.code()) {
        (ErrorKind::AuthenticationFailed, _) => {
            "it refuses the user and password".to_owned()
        }
        (_, Some(code)) => format!("it answered {code}"),
        (ErrorKind::Io | ErrorKind::InvalidClientConfig, None) => {
            error.to_string()
        }
        (_, None) => error.category().to_owned(),
    }
}
