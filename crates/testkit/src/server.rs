//! A server under test, on ports that the system chooses.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::events::Events;
use crate::exposition::Exposition;
use crate::reply::Reply;
use crate::wait::eventually;

/// The longest time that an answer may take.
const PATIENCE: Duration = Duration::from_secs(180);
/// The longest time until all languages are ready, builds of images included.
const READY_TIMEOUT: Duration = Duration::from_secs(1_800);
/// The words before the log of a server whose test failed.
pub(crate) const LOG: &str = "the server's log:";

/// A running server, which is stopped when this is dropped.
#[derive(Debug)]
pub struct Server {
    /// The address of the service.
    pub address: SocketAddr,
    /// The address of the metrics.
    pub admin: SocketAddr,
    process: Child,
    /// Its log until it listened.
    pub begun: String,
    /// Its log since then.
    log: Arc<Mutex<String>>,
    _data: Option<TempDir>,
}

impl Server {
    /// Starts a server with default settings and without images.
    pub fn start() -> Self {
        Self::with(&[])
    }

    /// Starts a server with these flags and without images.
    pub fn with(flags: &[&str]) -> Self {
        let data = tempfile::tempdir().expect("a temporary folder");
        let folder = data.path().to_str().expect("a path in UTF-8").to_owned();
        let mut flags = flags.to_vec();
        flags.extend(["--data-dir", &folder]);
        // Otherwise every run would be refused on a host without control groups.
        flags.push("--allow-missing-limits");
        Self::spawn(&flags, Some(data))
    }

    /// Starts a server with these flags, in the operator's data folder, or in
    /// `data`, which is removed with the server.
    pub fn spawn(flags: &[&str], data: Option<TempDir>) -> Self {
        Self::spawn_under(&[], flags, data)
    }

    /// Starts a server like [`Self::spawn`], by a command that executes the rest
    /// of its arguments, as env(1) and nice(1) do.
    pub fn spawn_under(
        starter: &[&str],
        flags: &[&str],
        data: Option<TempDir>,
    ) -> Self {
        // The kernel ends the server with the thread that started it, even if the
        // test process is killed.
        let follow = ["setpriv", "--pdeathsig", "TERM"];
        let words = [starter, &follow].concat();
        let mut command = Command::new(words[0]);
        command
            .args(&words[1..])
            .arg(program())
            .args(["serve", "--listen", "127.0.0.1:0"])
            .args(["--admin-listen", "127.0.0.1:0"])
            .args(flags);
        Self::started(&mut command, data)
    }

