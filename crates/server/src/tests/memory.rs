//! Connections in memory, on a clock that goes by turns.
//!
//! tokio's paused clock alone goes on to the next deadline while bytes are on
//! their way. Here they are there once they are written, and the clock goes
//! on only when everybody had many turns: a test sees the same on every
//! machine, however busy.

use std::net::IpAddr;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::{JoinSet, yield_now};
use tokio::time::advance;

use super::runs::TestRunner;
use crate::app::App;
use crate::http::{ConnectionLimiter, Service};
use crate::server::Connections;

/// How far the clock goes at once, and how many turns everybody has before.
const TICK: Duration = Duration::from_millis(50);
const TURNS: usize = 10;

/// A server's end of all connections.
pub(super) struct Memory {
    connections: Arc<Connections<App<TestRunner>>>,
    end: watch::Sender<bool>,
    _clock: JoinSet<()>,
}

impl Memory {
    /// The test's clock is to be paused.
    pub(super) async fn new(
        service: Arc<App<TestRunner>>,
        limiter: ConnectionLimiter,
    ) -> Self {
        // It panics if the clock runs; in a task nobody would see that.
        advance(TICK).await;
        let mut clock = JoinSet::new();
        clock.spawn(async {
            loop {
                for _ in 0..TURNS {
                    yield_now().await;
                }
                advance(TICK).await;
            }
        });
        let (end, stop) = watch::channel(false);
        let connections = Connections { service, limiter, stop };
        let connections = Arc::new(connections);
        Self { connections, end, _clock: clock }
    }

    /// Begins to stop, as when the listeners do.
    pub(super) fn stop(&self) {
        self.connections.service.begin_stop();
        self.end.send_replace(true);
    }

    /// A connection of `client`: its end of it.
    pub(super) fn connect(&self, client: IpAddr) -> TcpStream {
        let (own, far) = UnixStream::pair().unwrap();
        let connections = Arc::clone(&self.connections);
        tokio::spawn(connections.serve(as_tcp(far), client, None));
        as_tcp(own)
    }
}

/// The server knows this type alone. Only the kernel knows the difference.
fn as_tcp(end: UnixStream) -> TcpStream {
    end.set_nonblocking(true).unwrap();
    let end = std::net::TcpStream::from(OwnedFd::from(end));
    TcpStream::from_std(end).unwrap()
}
