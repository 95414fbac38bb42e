//! A Valkey server in a folder of its own, which ends with the test.

use std::io::{BufRead, BufReader, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

use crate::engines::engine;
use crate::unread::unread;

/// Longer than a start takes; reached only by a failure.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that keeps nothing on disk, if its options do not say otherwise.
#[derive(Debug)]
pub struct Valkey {
    folder: TempDir,
    options: Vec<String>,
    address: SocketAddr,
    child: Child,
}

impl Valkey {
    /// Starts one with these options at a free port, and returns when it serves.
    #[must_use]
    pub fn start(options: &[&str]) -> Self {
        Self::start_at(Ipv4Addr::LOCALHOST.into(), options)
    }

    /// Starts one like [`Self::start`], with this address.
    #[must_use]
    pub fn start_at(address: IpAddr, options: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let options: Vec<String> =
            options.iter().map(|&option| option.to_owned()).collect();
        let begun = Instant::now();
        loop {
            // Its options may name another port, which is taken.
            assert!(begun.elapsed() < PATIENCE, "Valkey does not start");
            let free = TcpListener::bind((address, 0)).unwrap();
            let address = free.local_addr().unwrap();
            drop(free);
            // Another process may have taken the port.
            if let Some(child) = start(folder.path(), address, &options) {
                return Self { folder, options, address, child };
            }
        }
    }

    /// Returns its URL, with the words to log in, which end with `@`.
    #[must_use]
    pub fn url(&self, login: &str) -> String {
        format!("valkey://{login}{}", self.address)
    }

    /// Returns a connection, after `login`: lines with commands, each of which is
    /// answered `+OK`.
    pub(crate) fn connect(&self, login: &str) -> BufReader<TcpStream> {
        let stream = TcpStream::connect(self.address).unwrap();
        let mut connection = BufReader::new(stream);
        connection.get_mut().write_all(login.as_bytes()).unwrap();
        for _ in login.lines() {
            let mut answer = String::new();
            connection.read_line(&mut answer).unwrap();
            assert_eq!(answer, "+OK\r\n");
        }
        connection
    }

    /// Returns the answer to a command as the program that operators have
    /// prints it.
    pub fn cli(&self, command: &[&str]) -> String {
        let answer = engine("valkey-cli")
            .args(["-h", &self.address.ip().to_string()])
            .args(["-p", &self.address.port().to_string()])
            .args(command)
            .output()
            .unwrap();
        assert!(answer.status.success(), "{answer:?}");
        String::from_utf8(answer.stdout).unwrap()
    }

    /// Kills it.
    pub fn kill(&mut self) {
        self.child.kill().unwrap();
        self.child.wait().unwrap();
    }

    /// Starts it again at the same address, after it was killed.
    pub fn restart(&mut self) {
        let begun = Instant::now();
        loop {
            assert!(begun.elapsed() < PATIENCE, "the port is not free again");
            let path = self.folder.path();
            if let Some(child) = start(path, self.address, &self.options) {
                self.child = child;
                return;
            }
        }
    }

    /// Returns what it has [not read yet](unread()).
    #[must_use]
    pub fn unread(&self) -> usize {
        unread(self.address)
    }

    /// Sends it a signal.
    pub fn signal(&self, signal: Signal) {
        let pid = Pid::from_child(&self.child);
        kill_process(pid, signal).unwrap();
    }
}

impl Drop for Valkey {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// Returns the server when it is ready, or `None` if it ended.
fn start(
    folder: &Path,
    address: SocketAddr,
    options: &[String],
) -> Option<Child> {
    let mut child = engine("valkey-server")
        .args(["--bind", &address.ip().to_string()])
        .args(["--port", &address.port().to_string()])
        .args(["--save", "", "--dir"])
        .arg(folder)
        .args(options)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut lines = lines.map_while(Result::ok);
    if lines.any(|line| line.contains("Ready to accept connections")) {
        // It must not wait for somebody who reads the rest.
        std::thread::spawn(move || lines.count());
        return Some(child);
    }
    child.wait().unwrap();
    None
}
