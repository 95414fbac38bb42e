//! Listeners: accepting connections, and ending them in order.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use sandpiper_engine::Engine;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, watch};
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until, timeout};

use crate::app::App;
use crate::http::{
    Answer, AnswerMemory, ClientGone, ConnectionLimiter, Page, Proxies,
    RequestContext, Service, failure, method_not_allowed, misdirected, page,
    serve, stopped,
};
use crate::metrics::Metrics;
use crate::routes::{Endpoint, Route};
use crate::settings::ServerSettings;

/// Maximum bytes of a body that is sent to the admin listener.
const ADMIN_BODY_BYTES: u64 = 4 * 1024;
/// Time between two attempts to accept while that fails, for example because
/// the process has no file descriptor left.
const ACCEPT_AGAIN: Duration = Duration::from_millis(100);
/// Time between two reports of that: it may fail and succeed by turns.
const REPORT_AGAIN: Duration = Duration::from_secs(60);

/// The service over HTTP. Cheap to clone; clones share products and limits.
#[derive(Clone, Debug)]
pub struct Server {
    app: Arc<App<Engine>>,
    limiter: ConnectionLimiter,
    proxies: Arc<Proxies>,
}

impl Server {
    /// Returns a server with no products yet.
    pub fn new(engine: Engine, settings: ServerSettings) -> Self {
        // A static program's first random number opens a file, which then stays
        // open: later there may be no descriptor for it.
        let _: u64 = rand::random();
        let proxies = Arc::new(settings.proxies());
        let limiter = settings.connection_limiter(Arc::clone(&proxies));
        let app = App::new(engine, settings, Arc::clone(&proxies));
        Self { app: Arc::new(app), limiter, proxies }
    }

    /// Serves until `shutdown` resolves, then stops accepting and lets running
    /// requests end within `drain`.
    pub async fn serve(
        self,
        listeners: Vec<TcpListener>,
        shutdown: impl Future<Output = ()>,
        drain: Duration,
    ) {
        let Self { app, limiter, proxies } = self;
        // The first request may come through a proxy.
        proxies.begin_looking_up().await;
        tokio::select! {
            () = accept(app, listeners, limiter, shutdown, drain) => {}
            () = proxies.keep_looking_up() => {}
        }
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
        let limiter =
            ConnectionLimiter::new(CONNECTIONS, CONNECTIONS, Arc::default());
        accept(admin, listeners, limiter, shutdown, Duration::ZERO).await;
    }
}

/// All that the connections of a server share.
#[derive(Debug)]
pub(crate) struct Connections<S> {
    pub(crate) service: Arc<S>,
    pub(crate) limiter: ConnectionLimiter,
    /// Ends them.
    pub(crate) stop: watch::Receiver<bool>,
}

impl<S: Service> Connections<S> {
    /// Serves one of `peer` as soon as it has a place; `socket` is its right
    /// to wait for that.
    pub(crate) async fn serve(
        self: Arc<Self>,
        stream: TcpStream,
        peer: IpAddr,
        socket: Option<OwnedSemaphorePermit>,
    ) {
        let Self { service, limiter, stop } = &*self;
        let Some(permit) = limiter.acquire(peer, socket).await else {
            if let Some(metrics) = service.metrics() {
                metrics.connection_refused();
            }
            return;
        };
        let counted = service.metrics().map(Metrics::connection);
        let service = Arc::clone(service);
        serve(service, stream, peer, &permit, stop.clone()).await;
        drop(counted);
    }
}

/// Accepts from all listeners, as many connections as the limiter permits.
pub(crate) async fn accept<S: Service>(
    service: Arc<S>,
    listeners: Vec<TcpListener>,
    limiter: ConnectionLimiter,
    shutdown: impl Future<Output = ()>,
    drain: Duration,
) {
    let (end, stop) = watch::channel(false);
    let connections = Arc::new(Connections { service, limiter, stop });
    let mut accepting = JoinSet::new();
    for listener in listeners {
        let connections = Arc::clone(&connections);
        accepting.spawn(accept_from(listener, connections, drain));
    }
    shutdown.await;
    connections.service.begin_stop();
    // An error means that there is no connection to end.
    let _ = end.send(true);
    while accepting.join_next().await.is_some() {}
}

