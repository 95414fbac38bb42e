//! The command line: flags, variables, signals, exit codes. The tests start the
//! program with an empty environment.

#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a failed test stops here"
)]

mod commands;
mod flags;
mod serve;

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Output, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

/// The longest time that a test waits for an event.
const PATIENCE: Duration = Duration::from_secs(60);

/// The program, with an empty environment and a temporary data folder.
struct Sandpiper {
    data: TempDir,
    command: Command,
}

impl Sandpiper {
    fn new(args: &[&str]) -> Self {
        // The tests may run after nohup.
        let mut env = Command::new("env");
        env.arg("--default-signal=HUP").arg(sandpiper_testkit::program());
        Self::by(env, args)
    }

    /// Has the program started by `nohup`.
    fn by_nohup(args: &[&str]) -> Self {
        let mut nohup = Command::new("nohup");
        nohup.arg(sandpiper_testkit::program());
        Self::by(nohup, args)
    }

    fn by(mut command: Command, args: &[&str]) -> Self {
        let data = tempfile::tempdir().unwrap();
        command
            .env_clear()
            .env("SANDPIPER_DATA_DIR", data.path())
            .args(args)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        Self { data, command }
    }

    fn env(mut self, name: &str, value: &str) -> Self {
        self.command.env(name, value);
        self
    }

    /// Runs the program to its end.
    fn output(mut self) -> Output {
        self.command.output().unwrap()
    }

    /// Starts the program and waits for its line about listening.
    fn serve(mut self) -> Server {
        let mut child = self.command.stderr(Stdio::inherit()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        let (sender, log) = mpsc::channel();
        thread::spawn(move || {
            for line in stdout.lines().map_while(Result::ok) {
                // This fails if the test has dropped the receiver.
                let _ = sender.send(line + "\n");
            }
        });
        let mut server = Server {
            child,
            log,
            seen: String::new(),
            address: ([0, 0, 0, 0], 0).into(),
            _data: self.data,
        };
        server.wait_for("listening on http://");
        let (_, url) = server.seen.split_once("listening on http://").unwrap();
        let end = url.find(|c: char| c.is_whitespace() || c == '"').unwrap();
        let address = url[..end].replace("localhost", "127.0.0.1");
        server.address = address.parse().unwrap();
        server
    }
}

/// A server that is stopped when this is dropped.
struct Server {
    child: Child,
    /// The lines of the log that were not read yet.
    log: Receiver<String>,
    /// The log so far.
    seen: String,
    address: SocketAddr,
    _data: TempDir,
}

impl Server {
    /// Returns the whole answer to a GET.
    fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.address).unwrap();
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).unwrap();
    }

    /// Reads the log until it contains `text`.
    fn wait_for(&mut self, text: &str) {
        while !self.seen.contains(text) {
            match self.log.recv_timeout(PATIENCE) {
                Ok(line) => self.seen.push_str(&line),
                Err(error) => {
                    panic!("no {text:?} ({error}): {}", self.seen)
                }
            }
        }
    }

    /// Waits for the end. Returns the exit status and the log.
    fn end(mut self) -> (ExitStatus, String) {
        loop {
            match self.log.recv_timeout(PATIENCE) {
                Ok(line) => self.seen.push_str(&line),
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    panic!("it does not end: {}", self.seen)
                }
            }
        }
        (self.child.wait().unwrap(), std::mem::take(&mut self.seen))
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        if let Ok(None) = self.child.try_wait() {
            // Not SIGKILL: on SIGTERM a server removes what it made on the host.
            self.signal(Signal::TERM);
            self.signal(Signal::TERM);
            let _ = self.child.wait();
        }
    }
}

/// Returns the text of an output stream.
fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}
