//! A node of a fleet: a whole server at an address that it keeps.

use std::collections::BTreeSet;
use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process;

use rustix::process::{Pid, Signal, kill_process};
use sandpiper_testkit::traces::{descendants, outside};
use sandpiper_testkit::{Exposition, Server, metrics, program};

use crate::process::free;

/// The program, the address and the flags of a node.
#[derive(Clone)]
pub(crate) struct Command {
    /// A command that executes the rest of its arguments.
    pub(crate) starter: Vec<String>,
    pub(crate) program: PathBuf,
    pub(crate) address: SocketAddr,
    pub(crate) flags: Vec<String>,
    /// The language whose image is there; it has started when that is ready.
    pub(crate) language: Option<&'static str>,
}

impl Command {
    /// Returns the usual command, with these flags.
    pub(crate) fn with(flags: Vec<String>) -> Self {
        Self {
            starter: Vec::new(),
            program: program(),
            address: free(),
            flags,
            language: Some("python"),
        }
    }
}

/// A node, which may be dead.
pub(crate) struct Node {
    /// The word that its runs' ids begin with.
    pub(crate) tag: String,
    pub(crate) address: SocketAddr,
    /// The address of its metrics.
    pub(crate) admin: SocketAddr,
    pub(crate) command: Command,
    server: Option<Server>,
}

impl Node {
    /// Starts a node.
    pub(crate) fn start(tag: &str, command: Command) -> Self {
        let tag = tag.to_owned();
        let address = command.address;
        let admin = SocketAddr::from((address.ip(), 0));
        let mut node = Self { tag, address, admin, command, server: None };
        node.restart();
        node
    }

    /// Starts it again, at the same addresses.
    pub(crate) fn restart(&mut self) {
        let mut words = self.command.starter.clone();
        // The kernel ends it with the thread that started it.
        words.extend(["setpriv", "--pdeathsig", "TERM"].map(str::to_owned));
        let mut command = process::Command::new(&words[0]);
        command
            .args(&words[1..])
            .arg(&self.command.program)
            .args(["serve", "--listen", &self.address.to_string()])
            .args(["--admin-listen", &self.admin.to_string()])
            .arg(format!("--node-tag={}", self.tag))
            .args(&self.command.flags);
        let server = Server::started(&mut command, None);
        self.admin = server.admin;
        if let Some(language) = self.command.language {
            server.wait_until_ready_for(&[language]);
        }
        self.server = Some(server);
    }

    /// Kills all of its processes at once. Those in boxes end with them.
    pub(crate) fn kill(&mut self) {
        let server = self.server.take().unwrap();
        for pid in outside(server.pid()) {
            // One ends with another.
            let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
        }
    }

    /// Stops all of its processes that are not in boxes: the kernel takes its
    /// connections, and nothing answers.
    pub(crate) fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Ends the pause.
    pub(crate) fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        for pid in self.processes() {
            kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
        }
    }

    /// Asks it to end, and waits until it has.
    pub(crate) fn stop(&mut self) {
        drop(self.server.take().unwrap());
    }

    /// Asks it to end, and returns its whole log.
    pub(crate) fn end(&mut self) -> String {
        let server = self.server.take().unwrap();
        server.begun.clone() + &server.into_log()
    }

    /// Returns its processes that are not in boxes.
    pub(crate) fn processes(&self) -> BTreeSet<i32> {
        outside(self.server().pid())
    }

    /// Lets a program of this name go on, which then ends; see
    /// [`waits`](crate::client::waits).
    pub(crate) fn release(&self, name: &str) {
        let sleep = Pid::from_raw(self.waiting(name).unwrap()).unwrap();
        kill_process(sleep, Signal::KILL).unwrap();
    }

    /// Returns the process in a box that has this name, and waits for another.
    pub(crate) fn waiting(&self, name: &str) -> Option<i32> {
        let server = self.server.as_ref()?;
        let is_it = |pid: &i32| {
            let command = fs::read(format!("/proc/{pid}/cmdline"));
            // The launcher of a language has the name in its source.
            command.is_ok_and(|it| it.starts_with(name.as_bytes()))
        };
        let shell = descendants(server.pid()).into_iter().find(is_it)?;
        let is_sleep = |pid: &i32| {
            let name = fs::read_to_string(format!("/proc/{pid}/comm"));
            name.is_ok_and(|name| name == "sleep\n")
        };
        descendants(shell).into_iter().find(is_sleep)
    }

    /// Returns its metrics.
    pub(crate) fn metrics(&self) -> Exposition {
        metrics(self.admin)
    }

    /// Returns the value of a metric; 0 if it is dead.
    pub(crate) fn count(&self, series: &str) -> usize {
        self.server.as_ref().map_or(0, |_| self.metrics().count(series))
    }

    pub(crate) fn server(&self) -> &Server {
        self.server.as_ref().expect("it lives")
    }
}
