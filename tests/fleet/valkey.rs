//! A Valkey under test, with the packaged users.

use std::net::Ipv4Addr;
use std::time::Duration;

use rustix::process::Signal;
use sandpiper_testkit::decisions::{Decision, Watch};
use sandpiper_testkit::{Valkey as Server, eventually};
use tempfile::NamedTempFile;

use crate::process::own_address;

const USERS: &str = include_str!("../../packaging/fleet/users.acl");

/// The password of nodes.
pub(crate) const PASSWORD: &str = "a-word-that-no-box-may-read";

/// The password of operators.
pub(crate) const OPERATOR: &str = "another-word";

/// The command by which the test's own user logs in.
const LOGIN: &str = "AUTH test any\r\n";

pub(crate) const MINUTE: Duration = Duration::from_secs(60);

/// Returns the key at which the requests of a client are counted.
pub(crate) fn log_of(client: Ipv4Addr) -> String {
    format!("sp1:l:{{{client}}}")
}

/// A Valkey that keeps its data in memory, or also on disk.
pub(crate) struct Valkey {
    server: Server,
    _users: NamedTempFile,
}

impl Valkey {
    /// Starts a Valkey. If it `keeps` its data, it answers when they are on the
    /// disk.
    pub(crate) fn start(keeps: bool) -> Self {
        Self::start_at(own_address(), keeps)
    }

    /// Starts a Valkey with this address.
    pub(crate) fn start_at(address: Ipv4Addr, keeps: bool) -> Self {
        let keeps = if keeps { "yes" } else { "no" };
        let options = ["--appendfsync", "always", "--appendonly", keeps];
        Self::start_with(address, &options)
    }

    /// Starts a Valkey with the settings of this packaged file, but for its place.
    pub(crate) fn packaged(settings: &str) -> Self {
        let mut options = Vec::new();
        for line in settings.lines().filter(|line| !line.starts_with('#')) {
            let (name, value) = line.split_once(' ').unwrap();
            if !["bind", "port", "dir", "aclfile"].contains(&name) {
                let value = value.trim_matches('"');
                options.extend([format!("--{name}"), value.to_owned()]);
            }
        }
        let options: Vec<&str> = options.iter().map(String::as_str).collect();
        Self::start_with(own_address(), &options)
    }

    fn start_with(address: Ipv4Addr, options: &[&str]) -> Self {
        let mut users = USERS.to_owned();
        for (hash, password) in [("#NODES", PASSWORD), ("#OPERATOR", OPERATOR)]
        {
            assert!(users.contains(hash), "{users}");
            users = users.replace(hash, &format!(">{password}"));
        }
        users += "user test on nopass allkeys allchannels allcommands\n";
        let file = NamedTempFile::new().unwrap();
        std::fs::write(&file, users).unwrap();
        let users = ["--aclfile", file.path().to_str().unwrap()];
        let options = [&users, options].concat();
        let server = Server::start_at(address.into(), &options);
        Self { server, _users: file }
    }

    /// Starts it again after it was killed.
    pub(crate) fn restart(&mut self) {
        self.server.restart();
    }

    pub(crate) fn kill(&mut self) {
        self.server.kill();
    }

    /// Stops it: it takes connections and answers none.
    pub(crate) fn pause(&self) {
        self.server.signal(Signal::STOP);
    }

    pub(crate) fn resume(&self) {
        self.server.signal(Signal::CONT);
    }

    /// Waits until a change of the catalogue has come, which it cannot read now.
    pub(crate) fn has_change(&self) {
        // A check of a connection has fewer than 150 bytes, a change more than 300.
        eventually("a change has come", || self.server.unread() > 250);
    }

    /// Returns the URL that nodes are given.
    pub(crate) fn url(&self) -> String {
        self.server.url(&format!("sandpiper:{PASSWORD}@"))
    }

    /// Returns the URL of its operator.
    pub(crate) fn operator_url(&self) -> String {
        self.server.url(&format!("operator:{OPERATOR}@"))
    }

    /// Begins to read what it decides about a client in any minute.
    pub(crate) fn watch(&self, client: Ipv4Addr) -> Watch {
        Watch::begin(&self.server, LOGIN, &log_of(client), MINUTE)
    }

    /// Returns all that was read.
    pub(crate) fn decided(&self, watch: Watch) -> Vec<Decision> {
        watch.end(&self.server, LOGIN)
    }

    /// Returns the lines that a command of the test's own user is answered.
    pub(crate) fn ask(&self, words: &[&str]) -> Vec<String> {
        let login = ["--user", "test", "--pass", "any", "--no-auth-warning"];
        let text = self.server.cli(&[&login, words].concat());
        text.lines().map(str::to_owned).collect()
    }

    /// Returns the same as JSON.
    pub(crate) fn ask_json(&self, words: &[&str]) -> serde_json::Value {
        let text = self.ask(&[&["--json"], words].concat()).concat();
        serde_json::from_str(&text).unwrap()
    }
}
