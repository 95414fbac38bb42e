//! A node of a fleet: a whole server at an address that it keeps.

use std::collections::BTreeSet;
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::path::PathBuf;
use std::process::Command;

use crate::traces::{descendants, outside};
use crate::{Exposition, Server, eventually, metrics, program};
use rustix::process::{Pid, Signal, kill_process};

use super::process::free;

/// The program, the address and the flags of a node.
#[derive(Clone, Debug)]
pub struct NodeCommand {
    /// A command that executes the rest of its arguments.
    pub starter: Vec<String>,
    /// The program.
    pub program: PathBuf,
    /// Its address.
    pub address: SocketAddr,
    /// Its flags.
    pub flags: Vec<String>,
    /// The language whose image is there; it has started when that is ready.
    pub language: Option<&'static str>,
}

impl NodeCommand {
    /// Returns the usual command, with these flags.
    pub fn with(flags: Vec<String>) -> Self {
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
#[derive(Debug)]
pub struct Node {
    /// The word that its runs' ids begin with.
    pub tag: String,
    /// Its address.
    pub address: SocketAddr,
    /// The address of its metrics.
    pub admin: SocketAddr,
    /// The command that starts it.
    pub command: NodeCommand,
    server: Option<Server>,
}

impl Node {
    /// Starts a node.
    pub fn start(tag: &str, command: NodeCommand) -> Self {
        let tag = tag.to_owned();
        let address = command.address;
        let admin = SocketAddr::from((address.ip(), 0));
        let mut node = Self { tag, address, admin, command, server: None };
        node.restart();
        node
    }

    /// Starts it again, at the same addresses.
    pub fn restart(&mut self) {
        let mut words = self.command.starter.clone();
        // The kernel ends it with the thread that started it.
        words.extend(["setpriv", "--pdeathsig", "TERM"].map(str::to_owned));
        let mut command = Command::new(&words[0]);
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
    pub fn kill(&mut self) {
        let server = self.server.take().unwrap();
        for pid in outside(server.pid()) {
            // One ends with another.
            let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL);
        }
        // A process that dies has its port for a moment more.
        eventually("its port is closed", || {
            TcpStream::connect(self.address).is_err()
        });
    }

    /// Stops all of its processes that are not in boxes: the kernel takes its
    /// connections, and nothing answers.
    pub fn pause(&self) {
        self.signal(Signal::STOP);
    }

    /// Ends the pause.
    pub fn resume(&self) {
        self.signal(Signal::CONT);
    }

    fn signal(&self, signal: Signal) {
        for pid in self.processes() {
            kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
        }
    }

    /// Asks it to end, and waits until it has.
    pub fn stop(&mut self) {
        drop(self.server.take().unwrap());
    }

    /// Asks it to end, and returns its whole log.
    pub fn end(&mut self) -> String {
        let server = self.server.take().unwrap();
        server.begun.clone() + &server.into_log()
    }

    /// Returns its processes that are not in boxes.
    pub fn processes(&self) -> BTreeSet<i32> {
        outside(self.server().pid())
    }

    /// Lets a program of this name go on, which waits for its sleep and then ends.
    pub fn release(&self, name: &str) {
        let sleep = Pid::from_raw(self.waiting(name).unwrap()).unwrap();
        kill_process(sleep, Signal::KILL).unwrap();
    }

    /// Returns the process in a box that has this name, and waits for another.
    pub fn waiting(&self, name: &str) -> Option<i32> {
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
    pub fn metrics(&self) -> Exposition {
        metrics(self.admin)
    }

    /// Returns the value of a metric; 0 if it is dead.
    pub fn count(&self, series: &str) -> usize {
        self.server.as_ref().map_or(0, |_| self.metrics().count(series))
    }

    /// Returns the server, which must live.
    pub fn server(&self) -> &Server {
        self.server.as_ref().expect("it lives")
    }
}

impl Drop for Node {
    fn drop(&mut self) {
        let Some(server) = &self.server else { return };
        // After a failure it may be in a pause, from which it does not end.
        for pid in outside(server.pid()) {
            // One ends with another.
            let _ = kill_process(Pid::from_raw(pid).unwrap(), Signal::CONT);
        }
    }
}