    /// Starts a server by a command that logs like the program.
    pub fn started(command: &mut Command, data: Option<TempDir>) -> Self {
        let mut process =
            command.stdout(Stdio::piped()).spawn().expect("the program starts");
        let output = process.stdout.take().expect("a pipe");
        let mut output = BufReader::new(output);
        let mut begun = String::new();
        let address =
            announced(&mut output, "listening on http://", &mut begun);
        let admin = announced(&mut output, "metrics on http://", &mut begun);
        let log = Arc::new(Mutex::new(String::new()));
        let kept = Arc::clone(&log);
        // This thread ends with the server.
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                let mut log = kept.lock().expect("no panic under the lock");
                *log += &line;
                log.push('\n');
            }
        });
        Self { address, admin, process, begun, log, _data: data }
    }

    /// Stops the server, and returns its log since it listened.
    pub fn into_log(mut self) -> String {
        self.end();
        // The thread that reads the log may not have finished.
        while Arc::strong_count(&self.log) > 1 {
            std::thread::sleep(Duration::from_millis(5));
        }
        self.log.lock().expect("no panic under the lock").clone()
    }

    /// Returns the log line of the run with this answer. It is written after the
    /// answer is sent.
    pub fn line_of(&self, reply: &Reply) -> String {
        self.line_with(reply.header("x-request-id").expect("an id"))
    }

    /// Waits for a line of the log that contains these words, and returns it.
    pub fn line_with(&self, words: &str) -> String {
        let mut found = None;
        eventually(words, || {
            let log = self.log.lock().expect("no panic under the lock");
            let mut lines = log.lines();
            found = lines.find(|it| it.contains(words)).map(str::to_owned);
            found.is_some()
        });
        found.expect("a line")
    }

    fn end(&mut self) {
        if let Ok(pid) = i32::try_from(self.process.id()) {
            let pid = Pid::from_raw(pid).expect("a process");
            // On SIGTERM the server removes what it made on the host.
            let _ = kill_process(pid, Signal::TERM);
        }
        let _ = self.process.wait();
    }

    /// Returns the process that was started; as root, the one that stays root.
    pub fn pid(&self) -> i32 {
        i32::try_from(self.process.id()).expect("a process id")
    }

    /// Waits until every language is ready. Panics if an image is missing.
    pub fn wait_until_ready(&self) {
        self.wait_until_ready_for(&[]);
    }

    /// Waits until these languages are ready, or all if none is named.
    pub fn wait_until_ready_for(&self, ids: &[&str]) {
        let begun = Instant::now();
        loop {
            let answer = self.ask("GET", "/readyz").json();
            let languages = answer["languages"].as_array().expect("a list");
            let is_asked = |language: &&serde_json::Value| {
                let id = language["id"].as_str().expect("an id");
                ids.is_empty() || ids.contains(&id)
            };
            let all = |states: &[&str]| {
                languages.iter().filter(is_asked).all(|language| {
                    let state = language["state"].as_str().expect("a state");
                    states.contains(&state)
                })
            };
            if all(&["ready"]) {
                return;
            }
            // A machine that is too busy for a short time limit breaks a language
            // until the server has tried it again.
            let is_retried = begun.elapsed() < PATIENCE
                && all(&["ready", "building", "broken"]);
            assert!(
                is_retried || all(&["ready", "building"]),
                "{answer}; the images are needed: `make images`"
            );
            assert!(begun.elapsed() < READY_TIMEOUT, "{answer}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Returns its current metrics.
    pub fn metrics(&self) -> Exposition {
        metrics(self.admin)
    }

    /// Connects, with a timeout for every read and write.
    pub fn connect(&self) -> TcpStream {
        connect(self.address)
    }

    /// Sends `bytes` on a new connection, and reads the answer until it is closed.
    pub fn raw(&self, bytes: impl AsRef<[u8]>) -> Reply {
        let mut stream = self.connect();
        stream.write_all(bytes.as_ref()).expect("the server reads");
        Reply::read(&mut stream)
    }

    /// Sends a request without a body.
    pub fn ask(&self, method: &str, target: &str) -> Reply {
        self.raw(format!(
            "{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        ))
    }

    /// Sends a request with a body and these headers, each `name: value`.
    pub fn send(
        &self,
        method: &str,
        target: &str,
        headers: &[&str],
        body: impl AsRef<[u8]>,
    ) -> Reply {
        Reply::read(&mut self.begin(method, target, headers, body))
    }

    /// Sends a compile request.
    pub fn compile(&self, request: &serde_json::Value) -> Reply {
        let json = ["Content-Type: application/json"];
        self.send("POST", "/api/compile", &json, request.to_string())
    }

    /// Sends a run that is answered by events.
    ///
    /// # Errors
    ///
    /// Returns the answer if it is refused.
    pub fn stream(
        &self,
        headers: &[&str],
        request: &serde_json::Value,
    ) -> Result<Events, Reply> {
        let usual =
            ["Content-Type: application/json", "Accept: text/event-stream"];
        let headers = [&usual, headers].concat();
        let body = request.to_string();
        Events::read(self.begin("POST", "/api/run", &headers, body))
    }

    /// Sends input to the run with this id, or stops it: `what` is the last part
    /// of the path.
    pub fn tell(&self, run: &str, what: &str, body: &str) -> Reply {
        let json = ["Content-Type: application/json"];
        self.send("POST", &format!("/api/run/{run}/{what}"), &json, body)
    }

    /// Sends a request like [`Self::send`], and returns the connection, from which
    /// the answer can be read.
    pub fn begin(
        &self,
        method: &str,
        target: &str,
        headers: &[&str],
        body: impl AsRef<[u8]>,
    ) -> TcpStream {
        begin(self.address, method, target, headers, body)
    }
}

/// Sends a request to a server with this address; see [`Server::begin`].
pub fn begin(
    address: SocketAddr,
    method: &str,
    target: &str,
    headers: &[&str],
    body: impl AsRef<[u8]>,
) -> TcpStream {
    let body = body.as_ref();
    let mut request = format!(
        "{method} {target} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\
         Content-Length: {}\r\n",
        body.len()
    );
    for header in headers {
        request += &format!("{header}\r\n");
    }
    let mut request = (request + "\r\n").into_bytes();
    request.extend_from_slice(body);
    let mut stream = connect(address);
    stream.write_all(&request).expect("the server reads");
    stream
}

/// Returns the path of the program: of the one that was built with the tests, or
/// of the copy that `SANDPIPER_TEST_PROGRAM` names.
#[expect(clippy::disallowed_methods, reason = "chosen by whoever runs tests")]
pub fn program() -> PathBuf {
    std::env::var_os("SANDPIPER_TEST_PROGRAM").map_or_else(
        || {
            // Cargo puts tests and benchmarks in a folder beside the programs.
            let own = std::env::current_exe().expect("a path");
            own.ancestors().nth(2).expect("a folder").join("sandpiper")
        },
        PathBuf::from,
    )
}

/// Returns the current metrics of the server with this address.
pub fn metrics(admin: SocketAddr) -> Exposition {
    let mut stream = connect(admin);
    let request =
        b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    stream.write_all(request).expect("the server reads");
    let reply = Reply::read(&mut stream);
    assert_eq!(
        reply.header("content-type"),
        Some("application/openmetrics-text; version=1.0.0; charset=utf-8")
    );
    Exposition::parse(reply.text())
}

/// Connects, with a timeout for every read and write.
pub fn connect(address: SocketAddr) -> TcpStream {
    let stream = TcpStream::connect(address).expect("the server listens");
    stream.set_read_timeout(Some(PATIENCE)).expect("a timeout");
    stream.set_write_timeout(Some(PATIENCE)).expect("a timeout");
    stream
}

impl Drop for Server {
    #[expect(clippy::print_stderr, reason = "shown with a test that failed")]
    fn drop(&mut self) {
        if matches!(self.process.try_wait(), Ok(None)) {
            self.end();
        }
        // The log explains most failures.
        if std::thread::panicking() {
            let log = self.log.lock().unwrap_or_else(PoisonError::into_inner);
            eprintln!("{LOG}\n{log}");
        }
    }
}

/// Returns the address after `words` in the server's log. Adds the log that it
/// reads to `seen`.
fn announced(
    log: &mut impl BufRead,
    words: &str,
    seen: &mut String,
) -> SocketAddr {
    loop {
        let before = seen.len();
        let count = log.by_ref().take(4096).read_line(seen);
        assert!(count.is_ok_and(|count| count > 0), "no {words:?} in {seen}");
        let Some((_, rest)) = seen[before..].split_once(words) else {
            continue;
        };
        let end = rest.find(|character: char| {
            !matches!(character, '0'..='9' | '.' | ':')
        });
        let address = &rest[..end.unwrap_or(rest.len())];
        return address.parse().expect("an address");
    }
}
