//! Listeners: accepting connections, and ending them in order.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use sandpiper_engine::Engine;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::task::JoinSet;
use tokio::time::{sleep, timeout};

use crate::compile::Runner;
use crate::http::{
    Answer, AnswerMemory, BodyMemory, ClientGone, Exchange, Page, Places,
    Routes, failure, method_not_allowed, page, serve, stopped,
};
use crate::routes::App;
use crate::settings::Settings;

/// What a client may send to the admin listener in one body, in bytes.
const ADMIN_BODY_BYTES: u64 = 4 * 1024;
/// How long to wait when no connection can be accepted, as when the process
/// has no file descriptor left.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);

/// The service over HTTP. Cheap to clone; clones share products and limits.
#[derive(Clone, Debug)]
pub struct Server {
    app: Arc<App<Engine>>,
    places: Places,
}

impl Server {
    /// A server with no products yet.
    pub fn new(engine: Engine, settings: Settings) -> Self {
        // A static program's first random number opens a file, which then stays
        // open: later there may be no descriptor for it.
        let _: u64 = rand::random();
        let places = settings.places();
        Self { app: Arc::new(App::new(engine, settings)), places }
    }

    /// Serves until `shutdown` resolves, then stops accepting and lets running
    /// requests end within `drain`.
    pub async fn serve(
        self,
        listeners: Vec<TcpListener>,
        shutdown: impl Future<Output = ()>,
        drain: Duration,
    ) {
        let app = self.app;
        accept(app, listeners, self.places, shutdown, drain).await;
    }

    /// Serves `/metrics` to the operator, on a listener of its own, until
    /// `shutdown` resolves.
    pub async fn serve_admin(
        self,
        listener: TcpListener,
        shutdown: impl Future<Output = ()>,
    ) {
        const CONNECTIONS: usize = 16;
        let admin = Arc::new(Admin { app: self.app });
        let listeners = vec![listener];
        let places = Places::new(CONNECTIONS, CONNECTIONS, Vec::new());
        accept(admin, listeners, places, shutdown, Duration::ZERO).await;
    }
}

/// Something that counts its connections.
pub(crate) trait Counted {
    /// What lives as long as a connection.
    type Guard: Send + 'static;

    /// A connection was accepted.
    fn connection(&self) -> Self::Guard;

    /// A connection found no place.
    fn connection_refused(&self);
}

/// Accepts from all listeners together, as many at once as there are places.
pub(crate) async fn accept<R: Routes + Counted>(
    routes: Arc<R>,
    listeners: Vec<TcpListener>,
    places: Places,
    shutdown: impl Future<Output = ()>,
    drain: Duration,
) {
    let memory = BodyMemory::default();
    let (stop, stopped) = watch::channel(false);
    let mut accepting = JoinSet::new();
    for listener in listeners {
        accepting.spawn(accept_from(
            listener,
            Arc::clone(&routes),
            places.clone(),
            memory.clone(),
            stopped.clone(),
            drain,
        ));
    }
    shutdown.await;
    // Nobody listens where there is no listener.
    let _ = stop.send(true);
    while accepting.join_next().await.is_some() {}
}

/// Accepts from one listener until `stop`, then waits for its connections.
async fn accept_from<R: Routes + Counted>(
    listener: TcpListener,
    routes: Arc<R>,
    places: Places,
    memory: BodyMemory,
    mut stop: watch::Receiver<bool>,
    drain: Duration,
) {
    let mut open = JoinSet::new();
    loop {
        let (end, memory) = (stop.clone(), memory.clone());
        tokio::select! {
            (socket, (stream, peer)) = next(&listener, &places) => {
                let peer = peer.ip();
                let Some(mut seat) = places.claim(peer, socket) else {
                    routes.connection_refused();
                    continue;
                };
                let routes = Arc::clone(&routes);
                open.spawn(async move {
                    if seat.take().await {
                        let counted = routes.connection();
                        serve(routes, stream, peer, &seat, memory, end).await;
                        drop(counted);
                    } else {
                        routes.connection_refused();
                    }
                });
            }
            Some(_) = open.join_next() => {}
            () = stopped(&mut stop) => break,
        }
    }
    drop(listener);
    let ended =
        timeout(drain, async { while open.join_next().await.is_some() {} });
    if ended.await.is_err() {
        // Dropping a connection's future kills its run.
        open.shutdown().await;
    }
}

/// The next connection, when there is room for one.
async fn next(
    listener: &TcpListener,
    places: &Places,
) -> (Option<OwnedSemaphorePermit>, (TcpStream, SocketAddr)) {
    let permit = places.socket().await;
    let mut told = false;
    loop {
        match listener.accept().await {
            Ok(accepted) => return (permit, accepted),
            Err(error) => {
                if !std::mem::replace(&mut told, true) {
                    tracing::warn!("no connection can be accepted: {error}");
                }
                sleep(ACCEPT_AGAIN).await;
            }
        }
    }
}

/// The admin listener's routes.
#[derive(Debug)]
struct Admin {
    app: Arc<App<Engine>>,
}

impl Routes for Admin {
    fn body_limit(&self, _: &[u8]) -> u64 {
        ADMIN_BODY_BYTES
    }

    fn is_compressed(&self, _: &[u8]) -> bool {
        true
    }

    fn answer_memory(&self) -> &AnswerMemory {
        self.app.answer_memory()
    }

    fn malformed(&self, _: u16) {}

    async fn answer(
        &self,
        exchange: Exchange<'_>,
    ) -> Result<Answer, ClientGone> {
        if exchange.path != b"/metrics" {
            return Ok(failure(StatusCode::NOT_FOUND, "not found"));
        }
        if !crate::embed::is_read(&exchange.head.method) {
            return Ok(method_not_allowed("/metrics", "GET, HEAD"));
        }
        Ok(page(Page {
            status: StatusCode::OK,
            content_type: "application/openmetrics-text; version=1.0.0; charset=utf-8",
            text: self.app.metrics_text().into(),
        }))
    }
}

impl Counted for Admin {
    type Guard = ();

    fn connection(&self) -> Self::Guard {}

    fn connection_refused(&self) {}
}

impl<R: Runner> Counted for App<R> {
    type Guard = crate::metrics::ConnectionGuard;

    fn connection(&self) -> Self::Guard {
        self.metrics().connection()
    }

    fn connection_refused(&self) {
        self.metrics().connection_refused();
    }
}
