//! The server over real sockets, with runs that the test ends when it likes.

mod answers;
mod clients;
mod crowd;
mod ends;
mod limits;
mod metrics;
mod runs;
mod wire;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use crate::routes::App;
use crate::server::accept;
use crate::settings::Settings;
use runs::{Runs, TestRunner};

/// Longer than anything here takes; reached only by a failure.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that ends with the test.
struct TestServer {
    address: SocketAddr,
    app: Arc<App<TestRunner>>,
    runs: Runs,
    stop: Option<oneshot::Sender<()>>,
    ended: JoinHandle<()>,
}

impl TestServer {
    async fn start() -> Self {
        Self::with(Settings::default(), Duration::ZERO).await
    }

    async fn with(settings: Settings, drain: Duration) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (runner, runs) = TestRunner::new();
        let places = settings.places();
        let app = Arc::new(App::new(runner, settings));
        let (stop, stopped) = oneshot::channel();
        let shutdown = async {
            let _ = stopped.await;
        };
        let routes = Arc::clone(&app);
        let ended = tokio::spawn(accept(
            routes,
            vec![listener],
            places,
            shutdown,
            drain,
        ));
        Self { address, app, runs, stop: Some(stop), ended }
    }

    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    /// Sends `request` on a connection of its own and reads until it ends.
    async fn ask(&self, request: impl AsRef<[u8]>) -> Reply {
        let mut stream = self.connect().await;
        stream.write_all(request.as_ref()).await.unwrap();
        Reply::read(&mut stream).await
    }

    /// The same while a paused clock stands still: it would go on to the next
    /// deadline whenever bytes are on their way to the server.
    async fn ask_at_once(&self, request: impl AsRef<[u8]>) -> Reply {
        let (over, is_over) = std::sync::mpsc::channel::<()>();
        // The clock waits for what blocks.
        let still = tokio::task::spawn_blocking(move || is_over.recv());
        let reply = self.ask(request).await;
        drop(over);
        let _ = still.await;
        reply
    }

    /// Asks for a run on a connection of its own.
    async fn compile(&self, language: &str) -> Reply {
        self.ask(compile(language, "Connection: close\r\n")).await
    }

    fn stop(&mut self) {
        self.stop.take().unwrap().send(()).unwrap();
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
