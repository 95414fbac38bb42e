//! The server over real sockets, or in memory where time matters, with runs
//! that the test ends when it likes.

mod answers;
mod clients;
mod ends;
mod frameworks;
mod manual;
mod memory;
mod metrics;
mod overload;
mod proxies;
mod rate_limit;
mod runs;
mod slow;
mod wire;

use std::net::{Shutdown, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::app::App;
use crate::http::ConnectionLimiter;
use crate::server::accept;
use crate::settings::ServerSettings;
use memory::Memory;
use runs::{Runs, TestRunner};

/// Longer than anything here takes; reached only by a failure.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that ends with the test.
struct TestServer {
    app: Arc<App<TestRunner>>,
    runs: Runs,
    listener: Listener,
}

enum Listener {
    Tcp(SocketAddr),
    Memory(Memory),
}

/// Returns what a server consists of.
fn parts(
    settings: ServerSettings,
) -> (Arc<App<TestRunner>>, Runs, ConnectionLimiter) {
    let proxies = Arc::new(settings.proxies());
    let limiter = settings.connection_limiter(Arc::clone(&proxies));
    let (runner, runs) = TestRunner::new();
    (Arc::new(App::new(runner, settings, proxies)), runs, limiter)
}

impl TestServer {
    async fn start() -> Self {
        Self::with(ServerSettings::default()).await
    }

    async fn with(settings: ServerSettings) -> Self {
        let never = std::future::pending();
        Self::with_end(settings, never, Duration::ZERO).await.0
    }

    /// One that ends in order, and its end.
    async fn until(
        shutdown: impl Future<Output = ()> + Send + 'static,
        drain: Duration,
    ) -> (Self, JoinHandle<()>) {
        Self::with_end(ServerSettings::default(), shutdown, drain).await
    }

    async fn with_end(
        settings: ServerSettings,
        shutdown: impl Future<Output = ()> + Send + 'static,
        drain: Duration,
    ) -> (Self, JoinHandle<()>) {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (app, runs, limiter) = parts(settings);
        let routes = Arc::clone(&app);
        let accepting =
            accept(routes, vec![listener], limiter, shutdown, drain);
        let ended = tokio::spawn(accepting);
        (Self { app, runs, listener: Listener::Tcp(address) }, ended)
    }

    /// One on a clock of its own; see [`memory`].
    async fn in_memory(settings: ServerSettings) -> Self {
        let (app, runs, limiter) = parts(settings);
        let listener =
            Listener::Memory(Memory::new(Arc::clone(&app), limiter).await);
        Self { app, runs, listener }
    }

    async fn connect(&self) -> TcpStream {
        match &self.listener {
            Listener::Tcp(address) => {
                TcpStream::connect(address).await.unwrap()
            }
            Listener::Memory(_) => self.connect_from("127.0.0.1"),
        }
    }

    /// A connection in memory of whatever client.
    fn connect_from(&self, client: &str) -> TcpStream {
        let Listener::Memory(memory) = &self.listener else {
            panic!("every client of a real socket has one address");
        };
        memory.connect(client.parse().unwrap())
    }

    /// Sends `request` on a connection of its own and reads until it ends.
    async fn ask(&self, request: impl AsRef<[u8]>) -> Reply {
        let mut stream = self.connect().await;
        stream.write_all(request.as_ref()).await.unwrap();
        Reply::read(&mut stream).await
    }

    /// A connection whose run hangs.
    async fn hanging(&mut self, headers: &str) -> TcpStream {
        let stream = self.connect().await;
        self.hang(stream, headers).await
    }

    /// The same on this connection.
    async fn hang(
        &mut self,
        mut stream: TcpStream,
        headers: &str,
    ) -> TcpStream {
        let request = compile("hang", headers);
        stream.write_all(request.as_bytes()).await.unwrap();
        self.runs.started().await;
        stream
    }

    /// Asks for a run on a connection of its own.
    async fn compile(&self, language: &str) -> Reply {
        self.ask(compile(language, "Connection: close\r\n")).await
    }
}

/// A well-formed compile request; `headers` end in a line break each.
fn compile(language: &str, headers: &str) -> String {
    let body = format!(
        r#"{{"language":"{language}","entryFile":"a","files":[{{"path":"a","content":"é"}}]}}"#
    );
    post("/api/compile", &format!("{JSON}{headers}"), &body)
}

fn post(path: &str, headers: &str, body: &str) -> String {
    let length = body.len();
    format!(
        "POST {path} HTTP/1.1\r\nHost: x\r\n{headers}\
         Content-Length: {length}\r\n\r\n{body}"
    )
}

fn half_close(stream: &TcpStream) {
    SockRef::from(stream).shutdown(Shutdown::Write).unwrap();
}

const JSON: &str = "Content-Type: application/json\r\n";
const CLOSE: &str = "Connection: close\r\n";

/// One answer, as it came.
#[derive(Debug)]
struct Reply {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Reply {
    /// Reads until the server closes.
    async fn read(stream: &mut TcpStream) -> Self {
        let mut bytes = Vec::new();
        let read = stream.read_to_end(&mut bytes);
        tokio::time::timeout(PATIENCE, read).await.unwrap().unwrap();
        Self::parse(&bytes)
    }

    fn parse(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|window| window == b"\r\n\r\n");
        let (head, body) = bytes.split_at(end.expect("a whole head"));
        let head = String::from_utf8(head.to_vec()).unwrap();
        let status = head.strip_prefix("HTTP/1.1 ").expect("a status line");
        let status = status[..3].parse().unwrap();
        manual::check_headers(&head);
        Self { status, head, body: body[4..].to_vec() }
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head.lines().skip(1).find_map(|line| {
            let (own, value) = line.split_once(": ")?;
            own.eq_ignore_ascii_case(name).then_some(value)
        })
    }

    fn text(&self) -> &str {
        std::str::from_utf8(&self.body).unwrap()
    }

    /// Checks the shape that every failure has.
    fn assert_failure(&self, status: u16, message: &str) {
        assert_eq!(self.status, status, "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/json"));
        let expected = serde_json::json!({ "error": message }).to_string();
        assert_eq!(self.text(), expected);
    }
}