/// Accepts from one listener until the stop, then waits for its connections.
async fn accept_from<S: Service>(
    listener: TcpListener,
    connections: Arc<Connections<S>>,
    drain: Duration,
) {
    let mut stop = connections.stop.clone();
    let limiter = connections.limiter.clone();
    let mut acceptor =
        Acceptor { listener, limiter, again: None, reported: None };
    let mut open = JoinSet::new();
    loop {
        tokio::select! {
            (socket, (stream, peer)) = acceptor.next() => {
                let connections = Arc::clone(&connections);
                open.spawn(connections.serve(stream, peer.ip(), socket));
            }
            Some(_) = open.join_next() => {}
            () = stopped(&mut stop) => break,
        }
    }
    drop(acceptor);
    let ended =
        timeout(drain, async { while open.join_next().await.is_some() {} });
    if ended.await.is_err() {
        // Dropping a connection's future kills its run.
        open.shutdown().await;
    }
}

/// Accepts from one listener. The state of a failure is kept here, since the end
/// of any connection drops the future that waits for the next one.
#[derive(Debug)]
struct Acceptor {
    listener: TcpListener,
    limiter: ConnectionLimiter,
    /// When to try again, if accepting failed.
    again: Option<Instant>,
    reported: Option<Instant>,
}

impl Acceptor {
    /// Returns the next connection, when there is room for one.
    async fn next(
        &mut self,
    ) -> (Option<OwnedSemaphorePermit>, (TcpStream, SocketAddr)) {
        loop {
            if let Some(again) = self.again {
                sleep_until(again).await;
            }
            let permit = self.limiter.socket().await;
            match self.listener.accept().await {
                Ok(accepted) => {
                    self.again = None;
                    return (permit, accepted);
                }
                Err(error) => self.note(&error),
            }
        }
    }

    fn note(&mut self, error: &io::Error) {
        let now = Instant::now();
        self.again = Some(now + ACCEPT_AGAIN);
        if self.reported.is_none_or(|last| last + REPORT_AGAIN <= now) {
            self.reported = Some(now);
            tracing::warn!("cannot accept connections: {error}; retrying");
        }
    }
}

/// The admin listener's service.
#[derive(Debug)]
struct Admin {
    app: Arc<App<Engine>>,
}

/// The only path of the admin listener; the others have its limits.
static ADMIN: Route = Route {
    endpoint: Endpoint::Unknown,
    path: "/metrics",
    body_limit: ADMIN_BODY_BYTES,
    is_compressed: true,
};

impl Service for Admin {
    fn route(&self, _: &[u8]) -> &'static Route {
        &ADMIN
    }

    fn answer_memory(&self, route: &Route) -> &AnswerMemory {
        self.app.answer_memory(route)
    }

    fn metrics(&self) -> Option<&Metrics> {
        // They count what comes to the public listeners.
        None
    }

    async fn answer(
        &self,
        request: RequestContext<'_>,
    ) -> Result<Answer, ClientGone> {
        // Metrics are for people on this machine. A page of another site must
        // not read them by a host name of its own that leads here.
        if !self.app.hosts().contains_or_is_near(request.head) {
            return Ok(misdirected());
        }
        if request.route.parameter(request.path).is_none() {
            return Ok(failure(StatusCode::NOT_FOUND, "not found"));
        }
        if !crate::embed::is_read(&request.head.method) {
            return Ok(method_not_allowed(ADMIN.path, "GET, HEAD"));
        }
        Ok(page(Page {
            status: StatusCode::OK,
            content_type: "application/openmetrics-text; version=1.0.0; charset=utf-8",
            text: self.app.metrics_text().await.into(),
        }))
    }
}
